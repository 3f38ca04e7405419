// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Absolute and signed errors: their means, and the largest one. Metrics; a maximum travels as a maximum.
#pragma once

#include <tally/accumulator/extrema.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/mean_loss.hpp>

#include <cmath>

namespace tally {

/// |prediction - target|
struct absolute_error {
    static constexpr fixed_string name = "absolute_error";
    template <class T>
    TALLY_HD static constexpr T of(T prediction, T target) {
        return std::fabs(prediction - target);
    }
};

/// prediction - target
struct signed_error {
    static constexpr fixed_string name = "signed_error";
    template <class T>
    TALLY_HD static constexpr T of(T prediction, T target) {
        return prediction - target;
    }
};

/// sum(w |prediction - target|) / sum(w); conventions and bytes of mean_loss.
template <class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip, class Weighting = unweighted>
using mean_absolute_error = mean_loss<absolute_error, T, Sum, Nan, Weighting>;

/// Bias, sum(w (prediction - target)) / sum(w): positive if predictions are too high. Conventions and bytes of
/// mean_loss.
template <class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip, class Weighting = unweighted>
using mean_error = mean_loss<signed_error, T, Sum, Nan, Weighting>;

/// max |prediction - target| over all samples, computed in T. Samples whose error is NaN (a NaN on either side, or
/// infinities that cancel) have no order: they are counted as dropped and never win. No data: reason::no_samples.
/// Weighted: samples of weight zero don't take part, others count alike. State: 24 bytes. Partition law: exact.
template <class T = float, class Weighting = unweighted>
struct max_error {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = max_error<T, Other>;

    struct state {
        maximum<T> error;
    };
    TALLY_HD static constexpr auto observe(prediction<T> p, target<T> t) {
        return contribute(absolute_error::of(p.value, t.value));
    }
    TALLY_HD static constexpr result<double> finalize(state const& s) {
        auto const found = s.error.value();
        return (found.has_value() ? result<double>(found.as_double()) : result<double>(found.why()))
            .with_dropped(found.dropped());
    }
};

} // namespace tally
