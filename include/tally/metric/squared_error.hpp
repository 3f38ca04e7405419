// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Mean squared error and its root. Metrics that share one state, so asking for both costs one update.
#pragma once

#include <tally/config.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/result.hpp>
#include <tally/metric/mean_loss.hpp>

#include <cmath>

namespace tally {

/// (prediction - target)^2
struct squared_error {
    static constexpr fixed_string name = "squared_error";
    template <class T>
    TALLY_HD static constexpr T of(T prediction, T target) {
        return (prediction - target) * (prediction - target);
    }
};

/// sum(w (prediction - target)^2) / sum(w); conventions and bytes of mean_loss.
template <class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip, class Weighting = unweighted>
using mean_squared_error = mean_loss<squared_error, T, Sum, Nan, Weighting>;

/// Square root of the mean squared error of all samples of all replicas, never a mean of roots. The reasons of
/// mean_squared_error; where weights of both signs make it negative: reason::zero_denominator.
template <class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip, class Weighting = unweighted>
struct root_mean_squared_error {
    using counters = mean_squared_error<T, Sum, Nan, Weighting>;
    template <class Other>
    using with_weighting = root_mean_squared_error<T, Sum, Nan, Other>;

    TALLY_HD static result<double> finalize(typename counters::state const& s) {
        auto const mean = counters::finalize(s);
        if (!mean.has_value()) {
            return mean;
        }
        auto const number = mean.as_double();
        return (number < 0.0 ? result<double>(reason::zero_denominator) : result<double>(std::sqrt(number)))
            .with_dropped(mean.dropped());
    }
};

} // namespace tally
