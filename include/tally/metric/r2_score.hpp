// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Coefficient of determination and explained variance. Metrics that share one counter, of exact sums or in terms of
// errors and targets, so that nothing cancels: 1 - (a part of the squared errors) / (squared deviations of the
// targets).
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_moments.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/co_moment_counters.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/metric/policies.hpp>

#include <cstdint>
#include <type_traits>

namespace tally {

/// Counters of r2_score and explained_variance in double: moments of prediction - target and of the target. (Moments of
/// predictions and targets would do only if they were exact: the error of a good model is their small difference.)
/// Samples with NaN on either side are left out and counted, or propagate. State: 72 bytes, gathered and merged in rank
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

/// Exact moments of predictions and targets hold those of the errors as well.
template <class Pairs>
concept holds_errors = requires(Pairs const& pairs) {
    pairs.squared_differences();
    pairs.m2_difference();
};
template <class T, class Moments, nan_policy Nan, class Weighting>
using error_counters =
    std::conditional_t<holds_errors<moments_of<Moments, Weighting>>, co_moment_counters<T, Moments, Nan, Weighting>,
                       error_moment_counters<T, Nan, Weighting>>;

/// What either kind of state says about errors and targets.
struct error_sums {
    double squared_errors;
    double error_deviations; ///< squared, from the mean error
    double target_deviations;
    double weight;
    std::uint64_t deposits;

    /// 1 - unexplained / target_deviations, or why there is none.
    [[nodiscard]] TALLY_HD constexpr result<double> explained_share(double unexplained) const {
        if (deposits < 2) {
            return deposits == 0 ? reason::no_samples : reason::too_few_samples;
        }
        if (weight == 0.0) {
            return reason::zero_denominator;
        }
        if (target_deviations <= 0.0) {
            return reason::no_variance;
        }
        return 1.0 - unexplained / target_deviations;
    }
};
template <class State>
TALLY_HD constexpr error_sums error_sums_of(State const& s) {
    if constexpr (requires { s.pairs; }) {
        auto const& p = s.pairs;
        return {p.squared_differences(), p.m2_difference(), p.m2_y(), p.weight(), p.deposits()};
    } else {
        return {squared_errors(s.errors), s.errors.m2(), s.targets.m2(), s.targets.weight(), s.targets.deposits()};
    }
}

} // namespace detail

/// R2 = 1 - sum(w (p - t)^2) / sum(w (t - mean t)^2): 1 for a perfect model, 0 for the constant mean, negative below
/// that. The mean is that of all samples of all replicas. Constant targets: reason::no_variance, never 0 or 1; one
/// sample: too_few_samples; no data: no_samples; weights that sum to zero: zero_denominator. Moments:
///   exact_co_moments<float>  default for floats: both sums are exact and rounded once, the same bits for any split of
///                            the samples, on any engine; the state is that of covariance, 712 bytes. Partition law:
///                            exact.
///   co_moments               error_moment_counters, in double: default for other T, and what takes weights. Partition
///                            law: bounded.
template <class T = float, class Moments = default_co_moments<T>, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
struct r2_score {
    using counters = detail::error_counters<T, Moments, Nan, Weighting>;
    template <class Other>
    using with_weighting = r2_score<T, Moments, Nan, Other>;

    TALLY_HD static constexpr result<double> finalize(typename counters::state const& s) {
        auto const sums = detail::error_sums_of(s);
        return sums.explained_share(sums.squared_errors).with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }
};

/// 1 - variance(p - t) / variance(t): R2 that forgives a constant bias. Reasons and conventions of r2_score.
template <class T = float, class Moments = default_co_moments<T>, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
struct explained_variance {
    using counters = detail::error_counters<T, Moments, Nan, Weighting>;
    template <class Other>
    using with_weighting = explained_variance<T, Moments, Nan, Other>;

    TALLY_HD static constexpr result<double> finalize(typename counters::state const& s) {
        auto const sums = detail::error_sums_of(s);
        return sums.explained_share(sums.error_deviations).with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }
};

} // namespace tally
