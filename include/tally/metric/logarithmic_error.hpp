// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Losses with logarithms: squared log error, Poisson loss and log-cosh error. Metrics, built on mean_loss.
#pragma once

#include <tally/config.hpp>
#include <tally/core/exp_log.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/multiply_add.hpp>
#include <tally/metric/mean_loss.hpp>

#include <cmath>
#include <cstddef>
#include <numbers>

namespace tally {

namespace detail {

/// 1 / (2 k)!, the last one for k = 1.
template <class T>
struct cosh_series;
template <>
struct cosh_series<float> {
    static constexpr std::size_t terms = 6;
    static constexpr float polynomial[terms] = {1 / 479001600.0F, 1 / 3628800.0F, 1 / 40320.0F,
                                                1 / 720.0F,       1 / 24.0F,      1 / 2.0F};
};
template <>
struct cosh_series<double> {
    static constexpr std::size_t terms = 9;
    static constexpr double polynomial[terms] = {1 / 6402373705728000.0,
                                                 1 / 20922789888000.0,
                                                 1 / 87178291200.0,
                                                 1 / 479001600.0,
                                                 1 / 3628800.0,
                                                 1 / 40320.0,
                                                 1 / 720.0,
                                                 1 / 24.0,
                                                 1 / 2.0};
};

/// cosh(x) - 1 for 0 <= x <= 1, by its series: a sum of positive numbers, so nothing cancels.
template <class T>
TALLY_HD T cosh_minus_one(T x) {
    T const square = rounded_product(x, x);
    return rounded_product(math::detail::polynomial<cosh_series<T>>(square, any_multiply_add{}), square);
}

} // namespace detail

/// (log(1 + prediction) - log(1 + target))^2; defined above -1
struct squared_log_error {
    static constexpr fixed_string name = "squared_log_error";
    template <class T>
    TALLY_HD static T of(T prediction, T target) {
        T const difference = math::log1p(prediction) - math::log1p(target);
        return detail::rounded_product(difference, difference);
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
        T const loss = detail::multiply_add(-target, math::log(prediction), prediction);
        return target == T{} ? prediction : loss;
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
        T const small = math::log1p(detail::cosh_minus_one(error < T{1} ? error : T{}));
        T const large = error + math::log1p(math::exp(T{-2} * error)) - std::numbers::ln2_v<T>;
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
