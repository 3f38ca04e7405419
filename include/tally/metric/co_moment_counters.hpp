// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// State and observe of the metrics that are computed from the moments of predictions and targets.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_moments.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/metric/policies.hpp>

namespace tally {

/// Counters of covariance, pearson_correlation and concordance, and of exact r2_score and explained_variance. Samples
/// with NaN on either side are left out and counted, or propagate. State: Moments and 8 bytes. Partition law: that of
/// Moments.
template <class T, class Moments, nan_policy Nan, class Weighting>
struct co_moment_counters {
    using weighting = Weighting;
    struct state {
        moments_of<Moments, Weighting> pairs; ///< predictions are x, targets y
        occurrences nans;
    };
    TALLY_HD static constexpr auto observe(prediction<T> p, target<T> t) {
        bool const missing = detail::either_nan(p.value, t.value);
        return contribute(when(detail::takes_part<Nan>(missing), paired(p.value, t.value)), when(missing, one));
    }
};

} // namespace tally
