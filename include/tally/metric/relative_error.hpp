// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Errors relative to the target: mean absolute percentage error, its symmetric and its weighted form. Metrics. No
// epsilon stands in a denominator: one tiny target would otherwise outweigh all others.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/mean_loss.hpp>
#include <tally/metric/nan_handling.hpp>

#include <cmath>
#include <concepts>

namespace tally {

/// Samples whose relative error divides by zero.
namespace zero_target {

/// The sample is left out and counted as dropped.
struct skip {
    static constexpr fixed_string name = "zero_target::skip";
};
/// An exact prediction counts as an error of 0, any other as infinite: the limit of ever smaller targets.
struct limit {
    static constexpr fixed_string name = "zero_target::limit";
};

} // namespace zero_target

/// |prediction - target| / |target|
template <class Zero>
struct absolute_percentage_error {
    template <class T>
    TALLY_HD static constexpr T of(T prediction, T target) {
        T const error = std::fabs(prediction - target);
        T const quotient = error / std::fabs(target);
        return target != T{} || error > T{} ? quotient : error; // error / 0 is infinite; only 0 / 0 is not the limit
    }
    template <class T>
        requires std::same_as<Zero, zero_target::skip>
    TALLY_HD static constexpr bool defined(T, T target) {
        return target != T{};
    }
};

/// 2 |prediction - target| / (|prediction| + |target|), which lies in [0, 2]
template <class Zero>
struct symmetric_percentage_error {
    template <class T>
    TALLY_HD static constexpr T of(T prediction, T target) {
        T const size = std::fabs(prediction) + std::fabs(target);
        T const quotient = T{2} * std::fabs(prediction - target) / size;
        return size != T{} ? quotient : T{}; // also the limit: both are zero, so the prediction is exact
    }
    template <class T>
        requires std::same_as<Zero, zero_target::skip>
    TALLY_HD static constexpr bool defined(T prediction, T target) {
        return prediction != T{} || target != T{};
    }
};

/// sum(w |prediction - target| / |target|) / sum(w): a fraction, not multiplied by 100. Targets of exactly zero have no
/// relative error: by default they are left out and counted in `undefined` and as dropped; zero_target::limit counts
/// them as 0 or infinite. Otherwise conventions and bytes of mean_loss.
template <class T = float, class Sum = default_sum<T>, class Zero = zero_target::skip, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
using mean_absolute_percentage_error = mean_loss<absolute_percentage_error<Zero>, T, Sum, Nan, Weighting>;

/// sum(w 2 |prediction - target| / (|prediction| + |target|)) / sum(w), in [0, 2]. Samples with both exactly zero are
/// 0/0: by default left out and counted, with zero_target::limit an error of 0. Otherwise conventions and bytes of
/// mean_loss.
template <class T = float, class Sum = default_sum<T>, class Zero = zero_target::skip, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
using symmetric_mean_absolute_percentage_error = mean_loss<symmetric_percentage_error<Zero>, T, Sum, Nan, Weighting>;

/// sum(w |prediction - target|) / sum(w |target|): a quotient of sums, so zero targets take part as they are. NaN is
/// left out and counted as dropped, or propagates. No data: reason::no_samples; all targets zero: zero_denominator.
/// State: 16 bytes and two of Sum. Partition law: that of Sum.
template <class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip, class Weighting = unweighted>
struct weighted_mean_absolute_percentage_error {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = weighted_mean_absolute_percentage_error<T, Sum, Nan, Other>;

    struct state {
        total_of<Sum, Weighting> errors;
        total_of<Sum, Weighting> targets;
        occurrences samples;
        occurrences nans;
    };
    TALLY_HD static constexpr auto observe(prediction<T> p, target<T> t) {
        bool const missing = detail::either_nan(p.value, t.value);
        bool const keep = detail::takes_part<Nan>(missing);
        return contribute(when(keep, std::fabs(p.value - t.value)), when(keep, std::fabs(t.value)), when(keep, one),
                          when(missing, one));
    }
    TALLY_HD static constexpr result<double> finalize(state const& s) {
        auto const share = s.samples.value() == 0 ? result<double>(reason::no_samples) : ratio(s.errors, s.targets);
        return share.with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }
};

} // namespace tally
