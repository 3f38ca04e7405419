// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the update of a ranking buffer reads, checked at compile time and before anything is taken; shared by the
// engines.
#pragma once

#include <tally/core/class_index.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/metric.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/type_list.hpp>
#include <tally/core/weighting.hpp>
#include <tally/ranking/ranking_counts.hpp>
#include <tally/update/input_set.hpp>
#include <tally/update/role_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tally::detail {

template <class Weighting>
struct weight_type {
    using type = float; // not used
};
template <class W>
struct weight_type<by_weight<W>> {
    using type = W;
};

template <class Samples, class... Given>
class ranking_inputs {
    using set = input_set<Given...>;
    using roles = roles_of<Samples>;
    using plan = role_plan<type_list<Samples>, set>;
    static_assert(!set::any_matrix,
                  "tally: a ranking buffer takes vectors: call update for each column, on a buffer of its own");

public:
    using prediction_role = at_t<roles, 0>;
    using target_role = at_t<roles, 1>;
    using weight_value = typename weight_type<typename Samples::weighting>::type;
    static constexpr bool weighted = is_weighted_v<typename Samples::weighting>;
    static constexpr bool masked = set::template has<source::mask>;
    static constexpr bool complete = plan::complete && !set::any_matrix;

    /// Number of samples. Throws shape_error.
    static std::size_t check(set const& inputs) {
        if constexpr (complete) {
            plan::check(inputs);
            return inputs.samples();
        } else {
            return 0;
        }
    }
};

/// Throws configuration_error unless a buffer can have this capacity.
inline std::size_t checked_capacity(std::size_t capacity) {
    if (capacity == 0 || capacity > most_ranked) {
        throw configuration_error("the capacity of a ranking buffer must be from 1 to " + std::to_string(most_ranked) +
                                  " samples, got " + std::to_string(capacity));
    }
    return capacity;
}

} // namespace tally::detail
