// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The class_source concept: what the metrics of classification are computed from. It says which inputs are read, which
// counters are kept (shared by all metrics with the same source) and how they look as one-vs-rest tables.
//
// | expression                      | returns         | meaning                                                       |
// |---------------------------------|-----------------|---------------------------------------------------------------|
// | S::counters<Weighting>          | type            | state and observe                                             |
// | S::view<Weighting>(state)       | view            | reads a state; O(classes)                                     |
// | S::absent_applies               | bool            | a class without samples and predictions is left to the policy |
// | S::table                        | source or void  | the source whose classes cover every sample exactly once      |
// | v.size()                        | std::size_t     | classes that are reported                                     |
// | v.takes_part(k)                 | bool            | false for the ignored label                                   |
// | v.outcomes(k)                   | class_outcomes  | class k against the rest                                      |
// | v.pooled()                      | class_outcomes  | all classes together, for average::micro                      |
// | v.right(), v.total()            | double          | decisions that were right, and all decisions                  |
// | v.dropped()                     | std::uint64_t   | decisions left out because their target is no label           |
// | only if S::table is a source    |                 |                                                               |
// | v.unclassified()                | double          | wrong predictions that are none of the classes                |
//
// Models: classes<Classes, Labels>, binary<Threshold, Labels, T>, two_classes<Threshold, Labels, T>,
// multilabel<Count, Threshold, Labels, T>.
#pragma once

#include <tally/core/result.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/table.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tally {

/// Samples (or their weights) of one class against the rest.
struct class_outcomes {
    double true_positives = 0;
    double false_positives = 0;
    double false_negatives = 0;
    double true_negatives = 0;

    [[nodiscard]] constexpr double support() const { return true_positives + false_negatives; }
    [[nodiscard]] constexpr double predicted() const { return true_positives + false_positives; }
    /// Neither a sample nor a prediction.
    [[nodiscard]] constexpr bool absent() const {
        return true_positives == 0 && false_positives == 0 && false_negatives == 0;
    }
};

template <class S>
concept class_source = requires(typename S::template view<unweighted> const& v, std::size_t k) {
    typename S::template counters<unweighted>::state;
    typename S::table;
    { S::absent_applies } -> std::convertible_to<bool>;
    { v.size() } -> std::same_as<std::size_t>;
    { v.takes_part(k) } -> std::same_as<bool>;
    { v.outcomes(k) } -> std::same_as<class_outcomes>;
    { v.pooled() } -> std::same_as<class_outcomes>;
    { v.right() } -> std::same_as<double>;
    { v.total() } -> std::same_as<double>;
    { v.dropped() } -> std::same_as<std::uint64_t>;
};

namespace detail {

/// Deposits in counters, whatever their weights.
template <class Counter>
std::uint64_t deposits_in(Counter const& counter) {
    if constexpr (is_table_v<Counter>) {
        std::uint64_t deposits = 0;
        for (std::size_t i = 0; i < counter.cells(); ++i) {
            deposits += deposits_in(counter.data()[i]);
        }
        return deposits;
    } else if constexpr (requires { counter.deposits(); }) {
        return counter.deposits();
    } else {
        return counter.value();
    }
}

/// Why the total of these counters is zero: no decision, or weights that sum to zero.
template <class... Counter>
reason why_no_total(Counter const&... counters) {
    return (deposits_in(counters) + ...) == 0 ? reason::no_samples : reason::zero_denominator;
}

} // namespace detail
} // namespace tally
