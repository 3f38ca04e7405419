// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// accuracy and hamming_loss: the share of decisions that are right or wrong, for any rule that decides.
// Exact under any partition (integers); weighted forms are bounded.
#pragma once

#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/binary.hpp>
#include <tally/metric/class_average.hpp>
#include <tally/metric/policies.hpp>
#include <tally/metric/top_class.hpp>

namespace tally {

/// Right decisions / decisions. Rule says which decisions are right, and with that which inputs are read:
///
/// | Rule                                 | right if                                               | bytes            |
/// |--------------------------------------|--------------------------------------------------------|------------------|
/// | top_class<> (default)                | the predicted class is the target                      | 32               |
/// | top_k<K, Ties>                       | the target is among the K highest scores               | 40               |
/// | binary<Threshold>                    | prediction above the threshold exactly if target is 1  | 56               |
/// | classes<C>, multilabel<L, Threshold> | as top_class, binary; shares the counters of f1 etc.   | those of Rule    |
///
/// Predictions that are NaN or no class are wrong. Targets that are no label are left out and counted in dropped(),
/// ignored ones by the counters' ignored(). No samples: reason::no_samples; weights that sum to zero:
/// reason::zero_denominator. The macro average that some tools call accuracy is balanced_accuracy.
template <class Rule = top_class<>, class Weighting = unweighted>
struct accuracy {
    using counters = typename Rule::template counters<Weighting>;
    template <class Other>
    using with_weighting = accuracy<Rule, Other>;

    static result<double> finalize(typename counters::state const& s) {
        typename Rule::template view<Weighting> const view{s};
        return detail::share_of_total(view.right(), view);
    }
};

/// Accuracy of a thresholded prediction.
template <class Threshold = threshold<>, class Labels = labels::all, class T = float, class Weighting = unweighted>
using binary_accuracy = accuracy<binary<Threshold, Labels, T>, Weighting>;

/// Share of right elements, over all samples and labels (the Hamming form). The same as binary_accuracy: give matrices
/// as predictions(...) and targets(...). Whole rows are the subject of exact_match.
template <class Threshold = threshold<>, class Labels = labels::all, class T = float, class Weighting = unweighted>
using multilabel_accuracy = binary_accuracy<Threshold, Labels, T, Weighting>;

/// Wrong decisions / decisions: 1 - accuracy<Rule>, with the same counters, rules and treatment of bad data.
/// hamming_loss<binary<>> with matrices is the Hamming loss of multilabel data.
template <class Rule = top_class<>, class Weighting = unweighted>
struct hamming_loss {
    using counters = typename Rule::template counters<Weighting>;
    template <class Other>
    using with_weighting = hamming_loss<Rule, Other>;

    static result<double> finalize(typename counters::state const& s) {
        typename Rule::template view<Weighting> const view{s};
        return detail::share_of_total(view.total() - view.right(), view);
    }
};

} // namespace tally
