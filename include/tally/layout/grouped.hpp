// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// grouped<M, Groups>: one state of M for each group (slice, layer, query), in one table. groups(...) says to update
// which group a sample belongs to; groups out of range are counted, never written.
#pragma once

#include <tally/accumulator/cell_state.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/metric.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally {

/// The values of the groups (or columns), in order, and the samples whose group was out of range.
template <class Value>
struct grouped_values {
    std::vector<Value> values;
    std::uint64_t outside;
    [[nodiscard]] Value const& operator[](std::size_t index) const { return values[index]; }
    [[nodiscard]] std::size_t size() const { return values.size(); }
};

namespace detail {

template <class M, class Weighting>
struct reweighted {
    using type = typename M::template with_weighting<Weighting>;
};

/// observe of an indexed metric. A base, so that the roles of M are no part of the metric's name.
template <class M, class Index, class Roles>
struct indexed_observation;
template <class M, class Index, class... Role>
struct indexed_observation<M, Index, type_list<Role...>> {
    TALLY_HD static constexpr auto observe(Index index, Role... role) {
        return contribute(at(static_cast<std::int32_t>(index)).add(counters_of<M>::observe(role...)));
    }
};

/// One state of M for each value of Index, which is a role: the group of a sample, the column of a matrix element.
template <class M, class Extent, class Index>
struct indexed_metric : indexed_observation<M, Index, roles_of<M>> {
    using weighting = tally::weighting_of<M>;
    template <class Other>
    using with_weighting = indexed_metric<typename reweighted<M, Other>::type, Extent, Index>;

    struct state {
        table<cell_state<state_of<M>>, extents<Extent>> cells;
    };
    static auto finalize(state const& s) {
        using value_type = decltype(M::finalize(s.cells(0).state()));
        grouped_values<value_type> result{{}, s.cells.outside()};
        result.values.reserve(s.cells.cells());
        for (std::size_t i = 0; i < s.cells.cells(); ++i) {
            result.values.push_back(M::finalize(s.cells(i).state()));
        }
        return result;
    }
};

} // namespace detail

/// M for each of `Groups` groups, or of num_groups{n} if Groups is `dynamic`. Memory: Groups states of M.
template <class M, std::size_t Groups = dynamic>
using grouped = detail::indexed_metric<M, detail::extent_or<Groups, num_groups>, group_index>;

} // namespace tally
