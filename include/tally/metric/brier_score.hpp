// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Brier score (Brier 1950): mean squared distance between predicted probabilities and what happened. A proper score.
// brier_score is the form for yes/no predictions, multiclass_brier_score the one for class probabilities.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/multiply_add.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/policies.hpp>

namespace tally {

/// Mean of (p - y)^2, from predictions(...), the probability of class 1, and targets(...), 0 or 1; range [0, 1], 0 is
/// best. Dropped and counted: NaN, probabilities outside [0, 1] (never clamped), labels other than 0 and 1.
/// No data: reason::no_samples. Weights that sum to zero: reason::zero_denominator.
/// State: 16 bytes and Sum. Partition law: that of Sum.
template <class T = float, class Sum = default_sum<T>, class Weighting = unweighted>
struct brier_score {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = brier_score<T, Sum, Other>;

    struct state {
        total_of<Sum, Weighting> total;
        count_of<Weighting> samples;
        occurrences dropped;
    };
    TALLY_HD static constexpr auto observe(prediction<T> p, target<class_index> label) {
        bool const valid = p.value >= T{0} && p.value <= T{1} && (label == 0 || label == 1);
        T const error = p.value - static_cast<T>(label.value.value);
        return contribute(when(valid, error * error), when(valid, one), when(!valid, one));
    }
    TALLY_HD static constexpr auto finalize(state const& s) {
        return ratio(s.total, s.samples).with_dropped(s.dropped.value());
    }
};

/// Mean over the samples of sum over the classes of (p_c - [c is true])^2; range [0, 2], 0 is best. This is Brier's own
/// definition: for two classes it is twice brier_score. From scores(...) by softmax, or probabilities(...) as they are.
/// Computed as (1 - p_true)^2 + (sum p^2 - p_true^2): in float within some 1e-7 of the true value.
/// Dropped and counted: a NaN in the row, a label out of range, a target probability outside [0, 1]. `ignored` samples
/// are those with the label of labels::ignore. No data and zero weight as in brier_score.
/// State: 24 bytes and Sum. Partition law: that of Sum. RowSums: how the softmax is rounded, row_sums::reproducible or
/// row_sums::fast.
template <class T = float, class Sum = default_sum<T>, class Weighting = unweighted, class Labels = labels::all,
          class RowSums = row_sums::reproducible>
struct multiclass_brier_score {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = multiclass_brier_score<T, Sum, Other, Labels, RowSums>;

    struct state {
        total_of<Sum, Weighting> total;
        count_of<Weighting> samples;
        occurrences dropped;
        occurrences ignored;
    };
    TALLY_HD static auto observe(squared_probabilities<T, RowSums> squares, target_probability<T, RowSums> p,
                                 target<class_index> label) {
        bool const ignored = Labels::ignores(label);
        bool const valid = !ignored && p.value >= T{0} && p.value <= T{1} && squares.value <= detail::highest_of<T>;
        // A sum of squares: what is below zero is rounding.
        T const missing = T{1} - p.value;
        T const others = detail::multiply_add(-p.value, p.value, squares.value);
        T const error = detail::multiply_add(missing, missing, others > T{0} ? others : T{0});
        return contribute(when(valid, error), when(valid, one), when(!ignored && !valid, one), when(ignored, one));
    }
    TALLY_HD static constexpr auto finalize(state const& s) {
        return ratio(s.total, s.samples).with_dropped(s.dropped.value());
    }
};

} // namespace tally
