// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Variance and standard deviation of values. Metrics that share one counter, so asking for both costs one update.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_moments.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/degrees_of_freedom.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/metric/policies.hpp>

#include <cmath>
#include <cstddef>

namespace tally {

/// Counters of variance and standard_deviation. State: Moments and 8 bytes.
template <class T, class Moments, nan_policy Nan, class Weighting>
struct moment_counters {
    using weighting = Weighting;
    struct state {
        moments_of<Moments, Weighting> values;
        occurrences nans;
    };
    TALLY_HD static constexpr auto observe(value<T> x) {
        bool const missing = detail::is_nan(x.value);
        return contribute(when(detail::takes_part<Nan>(missing), x.value), when(missing, one));
    }
};

/// sum(w (x - mean)^2) / (sum(w) - Ddof). Values that are large beside their spread don't cancel as they do in
/// mean(x^2) - mean(x)^2, and constant data give exactly 0. Ddof = 1 is the unbiased estimate of a sample (default, as
/// in statistics packages), 0 the variance of the data at hand. Moments, the way in which it is computed:
///   exact_moments<float>  default for floats: the exact variance rounded once, the same bits for any split of the
///                         samples, on any engine. State: 280 bytes. Partition law: exact.
///   moments               deviations from running means in double (Chan, Golub, LeVeque 1983): default for other T,
///                         and what takes weights. State: 40 bytes, gathered and merged in rank order. Partition law:
///                         bounded, to about 2^-52 (1 + |mean| / standard deviation) a merge, relatively.
/// Weights mean repetition: a weight of 2 counts as two samples; total weight of Ddof or less: reason::too_few_samples.
/// No data: no_samples; Ddof = 0 and weights that sum to zero: zero_denominator. NaN values are left out and counted as
/// dropped, or propagate; an infinity gives NaN, as inf - inf does.
template <class T = float, std::size_t Ddof = 1, class Moments = default_moments<T>, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
struct variance {
    using counters = moment_counters<T, Moments, Nan, Weighting>;
    template <class Other>
    using with_weighting = variance<T, Ddof, Moments, Nan, Other>;

    TALLY_HD static constexpr result<double> finalize(typename counters::state const& s) {
        auto const why = detail::why_no_freedom(s.values, Ddof);
        return (why == reason::none ? result<double>(s.values.variance(Ddof)) : result<double>(why))
            .with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }
};

/// Square root of variance<T, Ddof>, with its conventions. Shares its state with variance of any Ddof.
template <class T = float, std::size_t Ddof = 1, class Moments = default_moments<T>, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
struct standard_deviation {
    using counters = moment_counters<T, Moments, Nan, Weighting>;
    template <class Other>
    using with_weighting = standard_deviation<T, Ddof, Moments, Nan, Other>;

    TALLY_HD static result<double> finalize(typename counters::state const& s) {
        auto const squared = variance<T, Ddof, Moments, Nan, Weighting>::finalize(s);
        if (!squared.has_value()) {
            return squared;
        }
        return result<double>(std::sqrt(squared.as_double())).with_dropped(squared.dropped());
    }
};

} // namespace tally
