// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// balanced_accuracy: the mean recall of the classes that have samples, from the counters of a class_source.
// Exact under any partition (integers); the weighted form is bounded.
#pragma once

#include <tally/core/weighting.hpp>
#include <tally/metric/class_average.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/class_table.hpp>
#include <tally/metric/classes.hpp>
#include <tally/metric/policies.hpp>

namespace tally {

/// Mean of tp / (tp + fn) over the classes that have samples: the accuracy if every class had equally many.
/// Source: classes<> or binary<> (both classes count); its page says the bytes of state. For classes<> this is
/// recall<classes<>> with its default policies, offered under the name that people look for.
/// No samples: reason::no_samples. Predictions that are no class are wrong; targets that are none are dropped().
/// K. H. Brodersen et al., ICPR 2010, 3121.
template <class_source Source = classes<>, class Weighting = unweighted>
struct balanced_accuracy {
    using table = typename detail::table_source<Source>::type;
    using counters = typename table::template counters<Weighting>;
    template <class Other>
    using with_weighting = balanced_accuracy<Source, Other>;

    static auto finalize(typename counters::state const& s) {
        return detail::average_classes<table, average::macro, zero_division::skip, absent::skip, Weighting>(
            s, [](class_outcomes const& c) {
                return class_ratio{c.true_positives, c.support()};
            });
    }
};

} // namespace tally
