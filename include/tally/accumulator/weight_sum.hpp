// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a count becomes in a weighted metric: the sum of weights, and the number of deposits behind it, so that "no
// samples" can be told from "weights that sum to zero". Models accumulator; gathered and merged in rank order.
#pragma once

#include <tally/accumulator/sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

/// 16 bytes. The sum is that of sum<double>.
class weight_sum {
public:
    constexpr weight_sum() = default;
    TALLY_HD constexpr explicit weight_sum(double start, std::uint64_t deposits = 1)
        : total_{start}, deposits_{deposits} {}

    template <class X, class Weight>
        requires requires(sum<double>& total, X x, Weight weight) { total.deposit(x, weight); }
    TALLY_HD constexpr void deposit(X x, Weight weight) {
        total_.deposit(x, weight);
        ++deposits_;
    }
    template <class X>
        requires requires(sum<double>& total, X x) { total.deposit(x); }
    TALLY_HD constexpr void deposit(X x) {
        total_.deposit(x);
        ++deposits_;
    }
    template <class X, class Weight>
        requires requires(sum<double>& total, X const* x, Weight const* w) { total.deposit_block(x, w, std::size_t{}); }
    void deposit_block(X const* x, Weight const* weights, std::size_t n) {
        total_.deposit_block(x, weights, n);
        deposits_ += n;
    }
    TALLY_HD constexpr void merge(weight_sum const& other) {
        total_.merge(other.total_);
        deposits_ += other.deposits_;
    }

    template <class Archive>
    TALLY_HD constexpr void parts(Archive& archive) {
        total_.parts(archive);
        archive.sum(deposits_);
    }

    [[nodiscard]] TALLY_HD constexpr double value() const { return total_.value(); }
    [[nodiscard]] TALLY_HD constexpr std::uint64_t deposits() const { return deposits_; }
    [[nodiscard]] TALLY_HD constexpr bool empty() const { return deposits_ == 0; }
    [[nodiscard]] constexpr bool operator==(weight_sum const&) const = default;

private:
    sum<double> total_;
    std::uint64_t deposits_ = 0;
};

} // namespace tally
