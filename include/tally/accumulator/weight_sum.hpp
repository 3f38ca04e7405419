// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a count becomes in a weighted metric: the sum of weights, and the number of deposits behind it, so that "no
// samples" can be told from "weights that sum to zero". Models accumulator; combined as its sum is.
#pragma once

#include <tally/accumulator/exact_sum.hpp>
#include <tally/accumulator/sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/wire.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

/// Sum, and 8 bytes. Partition law: that of Sum.
template <class Sum>
class basic_weight_sum {
public:
    constexpr basic_weight_sum() = default;
    TALLY_HD constexpr explicit basic_weight_sum(double start, std::uint64_t deposits = 1)
        : total_{start}, deposits_{deposits} {}
    TALLY_HD constexpr basic_weight_sum(Sum const& total, std::uint64_t deposits)
        : total_{total}, deposits_{deposits} {}

    template <class X, class Weight>
        requires requires(Sum& total, X x, Weight weight) { total.deposit(x, weight); }
    TALLY_HD constexpr void deposit(X x, Weight weight) {
        total_.deposit(x, weight);
        ++deposits_;
    }
    template <class X>
        requires requires(Sum& total, X x) { total.deposit(x); }
    TALLY_HD constexpr void deposit(X x) {
        total_.deposit(x);
        ++deposits_;
    }
    template <class X, class Weight>
        requires requires(Sum& total, X const* x, Weight const* w) { total.deposit_block(x, w, std::size_t{}); }
    void deposit_block(X const* x, Weight const* weights, std::size_t n) {
        total_.deposit_block(x, weights, n);
        deposits_ += n;
    }
    TALLY_HD constexpr void merge(basic_weight_sum const& other) {
        total_.merge(other.total_);
        deposits_ += other.deposits_;
    }

    template <class Archive>
        requires detail::travels_as_words<Sum>
    TALLY_HD constexpr void travel(Archive& archive) {
        total_.travel(archive);
        archive.sum(deposits_);
    }
    template <class Archive>
    TALLY_HD constexpr void parts(Archive& archive) {
        total_.parts(archive);
        archive.sum(deposits_);
    }

    [[nodiscard]] TALLY_HD constexpr double value() const { return total_.value(); }
    [[nodiscard]] TALLY_HD constexpr std::uint64_t deposits() const { return deposits_; }
    [[nodiscard]] TALLY_HD constexpr bool empty() const { return deposits_ == 0; }
    [[nodiscard]] constexpr bool operator==(basic_weight_sum const&) const = default;

private:
    Sum total_;
    std::uint64_t deposits_ = 0;
};

/// In double: 16 bytes, gathered and merged in rank order.
using weight_sum = basic_weight_sum<sum<double>>;
/// The exact sum of weights that are floats: 104 bytes, the same bits for any order and any number of replicas.
using exact_weight_sum = basic_weight_sum<exact_sum<float>>;

} // namespace tally
