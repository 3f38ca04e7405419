// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Losses with logarithms: squared log error, Poisson loss and log-cosh error. Metrics, built on mean_loss.
#pragma once

#include <tally/config.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/metric/mean_loss.hpp>

#include <cmath>
#include <numbers>

namespace tally {

/// (log(1 + prediction) - log(1 + target))^2; defined above -1
struct squared_log_error {
    static constexpr fixed_string name = "squared_log_error";
    template <class T>
    TALLY_HD static T of(T prediction, T target) {
        T const difference = std::log1p(prediction) - std::log1p(target);
        return difference * difference;
    }
    template <class T>
    TALLY_HD static constexpr bool defined(T prediction, T target) {
        return !(prediction <= T{-1}) && !(target <= T{-1}); // so that NaN is left to the NaN policy
    }
};

/// prediction - target log(prediction), with 0 log(0) = 0; defined for prediction >= 0 and target >= 0
struct poisson_error {
    static constexpr fixed_string name = "poisson_error";
    template <class T>
    TALLY_HD static T of(T prediction, T target) {
        T const product = target * std::log(prediction);
        return target == T{} ? prediction : prediction - product;
    }
    template <class T>
    TALLY_HD static constexpr bool defined(T prediction, T target) {
        return !(prediction < T{}) && !(target < T{});
    }
};

/// log(cosh(prediction - target)), without overflow for large and without cancellation for small differences
struct log_cosh {
    static constexpr fixed_string name = "log_cosh";
    template <class T>
    TALLY_HD static T of(T prediction, T target) {
        T const error = std::fabs(prediction - target);
        T const half_sine = std::sinh(error < T{1} ? error / T{2} : T{});
        T const small = std::log1p(T{2} * half_sine * half_sine); // cosh(x) = 1 + 2 sinh(x / 2)^2
        T const large = error + std::log1p(std::exp(T{-2} * error)) - std::numbers::ln2_v<T>;
        return error < T{1} ? small : large;
    }
};

/// sum(w (log(1 + prediction) - log(1 + target))^2) / sum(w). Samples with a prediction or target of -1 or less are
/// left out and counted in `undefined` and as dropped. Otherwise conventions and bytes of mean_loss.
template <class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip, class Weighting = unweighted>
using mean_squared_log_error = mean_loss<squared_log_error, T, Sum, Nan, Weighting>;

/// sum(w (prediction - target log(prediction))) / sum(w): the negative log-likelihood of Poisson counts without the
/// term log(target!). A prediction of 0 costs nothing if the target is 0, else it is infinite, as IEEE 754 has it (no
/// epsilon inside the log). Negative predictions or targets are left out and counted. Otherwise as mean_loss.
template <class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip, class Weighting = unweighted>
using poisson_loss = mean_loss<poisson_error, T, Sum, Nan, Weighting>;

/// sum(w log(cosh(prediction - target))) / sum(w): squared for small, absolute for large errors. As mean_loss.
template <class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip, class Weighting = unweighted>
using log_cosh_error = mean_loss<log_cosh, T, Sum, Nan, Weighting>;

} // namespace tally
