// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Mean and variance without cancellation. Models accumulator; gathered and merged in rank order.
// Pairwise update after Chan, Golub, LeVeque, "Algorithms for computing the sample variance", 1983; weighted form after
// West 1979. Partition law: bounded (backward stable), not bit-equal.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/detail/lanes.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

/// Total weight, mean and sum of squared deviations M2, all in double, and the number of deposits. 32 bytes.
class moments {
public:
    template <class X>
    TALLY_HD constexpr void deposit(X x) {
        deposit(x, 1.0);
    }
    template <class X, class Weight>
    TALLY_HD constexpr void deposit(X x, Weight weight) {
        auto const w = static_cast<double>(weight);
        auto const value = static_cast<double>(x);
        ++deposits_;
        join(w, value, detail::own_deviation(value, w));
    }
    /// One pass over the block: sums of distances from the mean so far.
    template <class X>
    void deposit_block(X const* x, std::size_t n) {
        if (n != 0) {
            auto const origin = origin_for(x[0]);
            auto const sums = detail::shifted_sums(x, n, origin);
            deposit_sums(n, origin, sums.distances, sums.squares);
        }
    }
    /// Where the distances of a block are best counted from: the mean so far, else the block's first element.
    template <class X>
    [[nodiscard]] TALLY_HD constexpr double origin_for(X first) const {
        return detail::finite_or(weight_ != 0.0 ? mean_ : static_cast<double>(first), first);
    }
    /// Takes n > 0 elements by the sums of their distances from `origin` and of the squares. What cancels in S2 - S1^2 / n
    /// is at most the share of M2 that the block's distance from the mean so far adds anyway, so nothing is lost; constant
    /// data give 0.
    TALLY_HD constexpr void deposit_sums(std::uint64_t n, double origin, double distances, double squares) {
        auto const size = static_cast<double>(n);
        auto const m2 = squares - distances * (distances / size);
        deposits_ += n;
        join(size, origin + distances / size, m2 < 0.0 ? 0.0 : m2);
    }
    TALLY_HD constexpr void merge(moments const& other) {
        deposits_ += other.deposits_;
        join(other.weight_, other.mean_, other.m2_);
    }

    [[nodiscard]] TALLY_HD constexpr std::uint64_t deposits() const { return deposits_; }
    [[nodiscard]] TALLY_HD constexpr double weight() const { return weight_; }
    [[nodiscard]] TALLY_HD constexpr double mean() const { return mean_; }
    /// Weighted sum of squared deviations from the mean.
    [[nodiscard]] TALLY_HD constexpr double m2() const { return m2_; }
    /// m2 / (weight - ddof)
    [[nodiscard]] TALLY_HD constexpr double variance(std::size_t ddof) const {
        return m2_ / (weight_ - static_cast<double>(ddof));
    }
    [[nodiscard]] constexpr bool operator==(moments const&) const = default;

private:
    TALLY_HD constexpr void join(double weight, double mean, double m2) {
        // The M2 of no weight is 0, or NaN where weights cancelled (below): then the mean is lost as well.
        if (weight == 0.0) {
            mean_ += m2;
            m2_ += m2;
            return;
        }
        if (weight_ == 0.0) {
            weight_ = weight;
            mean_ = mean + m2_;
            m2_ += m2;
            return;
        }
        auto const total = weight_ + weight;
        auto const delta = mean - mean_;
        // Weights of both signs that sum to exactly zero on the way leave no mean to go on from: NaN, never a wrong number.
        mean_ = total == 0.0 ? detail::not_a_number : mean_ + delta * (weight / total);
        m2_ += total == 0.0 ? detail::not_a_number : m2 + delta * delta * (weight_ * (weight / total));
        weight_ = total;
    }

    double weight_ = 0.0;
    double mean_ = 0.0;
    double m2_ = 0.0;
    std::uint64_t deposits_ = 0;
};

} // namespace tally
