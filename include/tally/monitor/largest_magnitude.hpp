// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The largest |x| of finite floats. Models accumulator. One word, combined by an unsigned maximum: the same bits for
// every split and order. NaN and infinities are not its business; who wants them counted counts them elsewhere.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/result.hpp>

#include <cstdint>

namespace tally {

/// 8 bytes.
class largest_magnitude {
public:
    TALLY_HD constexpr void deposit(float x) {
        auto const magnitude = detail::bit_cast<std::uint32_t>(x) & 0x7fff'ffffU;
        if (magnitude < 0x7f80'0000U) {
            deposit_key(std::uint64_t{magnitude} + 1);
        }
    }
    /// The bits of a finite magnitude, plus 1: for engines that look for the maximum themselves. 0 is none.
    TALLY_HD constexpr void deposit_key(std::uint64_t key) { key_ = key > key_ ? key : key_; }
    TALLY_HD constexpr void merge(largest_magnitude const& other) { deposit_key(other.key_); }
    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        archive.max(key_);
    }

    [[nodiscard]] TALLY_HD constexpr bool empty() const { return key_ == 0; }
    [[nodiscard]] TALLY_HD constexpr result<float> value() const {
        if (empty()) {
            return reason::no_samples;
        }
        return detail::bit_cast<float>(static_cast<std::uint32_t>(key_ - 1));
    }
    [[nodiscard]] constexpr bool operator==(largest_magnitude const&) const = default;

private:
    std::uint64_t key_ = 0;
};

} // namespace tally
