// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Means, variances and covariance of pairs without cancellation: covariance, Pearson correlation, R2 build on it.
// Models accumulator; gathered and merged in rank order by the pairwise formula of Chan, Golub, LeVeque 1983 (the
// merged sums are of squared deviations, never variances). Partition law: bounded.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/detail/lanes.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

/// Deposits are paired(x, y). Weight, means, M2x, M2y, Cxy in double and the number of deposits. 56 bytes.
class co_moments {
public:
    template <class X, class Y>
    TALLY_HD constexpr void deposit(value_pair<X, Y> pair) {
        deposit(pair, 1.0);
    }
    template <class X, class Y, class Weight>
    TALLY_HD constexpr void deposit(value_pair<X, Y> pair, Weight weight) {
        ++deposits_;
        auto const x = static_cast<double>(pair.first);
        auto const y = static_cast<double>(pair.second);
        auto const w = static_cast<double>(weight);
        auto const dx = detail::own_deviation(x, w);
        auto const dy = detail::own_deviation(y, w);
        join(w, x, y, dx, dy, dx * dy);
    }
    /// One pass over the block, by distances from the means so far (see moments::deposit_sums).
    template <class X, class Y>
    void deposit_block(pair_block<X, Y> pairs, std::size_t n) {
        if (n != 0) {
            auto const origin = origin_for(pairs[0]);
            deposit_sums(n, origin, detail::shifted_co_sums(pairs.first, pairs.second, n, origin.first, origin.second));
        }
    }
    /// Where the distances of a block are best counted from: the means so far, else the block's first pair.
    template <class X, class Y>
    [[nodiscard]] TALLY_HD constexpr value_pair<double> origin_for(value_pair<X, Y> const& first) const {
        bool const started = weight_ != 0.0;
        return {detail::finite_or(started ? mean_x_ : static_cast<double>(first.first), first.first),
                detail::finite_or(started ? mean_y_ : static_cast<double>(first.second), first.second)};
    }
    /// Takes n > 0 pairs by the sums of their distances from `origin`, of the squares and of the products.
    template <class Sums>
    TALLY_HD constexpr void deposit_sums(std::uint64_t n, value_pair<double> const& origin, Sums const& sums) {
        auto const size = static_cast<double>(n);
        auto const xx = sums.xx - sums.x * (sums.x / size);
        auto const yy = sums.yy - sums.y * (sums.y / size);
        deposits_ += n;
        join(size, origin.first + sums.x / size, origin.second + sums.y / size, xx < 0.0 ? 0.0 : xx,
             yy < 0.0 ? 0.0 : yy, sums.xy - sums.x * (sums.y / size));
    }
    TALLY_HD constexpr void merge(co_moments const& other) {
        deposits_ += other.deposits_;
        join(other.weight_, other.mean_x_, other.mean_y_, other.m2_x_, other.m2_y_, other.c_xy_);
    }

    [[nodiscard]] TALLY_HD constexpr std::uint64_t deposits() const { return deposits_; }
    [[nodiscard]] TALLY_HD constexpr double weight() const { return weight_; }
    [[nodiscard]] TALLY_HD constexpr double mean_x() const { return mean_x_; }
    [[nodiscard]] TALLY_HD constexpr double mean_y() const { return mean_y_; }
    /// Weighted sums of squared deviations and of their products.
    [[nodiscard]] TALLY_HD constexpr double m2_x() const { return m2_x_; }
    [[nodiscard]] TALLY_HD constexpr double m2_y() const { return m2_y_; }
    [[nodiscard]] TALLY_HD constexpr double c_xy() const { return c_xy_; }
    [[nodiscard]] TALLY_HD constexpr double mean_difference() const { return mean_x_ - mean_y_; }
    /// The sums above over weight - ddof.
    [[nodiscard]] TALLY_HD constexpr double variance_x(std::size_t ddof) const { return m2_x_ / freedom(ddof); }
    [[nodiscard]] TALLY_HD constexpr double variance_y(std::size_t ddof) const { return m2_y_ / freedom(ddof); }
    [[nodiscard]] TALLY_HD constexpr double covariance(std::size_t ddof) const { return c_xy_ / freedom(ddof); }
    [[nodiscard]] constexpr bool operator==(co_moments const&) const = default;

private:
    [[nodiscard]] TALLY_HD constexpr double freedom(std::size_t ddof) const {
        return weight_ - static_cast<double>(ddof);
    }
    TALLY_HD constexpr void join(double w, double mx, double my, double xx, double yy, double xy) {
        auto const total = weight_ + w;
        if (w == 0.0) {
            // The sums of no weight are 0, or NaN where weights cancelled (below): then the means are lost as well.
            mean_x_ += xx;
            mean_y_ += yy;
        } else if (weight_ == 0.0) {
            mean_x_ = mx + m2_x_;
            mean_y_ = my + m2_y_;
        } else if (total == 0.0) {
            // Weights of both signs that sum to exactly zero on the way leave no means to go on from.
            mean_x_ = mean_y_ = m2_x_ = m2_y_ = c_xy_ = detail::not_a_number;
        } else {
            auto const dx = mx - mean_x_;
            auto const dy = my - mean_y_;
            auto const share = w / total;
            mean_x_ += dx * share;
            mean_y_ += dy * share;
            m2_x_ += dx * dx * (weight_ * share);
            m2_y_ += dy * dy * (weight_ * share);
            c_xy_ += dx * dy * (weight_ * share);
        }
        m2_x_ += xx;
        m2_y_ += yy;
        c_xy_ += xy;
        weight_ = total;
    }

    double weight_ = 0.0;
    double mean_x_ = 0.0;
    double mean_y_ = 0.0;
    double m2_x_ = 0.0;
    double m2_y_ = 0.0;
    double c_xy_ = 0.0;
    std::uint64_t deposits_ = 0;
};

} // namespace tally
