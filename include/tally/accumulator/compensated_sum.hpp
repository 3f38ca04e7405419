// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A sum that keeps what its additions round off: Neumaier 1974, with the branch-free addition of Knuth and Moller. Models
// accumulator; gathered and merged in rank order. Partition law: bounded; the same bits only for the same split.
#pragma once

#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/detail/compensated_block.hpp>

#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace tally {

/// For n terms the error is at most that of rounding the result once, plus about n^2 u^2 times the sum of the terms'
/// sizes; u = 2^-53 for double, 2^-24 for float. Terms are rounded to T first, products are not (save for two doubles).
/// 2 sizeof(T) bytes. For exact sums at the same speed, see exact_sum: this one is for tables of doubles, where its 16
/// bytes count. Code compiled with -ffast-math loses the compensation.
template <std::floating_point T = double>
    requires(!std::same_as<T, long double>)
class compensated_sum {
    template <class X>
    static constexpr bool fits = std::is_arithmetic_v<X> || std::same_as<X, one_t>;

public:
    using value_type = T;

    constexpr compensated_sum() = default;
    TALLY_HD constexpr explicit compensated_sum(T start) : sum_{start} {}

    template <class X>
        requires fits<X>
    TALLY_HD constexpr void deposit(X x) {
        detail::add_compensated(sum_, compensation_, number(x));
    }
    template <class X, class Weight>
        requires fits<X> && std::is_arithmetic_v<Weight>
    TALLY_HD constexpr void deposit(X x, Weight weight) {
        auto const product = static_cast<double>(number(x)) * static_cast<double>(number(weight));
        if constexpr (std::same_as<T, float>) { // two floats: the product is exact, and is added in two parts
            auto const upper = static_cast<float>(product);
            detail::add_compensated(sum_, compensation_, upper);
            if (upper - upper == 0.0F) {
                compensation_ += static_cast<float>(product - static_cast<double>(upper));
            }
        } else {
            detail::add_compensated(sum_, compensation_, product);
        }
    }
    /// In several lanes, which are merged in a fixed order: other bits than one by one, within the same bound.
    template <class X>
        requires std::is_arithmetic_v<X>
    void deposit_block(X const* x, std::size_t n) {
        auto const block = detail::compensated_sum_of<T>(x, n);
        add(block.sum, block.compensation);
    }
    TALLY_HD constexpr void merge(compensated_sum const& other) { add(other.sum_, other.compensation_); }

    [[nodiscard]] TALLY_HD constexpr T value() const {
        return sum_ - sum_ == T{0} ? sum_ + compensation_ : sum_; // what compensates an infinity is NaN
    }
    [[nodiscard]] constexpr bool operator==(compensated_sum const&) const = default;

private:
    TALLY_HD constexpr void add(T sum, T compensation) {
        detail::add_compensated(sum_, compensation_, sum);
        compensation_ += compensation;
    }
    template <class X>
    TALLY_HD static constexpr T number(X x) {
        if constexpr (std::same_as<X, one_t>) {
            return T{1};
        } else {
            return static_cast<T>(x);
        }
    }

    T sum_{};
    T compensation_{};
};

} // namespace tally
