// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Average precision (area under the precision-recall curve as a step function) of yes/no predictions, and the curve
// itself, from scores in bins. They share the state of auroc.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/result.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/auroc.hpp>
#include <tally/metric/binned_scores.hpp>
#include <tally/metric/bracketed.hpp>
#include <tally/metric/score_bins.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace tally {

namespace detail {

/// Least sum of precisions that p positives of a bin can have, `above` positives and no `negatives` more than these
/// being ranked before them: sum over j = 1 ... p of f(above + j), f(x) = x / (x + negatives), which is what they have
/// if all negatives of the bin come first. f is concave, so the sum of many terms is at least the integral over
/// [above + 1/2, above + p + 1/2]. Weighted positives can be split at will: the limit is the integral over [above,
/// above + p].
template <class Counter>
TALLY_HD double least_precision(double above, double negatives, double p) {
    if (negatives == 0.0) {
        return p;
    }
    if constexpr (std::is_same_v<Counter, count>) {
        if (p <= 64.0) {
            double precision = 0;
            for (double j = 1; j <= p; ++j) {
                precision += (above + j) / (above + j + negatives);
            }
            return precision;
        }
        above += 0.5;
    }
    return p - negatives * std::log1p(p / (above + negatives));
}

template <class Labels>
TALLY_HD bracketed average_precision_of(Labels const& labels) {
    using counter = typename Labels::counter;
    double true_positives = 0;
    double false_positives = 0;
    double tied = 0;
    double least = 0;
    double most = 0;
    for (std::size_t b = labels.bins; b-- > 0;) {
        auto const n = labels.negatives(b);
        auto const p = labels.positives(b);
        if (p != 0.0) {
            auto const found = true_positives + p;
            tied += p * (found / (found + false_positives + n));
            most += p * (found / (found + false_positives));
            least += least_precision<counter>(true_positives, false_positives + n, p);
        }
        true_positives += p;
        false_positives += n;
    }
    if (true_positives == 0.0) {
        return why_no_ranking<counter>(false_positives, true_positives);
    }
    return {tied / true_positives, least / true_positives, most / true_positives};
}

} // namespace detail

/// sum over thresholds, from the highest, of (R_i - R_(i-1)) P_i, with precision P and recall R at a threshold: no
/// interpolation between points, as in scikit-learn. Thresholds are the bins: scores in a common bin count as tied.
/// The bracket: a bin holds p positives and n negatives after A positives and B negatives of higher bins. Whatever
/// their order, the precision at each of the positives is at most (A + p) / (A + p + B), reached if they are tied ahead
/// of the negatives, and at the j-th of them at least (A + j) / (A + j + B + n), reached if the negatives come first.
/// upper() and lower() add these up; the value without bins is between them.
/// All positive: 1. No positives: reason::single_class, recall has no meaning. Never updated: reason::no_samples.
/// Bins, weights, dropped samples, state: see auroc and binned_scores.
template <score_bins Bins = probability_bins<>, class T = float, class Weighting = unweighted>
struct average_precision {
    using counters = binned_scores<Bins, T, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = average_precision<Bins, T, Other>;

    TALLY_HD static bracketed finalize(state const& s) {
        return detail::average_precision_of(detail::labels_of(s)).with_dropped(s.dropped.value());
    }
};

/// Precision and recall if all scores in bins from `threshold` on are called positive.
struct precision_recall_point {
    double threshold;
    double precision;
    double recall;
};

/// The precision-recall curve: a point for each bin that holds a sample, from the lowest (recall 1) up, and last
/// (precision 1, recall 0) at threshold +infinity. No positives: no points, reason::single_class.
template <score_bins Bins = probability_bins<>, class T = float, class Weighting = unweighted>
struct precision_recall_curve {
    using counters = binned_scores<Bins, T, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = precision_recall_curve<Bins, T, Other>;

    static curve<precision_recall_point> finalize(state const& s) {
        auto const labels = detail::labels_of(s);
        auto const positives = labels.total(1);
        curve<precision_recall_point> points{{}, reason::none, s.dropped.value()};
        if (positives == 0.0) {
            points.why = detail::why_no_ranking<cell_count_of<Weighting>>(labels.total(0), positives);
            return points;
        }
        double false_positives = 0;
        double true_positives = 0;
        points.points.push_back({std::numeric_limits<double>::infinity(), 1.0, 0.0});
        for (std::size_t b = labels.bins; b-- > 0;) {
            if (labels.negatives(b) != 0.0 || labels.positives(b) != 0.0) {
                false_positives += labels.negatives(b);
                true_positives += labels.positives(b);
                points.points.push_back(
                    {Bins::lower(b), true_positives / (true_positives + false_positives), true_positives / positives});
            }
        }
        std::reverse(points.points.begin(), points.points.end());
        return points;
    }
};

} // namespace tally
