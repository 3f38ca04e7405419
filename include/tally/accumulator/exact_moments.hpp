// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Mean and variance from the exact sums of values and of their squares: the same bits for any order, any batches and
// any number of replicas, on any engine. Models accumulator; travels as words, combined by integer addition.
// Partition law: exact.
#pragma once

#include <tally/accumulator/exact_sum.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/exact_range.hpp>
#include <tally/core/wide_integer.hpp>
#include <tally/detail/exact_block.hpp>
#include <tally/detail/exact_moment_block.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally {

namespace detail {

/// Integers of which the sums of n < 2^64 products, times n, take at most 3/4.
template <class T>
using moment_integer = wide_integer<digits_for<product<T>> + 4>;

/// n * sum(x y) - sum(x) sum(y), in units of 2^exact_range<product<T>>::lowest: n times the sum of the products of
/// deviations, an integer. Nothing is rounded, so nothing cancels.
template <class T>
TALLY_HD constexpr moment_integer<T> scaled_deviations(std::uint64_t n, exact_sum<product<T>> const& xy,
                                                       exact_sum<T> const& x, exact_sum<T> const& y) {
    using integer = moment_integer<T>;
    auto result = integer{n} * integer{xy.canonical_digits()};
    result -= integer{x.canonical_digits()} * integer{y.canonical_digits()};
    return result;
}

/// Whether the sum and all of its deposits are finite.
template <class T>
TALLY_HD constexpr bool is_finite(exact_sum<T> const& sum) {
    auto const value = sum.value();
    return value - value == 0.0;
}

/// (sum(x y) - sum(x) sum(y) / n) / divisor, rounded once; NaN if something is not finite.
template <class T>
TALLY_HD constexpr double rounded_deviations(std::uint64_t n, std::uint64_t divisor, exact_sum<product<T>> const& xy,
                                             exact_sum<T> const& x, exact_sum<T> const& y) {
    if (!is_finite(xy) || !is_finite(x) || !is_finite(y)) {
        return not_a_number;
    }
    return n == 0 ? 0.0 : rounded_quotient(scaled_deviations(n, xy, x, y), exact_range<product<T>>::lowest, n, divisor);
}

/// sum / n, rounded once. What is infinite or NaN stays.
template <class T>
TALLY_HD constexpr double rounded_mean(exact_sum<T> const& sum, std::uint64_t n) {
    if (n == 0 || !is_finite(sum)) {
        return sum.value();
    }
    return rounded_quotient(moment_integer<T>{sum.canonical_digits()}, exact_range<T>::lowest, n);
}

} // namespace detail

/// T: float, half_bits, bfloat16_bits, or another type whose products are exact in double.
///   mean(), m2()     mean and sum of squared deviations from it, each the exact number rounded once to nearest
///   variance(ddof)   m2 / (n - ddof), rounded once; n > ddof
/// Nothing cancels, constant data give exactly 0. NaN and infinities make these NaN; a mean follows IEEE 754. Beyond
/// 2^31 times the largest T a sum is infinite, and so is one of squares beyond 2^31 times its square. No weights: the
/// products of three numbers would not fit; a weighted metric keeps `moments`. 272 bytes for float, 34 words on the
/// way.
template <class T = float>
    requires detail::is_product_v<product<T>>
class exact_moments {
public:
    using value_type = T;
    using weighted_type = moments; ///< what takes weights

    constexpr exact_moments() = default;
    /// For engines: from the sums of `deposits` values and of their squares.
    TALLY_HD constexpr exact_moments(exact_sum<T> const& values, exact_sum<product<T>> const& squares,
                                     std::uint64_t deposits)
        : values_{values}, squares_{squares}, deposits_{deposits} {}

    template <class X>
        requires detail::product_in_exact_range<product<T>, X, X> && detail::in_exact_range<T, X>
    TALLY_HD constexpr void deposit(X x) {
        ++deposits_;
        values_.deposit(x);
        squares_.deposit(x, x);
    }
    /// Vectorised for float; the same bits as one by one.
    template <class X>
        requires detail::product_in_exact_range<product<T>, X, X> && detail::in_exact_range<T, X>
    void deposit_block(X const* x, std::size_t n) {
        deposits_ += n;
        for (std::size_t first = 0; first < n; first += detail::moment_tile) {
            auto const size = n - first < detail::moment_tile ? n - first : detail::moment_tile;
            if constexpr (std::is_same_v<X, float>) {
                if (size >= detail::vectors_pay_from && detail::take_moments(values_, squares_, x + first, size)) {
                    continue;
                }
            }
            values_.deposit_block(x + first, size);
            squares_.deposit_block(x + first, x + first, size);
        }
    }
    TALLY_HD constexpr void merge(exact_moments const& other) {
        deposits_ += other.deposits_;
        values_.merge(other.values_);
        squares_.merge(other.squares_);
    }

    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        values_.travel(archive);
        squares_.travel(archive);
        archive.sum(deposits_);
    }
    template <class Archive>
    TALLY_HD constexpr void parts(Archive& archive) {
        values_.parts(archive);
        squares_.parts(archive);
        archive.sum(deposits_);
    }

    [[nodiscard]] TALLY_HD constexpr std::uint64_t deposits() const { return deposits_; }
    [[nodiscard]] TALLY_HD constexpr double weight() const { return static_cast<double>(deposits_); }
    [[nodiscard]] TALLY_HD constexpr double mean() const { return detail::rounded_mean(values_, deposits_); }
    [[nodiscard]] TALLY_HD constexpr double m2() const { return over(1); }
    [[nodiscard]] TALLY_HD constexpr double variance(std::size_t ddof) const { return over(deposits_ - ddof); }
    [[nodiscard]] TALLY_HD constexpr bool operator==(exact_moments const& other) const {
        return deposits_ == other.deposits_ && values_ == other.values_ && squares_ == other.squares_;
    }

private:
    /// m2 / divisor
    [[nodiscard]] TALLY_HD constexpr double over(std::uint64_t divisor) const {
        return detail::rounded_deviations(deposits_, divisor, squares_, values_, values_);
    }

    exact_sum<T> values_;
    exact_sum<product<T>> squares_;
    std::uint64_t deposits_ = 0;
};

} // namespace tally
