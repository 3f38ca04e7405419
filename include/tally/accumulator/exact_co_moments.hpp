// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Means, variances and covariance of pairs from the exact sums of values and products: covariance, Pearson correlation
// and R2 with the same bits for any order, any batches and any number of replicas, on any engine. Models accumulator;
// travels as words, combined by integer addition. Partition law: exact.
#pragma once

#include <tally/accumulator/co_moments.hpp>
#include <tally/accumulator/exact_moments.hpp>
#include <tally/accumulator/exact_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/exact_range.hpp>
#include <tally/core/wide_integer.hpp>
#include <tally/detail/exact_block.hpp>
#include <tally/detail/exact_moment_block.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally {

/// Deposits are paired(x, y). T as for exact_moments. All of these are exact numbers rounded once, to nearest:
///   mean_x(), mean_y(), mean_difference()       means of x, y and x - y
///   m2_x(), m2_y(), c_xy()                      sums of squared deviations and of their products
///   variance_x(ddof) ..., covariance(ddof)      the same over n - ddof; n > ddof
///   squared_differences(), m2_difference()      sum of (x - y)^2, and of its deviations from the mean x - y
/// NaN and infinities make them NaN; ranges as of exact_moments. No weights: a weighted metric keeps `co_moments`. 704
/// bytes for float, 88 words on the way.
template <class T = float>
    requires detail::is_product_v<product<T>>
class exact_co_moments {
    template <class X>
    static constexpr bool fits = detail::product_in_exact_range<product<T>, X, X> && detail::in_exact_range<T, X>;

public:
    using value_type = T;
    using weighted_type = co_moments; ///< what takes weights

    template <class X, class Y>
        requires(fits<X> && fits<Y>)
    TALLY_HD constexpr void deposit(value_pair<X, Y> pair) {
        ++deposits_;
        x_.deposit(pair.first);
        y_.deposit(pair.second);
        xx_.deposit(pair.first, pair.first);
        yy_.deposit(pair.second, pair.second);
        xy_.deposit(pair.first, pair.second);
    }
    /// Vectorised for floats; the same bits as one by one.
    template <class X, class Y>
        requires(fits<X> && fits<Y>)
    void deposit_block(pair_block<X, Y> pairs, std::size_t n) {
        deposits_ += n;
        for (std::size_t first = 0; first < n; first += detail::moment_tile) {
            auto const size = n - first < detail::moment_tile ? n - first : detail::moment_tile;
            auto const* const x = pairs.first + first;
            auto const* const y = pairs.second + first;
            if constexpr (std::is_same_v<X, float> && std::is_same_v<Y, float>) {
                if (size >= detail::vectors_pay_from && detail::take_co_moments(x_, y_, xx_, yy_, xy_, x, y, size)) {
                    continue;
                }
            }
            x_.deposit_block(x, size);
            y_.deposit_block(y, size);
            xx_.deposit_block(x, x, size);
            yy_.deposit_block(y, y, size);
            xy_.deposit_block(x, y, size);
        }
    }
    TALLY_HD constexpr void merge(exact_co_moments const& other) {
        deposits_ += other.deposits_;
        x_.merge(other.x_);
        y_.merge(other.y_);
        xx_.merge(other.xx_);
        yy_.merge(other.yy_);
        xy_.merge(other.xy_);
    }

    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        x_.travel(archive);
        y_.travel(archive);
        xx_.travel(archive);
        yy_.travel(archive);
        xy_.travel(archive);
        archive.sum(deposits_);
    }
    template <class Archive>
    TALLY_HD constexpr void parts(Archive& archive) {
        x_.parts(archive);
        y_.parts(archive);
        xx_.parts(archive);
        yy_.parts(archive);
        xy_.parts(archive);
        archive.sum(deposits_);
    }

    [[nodiscard]] TALLY_HD constexpr std::uint64_t deposits() const { return deposits_; }
    [[nodiscard]] TALLY_HD constexpr double weight() const { return static_cast<double>(deposits_); }
    [[nodiscard]] TALLY_HD constexpr double mean_x() const { return detail::rounded_mean(x_, deposits_); }
    [[nodiscard]] TALLY_HD constexpr double mean_y() const { return detail::rounded_mean(y_, deposits_); }
    [[nodiscard]] TALLY_HD constexpr double mean_difference() const {
        if (deposits_ == 0 || !finite()) {
            return x_.value() - y_.value();
        }
        auto difference = integer{x_.canonical_digits()};
        difference -= integer{y_.canonical_digits()};
        return detail::rounded_quotient(difference, exact_range<T>::lowest, deposits_);
    }
    [[nodiscard]] TALLY_HD constexpr double m2_x() const { return over(1, xx_, x_, x_); }
    [[nodiscard]] TALLY_HD constexpr double m2_y() const { return over(1, yy_, y_, y_); }
    [[nodiscard]] TALLY_HD constexpr double c_xy() const { return over(1, xy_, x_, y_); }
    [[nodiscard]] TALLY_HD constexpr double variance_x(std::size_t ddof) const {
        return over(deposits_ - ddof, xx_, x_, x_);
    }
    [[nodiscard]] TALLY_HD constexpr double variance_y(std::size_t ddof) const {
        return over(deposits_ - ddof, yy_, y_, y_);
    }
    [[nodiscard]] TALLY_HD constexpr double covariance(std::size_t ddof) const {
        return over(deposits_ - ddof, xy_, x_, y_);
    }
    [[nodiscard]] TALLY_HD constexpr double squared_differences() const {
        return finite() ? detail::rounded_quotient(squares_of_differences(), unit) : detail::not_a_number;
    }
    [[nodiscard]] TALLY_HD constexpr double m2_difference() const {
        if (deposits_ == 0 || !finite()) {
            return finite() ? 0.0 : detail::not_a_number;
        }
        auto difference = integer{x_.canonical_digits()};
        difference -= integer{y_.canonical_digits()};
        auto result = integer{deposits_} * squares_of_differences();
        result -= difference * difference;
        return detail::rounded_quotient(result, unit, deposits_);
    }
    [[nodiscard]] TALLY_HD constexpr bool operator==(exact_co_moments const& other) const {
        return deposits_ == other.deposits_ && x_ == other.x_ && y_ == other.y_ && xx_ == other.xx_ &&
               yy_ == other.yy_ && xy_ == other.xy_;
    }

private:
    using integer = detail::moment_integer<T>;
    static constexpr int unit = exact_range<product<T>>::lowest;

    [[nodiscard]] TALLY_HD constexpr bool finite() const {
        return detail::is_finite(x_) && detail::is_finite(y_) && detail::is_finite(xx_) && detail::is_finite(yy_);
    }
    [[nodiscard]] TALLY_HD constexpr double over(std::uint64_t divisor, exact_sum<product<T>> const& products,
                                                 exact_sum<T> const& first, exact_sum<T> const& second) const {
        return detail::rounded_deviations(deposits_, divisor, products, first, second);
    }
    [[nodiscard]] TALLY_HD constexpr integer squares_of_differences() const {
        integer const product{xy_.canonical_digits()};
        integer result{xx_.canonical_digits()};
        result += integer{yy_.canonical_digits()};
        result -= product;
        result -= product;
        return result;
    }

    exact_sum<T> x_;
    exact_sum<T> y_;
    exact_sum<product<T>> xx_;
    exact_sum<product<T>> yy_;
    exact_sum<product<T>> xy_;
    std::uint64_t deposits_ = 0;
};

} // namespace tally
