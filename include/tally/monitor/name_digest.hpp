// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A 64-bit digest that all replicas must share, as a part of the state: the list of monitored layers. It travels in the
// message of the state itself, so a difference costs no collective to find, and in snapshots. Models accumulator.
#pragma once

#include <tally/config.hpp>

#include <cstdint>

namespace tally {

/// 24 bytes. Two words in the lane of maxima: the digest and its complement.
class name_digest {
public:
    name_digest() = default;
    TALLY_HD constexpr explicit name_digest(std::uint64_t digest)
        : highest_{digest}, complement_{~digest}, present_{1} {}

    TALLY_HD constexpr void merge(name_digest const& other) {
        highest_ = other.highest_ > highest_ ? other.highest_ : highest_;
        complement_ = other.complement_ > complement_ ? other.complement_ : complement_;
        present_ |= other.present_;
    }
    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        archive.max(highest_);
        archive.max(complement_);
        archive.max(present_);
    }

    /// All who brought a digest brought this one.
    [[nodiscard]] TALLY_HD constexpr bool is(std::uint64_t digest) const {
        return present_ != 0 && highest_ == digest && complement_ == ~digest;
    }
    [[nodiscard]] constexpr bool operator==(name_digest const&) const = default;

private:
    std::uint64_t highest_ = 0;
    std::uint64_t complement_ = 0;
    std::uint64_t present_ = 0;
};

} // namespace tally
