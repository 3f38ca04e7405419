// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// jaccard: intersection over union of predicted and true samples of a class, from the counters of a class_source.
// Exact under any partition (integers); weighted forms are bounded.
#pragma once

#include <tally/core/weighting.hpp>
#include <tally/metric/class_average.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/classes.hpp>
#include <tally/metric/policies.hpp>

namespace tally {

/// tp / (tp + fp + fn). With classes<C> and the default average::macro this is the mean IoU of semantic segmentation
/// over all pixels of all images (not a mean over images); a void label is classes<C, labels::ignore<255>>.
/// jaccard<two_classes<>> is the mean IoU of background and foreground. A class that occurs or was predicted always has
/// an IoU; one that does neither is absent::skip: neither 0 nor 1 would say anything about the model.
/// Parameters, their reasons, NaN and bad labels as for precision. State: that of Source, shared with its other
/// metrics. P. Jaccard, Bulletin de la Societe vaudoise des sciences naturelles 37 (1901), 547.
template <class_source Source = classes<>, class Average = average::macro, class ZeroDivision = zero_division::skip,
          class Absent = absent::skip, class Weighting = unweighted>
struct jaccard {
    using counters = typename Source::template counters<Weighting>;
    template <class Other>
    using with_weighting = jaccard<Source, Average, ZeroDivision, Absent, Other>;

    static auto finalize(typename counters::state const& s) {
        return detail::average_classes<Source, Average, ZeroDivision, Absent, Weighting>(
            s, [](class_outcomes const& c) {
                return class_ratio{c.true_positives, c.true_positives + c.false_positives + c.false_negatives};
            });
    }
};

} // namespace tally
