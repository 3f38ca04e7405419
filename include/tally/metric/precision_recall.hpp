// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// precision, recall and specificity: of binary, multiclass and multilabel decisions, from the counters of a
// class_source. Exact under any partition (integers); weighted forms are bounded.
#pragma once

#include <tally/core/weighting.hpp>
#include <tally/metric/class_average.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/classes.hpp>
#include <tally/metric/policies.hpp>

namespace tally {

/// Of what was predicted as a class, the share that is of it: tp / (tp + fp).
/// Source says what is counted: classes<10>, binary<>, multilabel<5>; its page says the bytes of state.
/// average::macro by default: every class counts alike, and micro would only repeat the accuracy of single-label data.
/// A class that was never predicted has no precision: by zero_division::skip it is left out of averages, not scored 0.
/// A class without samples and predictions is absent::skip: the mean must not fall when Classes is chosen too large.
/// average::weighted weighs the classes that have a value by their samples. No samples: reason::no_samples.
/// NaN predictions count as wrong; targets that are no label are left out and counted in dropped().
/// C. J. van Rijsbergen, Information Retrieval, 1979, chapter 7.
template <class_source Source = classes<>, class Average = average::macro, class ZeroDivision = zero_division::skip,
          class Absent = absent::skip, class Weighting = unweighted>
struct precision {
    using counters = typename Source::template counters<Weighting>;
    template <class Other>
    using with_weighting = precision<Source, Average, ZeroDivision, Absent, Other>;

    static auto finalize(typename counters::state const& s) {
        return detail::average_classes<Source, Average, ZeroDivision, Absent, Weighting>(
            s, [](class_outcomes const& c) {
                return class_ratio{c.true_positives, c.predicted()};
            });
    }
};

/// Of the samples of a class, the share that was found: tp / (tp + fn). Parameters and their reasons as for precision.
/// A class that was predicted but has no samples has no recall: it is left out of averages by zero_division::skip.
/// average::weighted over single-label data is the accuracy.
template <class_source Source = classes<>, class Average = average::macro, class ZeroDivision = zero_division::skip,
          class Absent = absent::skip, class Weighting = unweighted>
struct recall {
    using counters = typename Source::template counters<Weighting>;
    template <class Other>
    using with_weighting = recall<Source, Average, ZeroDivision, Absent, Other>;

    static auto finalize(typename counters::state const& s) {
        return detail::average_classes<Source, Average, ZeroDivision, Absent, Weighting>(
            s, [](class_outcomes const& c) {
                return class_ratio{c.true_positives, c.support()};
            });
    }
};

/// Of the samples that are not of a class, the share that was not predicted as it: tn / (tn + fp). Parameters and their
/// reasons as for precision; a class against the rest. average::micro pools all classes that are not ignored.
template <class_source Source = classes<>, class Average = average::macro, class ZeroDivision = zero_division::skip,
          class Absent = absent::skip, class Weighting = unweighted>
struct specificity {
    using counters = typename Source::template counters<Weighting>;
    template <class Other>
    using with_weighting = specificity<Source, Average, ZeroDivision, Absent, Other>;

    static auto finalize(typename counters::state const& s) {
        return detail::average_classes<Source, Average, ZeroDivision, Absent, Weighting>(
            s, [](class_outcomes const& c) {
                return class_ratio{c.true_negatives, c.true_negatives + c.false_positives};
            });
    }
};

} // namespace tally
