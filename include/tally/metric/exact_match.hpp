// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// exact_match: the share of samples of which every label is right. Exact under any partition (integers); the weighted
// form is bounded.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/class_index.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/binary.hpp>
#include <tally/metric/policies.hpp>

#include <cstdint>

namespace tally {

/// The decisions of one row, for exact_match: how many there were, how many were wrong, how many targets were no label.
template <class Threshold, class Labels, class T>
struct row_decisions {
    using prediction_type = T;
    std::int32_t taken = 0;
    std::int32_t wrong = 0;
    std::int32_t bad_labels = 0;

    TALLY_HD constexpr void take(T prediction, class_index truth) {
        auto const d = detail::decide<Threshold, Labels>(prediction, truth);
        taken += static_cast<std::int32_t>(!d.ignored && !d.bad_label);
        wrong += static_cast<std::int32_t>(d.false_positive || d.false_negative);
        bad_labels += static_cast<std::int32_t>(d.bad_label);
    }
};

/// Rows without a wrong decision / rows. update needs matrices predictions(...) and targets(...) of 0 and 1, one row a
/// sample, one column a label. Single-label data needs accuracy instead.
/// A prediction that is NaN is wrong. A row with a target that is neither 0 nor 1 is left out and counted in dropped():
/// whether it matches isn't known. Ignored labels are left out of their row; a row of ignored labels only is left out
/// and counted by ignored(). No samples: reason::no_samples; weights that sum to zero: reason::zero_denominator.
/// State: 32 bytes. threshold<> by default: more than 1/2, as for binary<>.
template <class Threshold = threshold<>, class Labels = labels::all, class T = float, class Weighting = unweighted>
struct exact_match {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = exact_match<Threshold, Labels, T, Other>;

    struct state {
        count_of<Weighting> right;
        count_of<Weighting> samples;
        occurrences bad_rows;
        occurrences ignored_rows;
    };
    TALLY_HD static constexpr auto observe(row_pairs<row_decisions<Threshold, Labels, T>> row) {
        auto const d = row.value;
        bool const bad = d.bad_labels != 0;
        bool const taken = !bad && d.taken != 0;
        return contribute(when(taken && d.wrong == 0, one), when(taken, one), when(bad, one),
                          when(!bad && d.taken == 0, one));
    }
    static auto finalize(state const& s) { return ratio(s.right, s.samples).with_dropped(s.bad_rows.value()); }
    /// Rows of ignored labels only.
    static std::uint64_t ignored(state const& s) { return s.ignored_rows.value(); }
};

} // namespace tally
