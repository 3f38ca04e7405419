// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How a formula on one-vs-rest counts becomes a result: averaged over classes by policy, with the policies for classes
// that are absent and for denominators that are zero. One piece of code for precision, recall, F, Jaccard and the like.
#pragma once

#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/policies.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tally {

/// What a formula says about one class: numerator / denominator.
struct class_ratio {
    double numerator;
    double denominator;
};

namespace detail {

/// part / total of a source's decisions, with what was dropped.
template <class View>
result<double> share_of_total(double part, View const& view) {
    auto const total = view.total();
    auto const share = total == 0 ? result<double>(view.why_no_total()) : result<double>(part / total);
    return share.with_dropped(view.dropped());
}

/// The value that a policy stands for, or the reason of a policy without one.
template <class Policy>
constexpr result<double> policy_value(reason why) {
    if constexpr (requires { Policy::value; }) {
        return Policy::value;
    } else {
        return why;
    }
}

template <class ZeroDivision>
constexpr result<double> divided(class_ratio r) {
    if (r.denominator == 0) {
        return policy_value<ZeroDivision>(reason::zero_denominator);
    }
    return r.numerator / r.denominator;
}

/// Formula of class k. A class that neither occurs nor was predicted is left to the policy Absent.
template <class Source, class ZeroDivision, class Absent, class View, class Formula>
result<double> value_of_class(View const& view, std::size_t k, Formula formula) {
    auto const counts = view.outcomes(k);
    if (!view.takes_part(k)) {
        return reason::absent_class;
    }
    if (Source::absent_applies && counts.absent()) {
        return policy_value<Absent>(reason::absent_class);
    }
    return divided<ZeroDivision>(formula(counts));
}

/// Mean of the classes that have a value: by their samples for average::weighted, else each class alike.
template <class Source, class Average, class ZeroDivision, class Absent, class View, class Formula>
result<double> mean_of_classes(View const& view, Formula formula) {
    double total = 0;
    double below = 0;
    for (std::size_t k = 0; k < view.size(); ++k) {
        auto const value = value_of_class<Source, ZeroDivision, Absent>(view, k, formula);
        if (value.has_value()) {
            auto const share = std::is_same_v<Average, average::weighted> ? view.outcomes(k).support() : 1.0;
            total += share * value.value_or(0);
            below += share;
        }
    }
    if (below == 0) {
        return reason::zero_denominator;
    }
    return total / below;
}

/// A std::vector of results for average::none, one result otherwise. Without samples: reason::no_samples, whatever the
/// policies say. O(classes).
template <class Source, class Average, class ZeroDivision, class Absent, class Weighting, class State, class Formula>
auto average_classes(State const& state, Formula formula) {
    typename Source::template view<Weighting> const view{state};
    bool const empty = view.total() == 0;
    if constexpr (std::is_same_v<Average, average::none>) {
        std::vector<result<double>> values;
        values.reserve(view.size());
        for (std::size_t k = 0; k < view.size(); ++k) {
            auto const value = empty ? result<double>(view.why_no_total())
                                     : value_of_class<Source, ZeroDivision, Absent>(view, k, formula);
            values.push_back(value.with_dropped(view.dropped()));
        }
        return values;
    } else {
        if (empty) {
            return result<double>(view.why_no_total()).with_dropped(view.dropped());
        }
        if constexpr (std::is_same_v<Average, average::micro>) {
            return divided<ZeroDivision>(formula(view.pooled())).with_dropped(view.dropped());
        } else {
            return mean_of_classes<Source, Average, ZeroDivision, Absent>(view, formula).with_dropped(view.dropped());
        }
    }
}

} // namespace detail
} // namespace tally
