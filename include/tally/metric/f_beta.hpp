// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// f_beta and f1: the weighted harmonic mean of precision and recall, from the counters of a class_source.
// Exact under any partition (integers); weighted forms are bounded.
#pragma once

#include <tally/core/weighting.hpp>
#include <tally/metric/class_average.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/classes.hpp>
#include <tally/metric/policies.hpp>

#include <ratio>

namespace tally {

/// (1 + b^2) tp / ((1 + b^2) tp + b^2 fn + fp), b = Beta: recall counts b times as much as precision.
/// From counts, so it exists wherever a class occurs or was predicted: it is 0, not undefined, if nothing was found.
/// Averages are means of the classes' F; the F of averaged precision and recall is another number and not offered.
/// Parameters, their reasons, NaN and bad labels as for precision. State: that of Source, shared with its other
/// metrics. zero_division applies only to binary<> without positive samples and predictions; elsewhere that is an
/// absent class. C. J. van Rijsbergen, Information Retrieval, 1979, chapter 7.
template <class_source Source = classes<>, class Beta = std::ratio<1>, class Average = average::macro,
          class ZeroDivision = zero_division::skip, class Absent = absent::skip, class Weighting = unweighted>
struct f_beta {
    static_assert(Beta::num > 0, "tally: the Beta of f_beta must be a positive std::ratio");
    using counters = typename Source::template counters<Weighting>;
    template <class Other>
    using with_weighting = f_beta<Source, Beta, Average, ZeroDivision, Absent, Other>;

    static auto finalize(typename counters::state const& s) {
        return detail::average_classes<Source, Average, ZeroDivision, Absent, Weighting>(
            s, [](class_outcomes const& c) {
                constexpr double beta = static_cast<double>(Beta::num) / static_cast<double>(Beta::den);
                auto const found = (1 + beta * beta) * c.true_positives;
                return class_ratio{found, found + beta * beta * c.false_negatives + c.false_positives};
            });
    }
};

/// 2 tp / (2 tp + fn + fp): f_beta with Beta = 1. On masks also called the Dice coefficient.
template <class_source Source = classes<>, class Average = average::macro, class ZeroDivision = zero_division::skip,
          class Absent = absent::skip, class Weighting = unweighted>
using f1 = f_beta<Source, std::ratio<1>, Average, ZeroDivision, Absent, Weighting>;

} // namespace tally
