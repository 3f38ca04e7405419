// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The sums behind the area under the ROC curve and average precision, one term for each group of equal scores. All of
// them are sums of integers, so they don't depend on the order of the terms, and the engines share the terms.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/core/weighting.hpp>
#include <tally/ranking/detail/record.hpp>
#include <tally/ranking/detail/uint128.hpp>

#include <cstdint>

namespace tally::detail {

/// How much of each class there is in a part of the ranking.
template <class Quantity>
struct by_label {
    Quantity negatives{};
    Quantity positives{};
    [[nodiscard]] TALLY_HD friend constexpr by_label operator+(by_label const& a, by_label const& b) {
        return {a.negatives + b.negatives, a.positives + b.positives};
    }
    [[nodiscard]] TALLY_HD friend constexpr by_label operator-(by_label const& a, by_label const& b) {
        return {a.negatives - b.negatives, a.positives - b.positives};
    }
};

/// What the two values are made of.
struct label_terms {
    uint128 won;     ///< see area()
    uint128 precise; ///< see average_precision()
    [[nodiscard]] TALLY_HD friend constexpr label_terms operator+(label_terms const& a, label_terms const& b) {
        return {a.won + b.won, a.precise + b.precise};
    }
};

/// The largest weight of each class, as bits + 1; 0: the class has no sample. Counted samples have the weight 1.
using largest_weights = by_label<std::uint64_t>;

template <class Weighting>
struct label_arithmetic;

/// Counts. Twice the pairs that are won, ties half, are an integer; precisions are fractions of 96 bits.
/// Below 2^31 samples, as most_ranked says, every product fits.
template <>
struct label_arithmetic<unweighted> {
    using payload_type = std::uint8_t;
    using quantity = std::uint64_t;
    using prefix = std::uint32_t; ///< running sum over the sorted samples: the positives

    constexpr label_arithmetic() = default;
    TALLY_HD constexpr explicit label_arithmetic(largest_weights const&) {}

    TALLY_HD static constexpr bool is_positive(payload_type label) { return label != 0; }
    TALLY_HD static constexpr std::uint64_t weight_bits(payload_type) { return 0; }
    TALLY_HD constexpr prefix prefix_of(payload_type label) const { return label; }
    TALLY_HD static constexpr by_label<quantity> amounts(prefix positives, std::uint64_t samples) {
        return {samples - positives, positives};
    }

    /// Of the group between two places of the ranking.
    TALLY_HD constexpr label_terms terms(by_label<quantity> const& below, by_label<quantity> const& through,
                                         by_label<quantity> const& all) const {
        auto const positives = through.positives - below.positives;
        if (positives == 0) {
            return {};
        }
        auto const found = all.positives - below.positives;
        auto const called = found + (all.negatives - below.negatives);
        auto rest = positives * found;
        auto const whole = rest / called;
        std::uint64_t fraction[3] = {};
        for (auto& word : fraction) {
            rest = (rest % called) << 32;
            word = rest / called;
        }
        return {{positives * (below.negatives + through.negatives), 0},
                {(fraction[1] << 32) | fraction[2], (whole << 32) | fraction[0]}};
    }

    static constexpr double area(label_terms const& sum, by_label<quantity> const& all) {
        return static_cast<double>(sum.won.low) / static_cast<double>(2 * all.positives * all.negatives);
    }
    static constexpr double average_precision(label_terms const& sum, by_label<quantity> const& all) {
        return sum.precise.to_double(-96) / static_cast<double>(all.positives);
    }
    TALLY_HD static constexpr bool is_zero(quantity x) { return x == 0; }
};

/// Weights as integers: multiples of 2^(E - 95), where 2^E is the first power of two above the largest weight of the
/// class. Nothing is cut off of weights within a factor of 2^71 (double: 2^42), less than 2^-62 of the sum otherwise.
/// The sign bit of a payload is the label; weights are not negative.
template <class W>
struct label_arithmetic<by_weight<W>> {
    using payload_type = bits_of<W>;
    using quantity = uint128;
    using prefix = by_label<uint128>;

    constexpr label_arithmetic() = default;
    TALLY_HD constexpr explicit label_arithmetic(largest_weights const& largest)
        : negative_unit_{unit(largest.negatives)}, positive_unit_{unit(largest.positives)} {}

    TALLY_HD static constexpr bool is_positive(payload_type payload) { return (payload & sign) != 0; }
    TALLY_HD static constexpr std::uint64_t weight_bits(payload_type payload) {
        return payload & static_cast<payload_type>(~sign);
    }
    TALLY_HD constexpr prefix prefix_of(payload_type payload) const {
        bool const positive = is_positive(payload);
        auto const parts = decompose(bit_cast<W>(static_cast<payload_type>(weight_bits(payload))));
        auto const units =
            uint128{parts.significand, 0}.shifted(parts.exponent - (positive ? positive_unit_ : negative_unit_));
        return positive ? prefix{{}, units} : prefix{units, {}};
    }
    TALLY_HD static constexpr by_label<quantity> amounts(prefix const& sum, std::uint64_t) { return sum; }

    TALLY_HD constexpr label_terms terms(by_label<quantity> const& below, by_label<quantity> const& through,
                                         by_label<quantity> const& all) const {
        auto const positives = through.positives - below.positives;
        if (positives.is_zero()) {
            return {};
        }
        label_terms sum;
        auto const gained = positives.to_double();
        if (!all.negatives.is_zero()) {
            auto const share = (below.negatives + through.negatives).to_double() / (2.0 * all.negatives.to_double());
            sum.won = uint128::from(gained * share);
        }
        auto const found = (all.positives - below.positives).to_double();
        auto const others = (all.negatives - below.negatives).to_double(negative_unit_ - positive_unit_);
        sum.precise = uint128::from(gained * (found / (found + others)));
        return sum;
    }

    static constexpr double area(label_terms const& sum, by_label<quantity> const& all) {
        return at_most_one(sum.won.to_double() / all.positives.to_double());
    }
    static constexpr double average_precision(label_terms const& sum, by_label<quantity> const& all) {
        return at_most_one(sum.precise.to_double() / all.positives.to_double());
    }
    TALLY_HD static constexpr bool is_zero(quantity const& x) { return x.is_zero(); }

private:
    static constexpr payload_type sign = payload_type{1} << (8 * sizeof(payload_type) - 1);
    static constexpr int bits_of_largest = 95; // and 2^31 of them stay below 2^127

    /// Exponent of the unit.
    TALLY_HD static constexpr int unit(std::uint64_t largest) {
        if (largest < 2) { // no weight but 0
            return 0;
        }
        auto const parts = decompose(bit_cast<W>(static_cast<payload_type>(largest - 1)));
        return parts.exponent + 64 - __builtin_clzll(parts.significand) - bits_of_largest;
    }
    static constexpr double at_most_one(double x) { return x > 1.0 ? 1.0 : x; }

    int negative_unit_ = 0;
    int positive_unit_ = 0;
};

} // namespace tally::detail
