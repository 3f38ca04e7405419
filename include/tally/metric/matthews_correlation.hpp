// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// matthews_correlation: correlation of predicted and true classes, from the counters of a class_source.
// Exact under any partition (integers); the weighted form is bounded.
#pragma once

#include <tally/core/result.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/class_average.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/class_table.hpp>
#include <tally/metric/classes.hpp>
#include <tally/metric/policies.hpp>

#include <cmath>

namespace tally {

/// (tp tn - fp fn) / sqrt((tp + fp)(tp + fn)(tn + fp)(tn + fn)) for two classes, its generalisation R_K for more.
/// Source: classes<> or binary<> (both classes count); its page says the bytes of state. R_K needs the margins and the
/// right predictions only, no confusion matrix. Products are formed in double: in 64-bit integers they would overflow
/// from about 65,000 samples a class on.
/// One side constant (a single class predicted, or a single true class): undefined, reason::zero_denominator by
/// zero_division::skip; zero_division::zero gives the 0 that other tools report. No samples: reason::no_samples.
/// Predictions that are no class count as one class more, which is never right; targets that are none are dropped().
/// B. W. Matthews, Biochimica et Biophysica Acta 405 (1975), 442; J. Gorodkin, Comp. Biol. Chem. 28 (2004), 367.
template <class_source Source = classes<>, class ZeroDivision = zero_division::skip, class Weighting = unweighted>
struct matthews_correlation {
    using table = typename detail::table_source<Source>::type;
    using counters = typename table::template counters<Weighting>;
    template <class Other>
    using with_weighting = matthews_correlation<Source, ZeroDivision, Other>;

    static result<double> finalize(typename counters::state const& s) {
        typename table::template view<Weighting> const view{s};
        auto const m = detail::margins_of(view);
        if (m.total == 0) {
            return result<double>(view.why_no_total()).with_dropped(view.dropped());
        }
        bool const constant = m.predicted_classes < 2 || m.true_classes < 2;
        // sqrt(x x) is x without an error, so perfect predictions give exactly 1.
        auto const below = constant ? 0 : std::sqrt(m.predicted_spread * m.true_spread);
        return detail::divided<ZeroDivision>({m.covariance, below}).with_dropped(view.dropped());
    }
};

} // namespace tally
