// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// ranked_labels: yes/no predictions with their scores kept, for the exact area under the ROC curve and the exact
// average precision. What a ranking buffer holds, and the values it gives.
#pragma once

#include <tally/config.hpp>
#include <tally/core/class_index.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/ranking/detail/label_arithmetic.hpp>
#include <tally/ranking/detail/record.hpp>
#include <tally/ranking/ranking_counts.hpp>

#include <type_traits>

namespace tally {

/// What is known of a ranking of labels: enough for both values, whatever the number of samples.
template <class Weighting>
struct label_summary {
    using arithmetic = detail::label_arithmetic<Weighting>;
    detail::largest_weights largest;                     ///< and whether a class has samples
    detail::by_label<typename arithmetic::quantity> all; ///< counts, or weights in units of their own
    detail::label_terms sum;
};

/// Values of ranked_labels, over one replica or all.
template <class Weighting>
class label_ranking {
    using arithmetic = detail::label_arithmetic<Weighting>;

public:
    label_ranking(ranking_counts const& counts, label_summary<Weighting> const& summary)
        : counts_{counts}, summary_{summary} {}

    /// Probability that a positive has a higher score than a negative, ties counted half (Hanley, McNeil 1982): sum of
    /// w_p w_n ([s_p > s_n] + [s_p = s_n] / 2) over the pairs, by their total weight. One class only:
    /// reason::single_class; weights of a class that sum to zero: zero_denominator.
    [[nodiscard]] ranked_value auroc() const {
        auto why = this->why();
        if (why == reason::none && (summary_.largest.negatives == 0 || summary_.largest.positives == 0)) {
            why = reason::single_class;
        }
        if (why == reason::none && (is_zero(summary_.all.negatives) || is_zero(summary_.all.positives))) {
            why = reason::zero_denominator;
        }
        return value(why, arithmetic::area);
    }

    /// sum over the distinct scores as thresholds, from the highest, of (R_i - R_(i-1)) P_i, with precision P and
    /// recall R; no interpolation, as in scikit-learn. 1 without negatives. No positives: reason::single_class.
    [[nodiscard]] ranked_value average_precision() const {
        auto why = this->why();
        if (why == reason::none && summary_.largest.positives == 0) {
            why = reason::single_class;
        }
        if (why == reason::none && is_zero(summary_.all.positives)) {
            why = reason::zero_denominator;
        }
        return value(why, arithmetic::average_precision);
    }

    [[nodiscard]] ranking_counts const& counts() const { return counts_; }

private:
    static bool is_zero(typename arithmetic::quantity const& x) { return arithmetic::is_zero(x); }
    [[nodiscard]] reason why() const { return counts_.samples == 0 ? reason::no_samples : reason::none; }
    template <class Formula>
    [[nodiscard]] ranked_value value(reason why, Formula formula) const {
        auto const known = why == reason::none ? result<double>(formula(summary_.sum, summary_.all)) : why;
        return {known, counts_.dropped, counts_.overflow};
    }

    ranking_counts counts_;
    label_summary<Weighting> summary_;
};

/// predictions(...) are scores of type T (float or double; probabilities or logits, infinities included), targets(...)
/// 0 or 1, and with by_weight<W> weights(...) of type W. NaN scores, other labels and negative weights are dropped and
/// counted: a curve that runs backwards has no area. Scores are tied only if they are equal. Counted values are the
/// exact quotients but for the roundings of the last division; weighted ones are off by a few roundings and at most
/// 2^-63. Memory of a sample: docs/metrics/exact_ranking.md.
template <class T = float, class Weighting = unweighted>
struct ranked_labels {
    static constexpr fixed_string name = "ranked_labels";
    using weighting = Weighting;
    using arithmetic = detail::label_arithmetic<Weighting>;
    using record = detail::ranking_record<detail::bits_of<T>, typename arithmetic::payload_type>;
    using summary = label_summary<Weighting>;
    using values = label_ranking<Weighting>;

    TALLY_HD static constexpr record observe(prediction<T> score, target<class_index> label) {
        bool const valid = !detail::is_nan(score.value) && (label == 0 || label == 1);
        return {valid ? detail::rank_key(score.value) : detail::bits_of<T>{},
                static_cast<typename record::payload_type>(label == 1 ? 1 : 0), valid};
    }
    /// Adds the weight, which is finite, to a record.
    template <class W>
    TALLY_HD static constexpr record weigh(record sample, W weight) {
        using payload_type = typename record::payload_type;
        constexpr int sign = 8 * static_cast<int>(sizeof(payload_type)) - 1;
        auto const bits = detail::bit_cast<payload_type>(weight == W{0} ? W{0} : weight); // no sign bit of -0
        sample.valid = sample.valid && weight >= W{0};
        sample.payload = static_cast<payload_type>(bits | (sample.payload << sign));
        return sample;
    }
};

} // namespace tally
