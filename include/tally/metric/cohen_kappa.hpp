// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// cohen_kappa: agreement of two labellings beyond chance, from the counters of a class_source.
// Exact under any partition (integers); the weighted form is bounded.
#pragma once

#include <tally/core/result.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/class_average.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/class_table.hpp>
#include <tally/metric/classes.hpp>
#include <tally/metric/policies.hpp>

namespace tally {

/// (po - pe) / (1 - pe), po the share of agreement, pe the one expected from the margins. 1: always right, 0: by
/// chance. Source: classes<> or binary<> (both classes count); its page says the bytes of state. Two raters: give one
/// as predictions(...) and the other as targets(...).
/// Both labellings constant and equal: pe = 1 and kappa is undefined, reason::zero_denominator by zero_division::skip.
/// No samples: reason::no_samples. Predictions that are no class are wrong; targets that are none are dropped().
/// J. Cohen, Educational and Psychological Measurement 20 (1960), 37.
template <class_source Source = classes<>, class ZeroDivision = zero_division::skip, class Weighting = unweighted>
struct cohen_kappa {
    using table = typename detail::table_source<Source>::type;
    using counters = typename table::template counters<Weighting>;
    template <class Other>
    using with_weighting = cohen_kappa<Source, ZeroDivision, Other>;

    static result<double> finalize(typename counters::state const& s) {
        typename table::template view<Weighting> const view{s};
        auto const m = detail::margins_of(view);
        if (m.total == 0) {
            return result<double>(view.why_no_total()).with_dropped(view.dropped());
        }
        // 1 - pe would cancel where one class holds nearly everything; this sum of products doesn't.
        return detail::divided<ZeroDivision>({m.covariance, m.disagreement}).with_dropped(view.dropped());
    }
};

} // namespace tally
