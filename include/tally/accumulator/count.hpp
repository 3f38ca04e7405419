// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A 64-bit count. Models accumulator. Combined by integer addition, so every split of the samples gives the same bits.
#pragma once

#include <tally/config.hpp>
#include <tally/core/contribution.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tally {

namespace detail {

enum class weights_in_count : bool { refused, ignored };

} // namespace detail

/// Counts contributions. 8 bytes, wraps at 2^64. `deposit(one)` adds 1, `deposit(n)` adds a non-negative integer.
template <detail::weights_in_count Weights>
class basic_count {
public:
    constexpr basic_count() = default;
    TALLY_HD constexpr explicit basic_count(std::uint64_t start) : value_{start} {}

    TALLY_HD constexpr void deposit(one_t) { ++value_; }
    template <std::integral T>
    TALLY_HD constexpr void deposit(T n) {
        value_ += static_cast<std::uint64_t>(n);
    }
    template <class X, class Weight>
        requires(Weights == detail::weights_in_count::ignored && (std::same_as<X, one_t> || std::integral<X>))
    TALLY_HD constexpr void deposit(X x, Weight) {
        deposit(x);
    }
    TALLY_HD constexpr void deposit_block(one_t const*, std::size_t n) { value_ += n; }
    template <std::integral T>
    TALLY_HD constexpr void deposit_block(T const* x, std::size_t n) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            sum += static_cast<std::uint64_t>(x[i]);
        }
        value_ += sum;
    }
    TALLY_HD constexpr void merge(basic_count const& other) { value_ += other.value_; }

    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        archive.sum(value_);
    }

    [[nodiscard]] TALLY_HD constexpr std::uint64_t value() const { return value_; }
    [[nodiscard]] constexpr bool operator==(basic_count const&) const = default;

private:
    std::uint64_t value_ = 0;
};

/// The count of a metric. It cannot hold fractional weights: a metric that is to be weighted declares
/// count_of<Weighting> instead, which becomes a sum of weights.
using count = basic_count<detail::weights_in_count::refused>;

/// A count that means occurrences, not weight, also in a weighted metric: NaN seen, labels out of range.
using occurrences = basic_count<detail::weights_in_count::ignored>;

} // namespace tally
