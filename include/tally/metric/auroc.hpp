// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Area under the ROC curve of yes/no predictions, and the curve itself, from scores in bins: a state of fixed size that
// is combined by one integer sum, with a bracket that holds the value without bins for certain.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/binned_scores.hpp>
#include <tally/metric/bracketed.hpp>
#include <tally/metric/score_bins.hpp>

#include <cstddef>
#include <limits>
#include <type_traits>

namespace tally {

namespace detail {

/// Why a ranking has no value: nothing seen, or no sample of one of the two classes.
template <class Counter>
TALLY_HD constexpr reason why_no_ranking(double negatives, double positives) {
    if (negatives == 0.0 && positives == 0.0) {
        return ratio(0.0, Counter{}).why();
    }
    return negatives == 0.0 || positives == 0.0 ? reason::single_class : reason::none;
}

/// Pairs in different bins are decided. Of the p n pairs in the same bin half are counted as won, all or none at worst.
template <class Labels>
TALLY_HD constexpr bracketed area_under_roc(Labels const& labels) {
    double negatives = 0; // in the bins so far
    double positives = 0;
    double won = 0;
    double tied = 0;
    for (std::size_t b = 0; b < labels.bins; ++b) {
        auto const n = labels.negatives(b);
        auto const p = labels.positives(b);
        won += p * negatives;
        tied += p * n;
        negatives += n;
        positives += p;
    }
    auto const why = why_no_ranking<typename Labels::counter>(negatives, positives);
    if (why != reason::none) {
        return why;
    }
    auto const pairs = negatives * positives;
    auto const share = [pairs](double part) {
        // More than 2^53 pairs are rounded; counts can't win more than all of them. Negative weights can.
        auto const area = part / pairs;
        return std::is_same_v<typename Labels::counter, count> && area > 1.0 ? 1.0 : area;
    };
    return {share(won + tied / 2), share(won), share(won + tied)};
}

} // namespace detail

/// Probability that a positive has a higher score than a negative, ties counted half: (sum over bins of p_b (N_below,b
/// + n_b / 2)) / (P N), the Mann-Whitney statistic of the bins (Hanley, McNeil 1982). predictions(...) are scores,
/// targets(...) 0 or 1. lower() and upper() are the AUROC if all pairs in a common bin were lost or won: the value
/// without bins is between them, and the value itself is off by at most sum p_b n_b / (2 P N).
/// Bins: probability_bins<1000> for scores in [0, 1], logit_bins<> for any; more bins narrow the bracket.
/// One class only: reason::single_class, also if that is so on one replica only it is no error there. Never updated:
/// reason::no_samples. Weights must not be negative for the bracket to hold.
/// State, dropped samples, partition law: see binned_scores; 16,008 bytes by default.
template <score_bins Bins = probability_bins<>, class T = float, class Weighting = unweighted>
struct auroc {
    using counters = binned_scores<Bins, T, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = auroc<Bins, T, Other>;

    TALLY_HD static constexpr bracketed finalize(state const& s) {
        return detail::area_under_roc(detail::labels_of(s)).with_dropped(s.dropped.value());
    }
};

/// Rates if all scores in bins from `threshold` on are called positive.
struct roc_point {
    double threshold;
    double false_positive_rate;
    double true_positive_rate;
};

/// The ROC curve: first (0, 0) at threshold +infinity, then a point for each bin that holds a sample, from the highest
/// down to (1, 1). Thresholds are lower edges of bins. One class only: no points, reason::single_class.
/// Shares the state of auroc; the trapezoids under the points add up to its value.
template <score_bins Bins = probability_bins<>, class T = float, class Weighting = unweighted>
struct roc_curve {
    using counters = binned_scores<Bins, T, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = roc_curve<Bins, T, Other>;

    static curve<roc_point> finalize(state const& s) {
        auto const labels = detail::labels_of(s);
        auto const negatives = labels.total(0);
        auto const positives = labels.total(1);
        curve<roc_point> roc{
            {}, detail::why_no_ranking<cell_count_of<Weighting>>(negatives, positives), s.dropped.value()};
        if (roc.why != reason::none) {
            return roc;
        }
        roc.points.push_back({std::numeric_limits<double>::infinity(), 0.0, 0.0});
        double false_positives = 0;
        double true_positives = 0;
        for (std::size_t b = labels.bins; b-- > 0;) {
            if (labels.negatives(b) != 0.0 || labels.positives(b) != 0.0) {
                false_positives += labels.negatives(b);
                true_positives += labels.positives(b);
                roc.points.push_back({Bins::lower(b), false_positives / negatives, true_positives / positives});
            }
        }
        return roc;
    }
};

} // namespace tally
