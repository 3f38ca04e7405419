// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Sum of probabilities for the cells of a table: 16 bytes, where an exact sum takes 96, and the same bits for any
// order, batches, replicas and engine. Models accumulator; travels as words, combined by integer addition. Partition
// law: exact.
#pragma once

#include <tally/accumulator/sum.hpp>
#include <tally/config.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/core/digit_rounding.hpp>
#include <tally/core/digits.hpp>
#include <tally/detail/fixed_block.hpp>

#include <concepts>
#include <cstdint>

namespace tally {

/// Adds numbers of [0, 1] as multiples of 2^-54: floats from 2^-31 on and doubles from 1/2 on unrounded, others with an
/// error of at most 2^-55 each. value() is the sum rounded once. Numbers outside, NaN included, are not taken: who
/// deposits counts them. Holds 2^40 = 1.1e12 numbers. Weights have no unit that would suit all of them: a weighted
/// metric keeps a sum<double>.
class probability_sum {
public:
    using weighted_type = sum<double>;

    template <std::floating_point X>
    TALLY_HD constexpr void deposit(X x) {
        if (x >= X{0} && x <= X{1}) {
            auto const units = detail::round_to_multiple(detail::decompose(x), unit).units;
            digits_.template add<64>(static_cast<std::uint64_t>(units), 0, false);
        }
    }
    TALLY_HD constexpr void merge(probability_sum const& other) { digits_.add(other.digits_); }

    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        digits_.normalise();
        digits_.travel(archive);
        digits_.normalise();
    }
    /// For atomic additions: at most 2^31 deposits between two reads, which carry.
    template <class Archive>
    TALLY_HD constexpr void parts(Archive& archive) {
        digits_.travel(archive);
        digits_.normalise();
    }

    [[nodiscard]] TALLY_HD constexpr double value() const {
        auto canonical = digits_;
        canonical.normalise();
        return detail::round_digits<double>(canonical, unit);
    }
    [[nodiscard]] TALLY_HD constexpr bool operator==(probability_sum const& other) const {
        auto a = digits_;
        auto b = other.digits_;
        a.normalise();
        b.normalise();
        return a == b;
    }

private:
    static constexpr int unit = -54;
    detail::digits<2> digits_;
};

} // namespace tally
