// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Coefficient of determination and explained variance. Metrics that share one counter, kept in terms of errors and
// targets so that nothing cancels: 1 - (a part of the squared errors) / (squared deviations of the targets).
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/metric/policies.hpp>

namespace tally {

/// Counters of r2_score and explained_variance: moments of prediction - target and of the target, in double. (Moments
/// of predictions and targets would do in theory, but the error of a good model is their small difference.) Samples
/// with NaN on either side are left out and counted, or propagate. State: 72 bytes, gathered and merged in rank
/// order.
template <class T, nan_policy Nan, class Weighting>
struct error_moment_counters {
    using weighting = Weighting;
    struct state {
        moments errors;
        moments targets;
        occurrences nans;
    };
    TALLY_HD static constexpr auto observe(prediction<T> p, target<T> t) {
        bool const missing = detail::either_nan(p.value, t.value);
        bool const keep = detail::takes_part<Nan>(missing);
        auto const error = static_cast<double>(p.value) - static_cast<double>(t.value);
        return contribute(when(keep, error), when(keep, t.value), when(missing, one));
    }
};

namespace detail {

/// Sum of squared errors about zero: the deviations from the mean error plus the share of that mean. Both are >= 0.
TALLY_HD constexpr double squared_errors(moments const& errors) {
    return errors.m2() + errors.weight() * errors.mean() * errors.mean();
}

/// 1 - unexplained / m2 of the targets, or why there is none.
TALLY_HD constexpr result<double> explained_share(double unexplained, moments const& targets) {
    if (targets.deposits() < 2) {
        return targets.deposits() == 0 ? reason::no_samples : reason::too_few_samples;
    }
    if (targets.weight() == 0.0) {
        return reason::zero_denominator;
    }
    if (targets.m2() <= 0.0) {
        return reason::no_variance;
    }
    return 1.0 - unexplained / targets.m2();
}

} // namespace detail

/// R2 = 1 - sum(w (p - t)^2) / sum(w (t - mean t)^2): 1 for a perfect model, 0 for the constant mean, negative below
/// that. The mean is that of all samples of all replicas. Constant targets: reason::no_variance, never 0 or 1; one
/// sample: too_few_samples; no data: no_samples; weights that sum to zero: zero_denominator. Otherwise as
/// error_moment_counters. Partition law: bounded.
template <class T = float, nan_policy Nan = nan::skip, class Weighting = unweighted>
struct r2_score {
    using counters = error_moment_counters<T, Nan, Weighting>;
    template <class Other>
    using with_weighting = r2_score<T, Nan, Other>;

    TALLY_HD static constexpr result<double> finalize(typename counters::state const& s) {
        return detail::explained_share(detail::squared_errors(s.errors), s.targets)
            .with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }
};

/// 1 - variance(p - t) / variance(t): R2 that forgives a constant bias. Reasons and conventions of r2_score.
template <class T = float, nan_policy Nan = nan::skip, class Weighting = unweighted>
struct explained_variance {
    using counters = error_moment_counters<T, Nan, Weighting>;
    template <class Other>
    using with_weighting = explained_variance<T, Nan, Other>;

    TALLY_HD static constexpr result<double> finalize(typename counters::state const& s) {
        return detail::explained_share(s.errors.m2(), s.targets).with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }
};

} // namespace tally
