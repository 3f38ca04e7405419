// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A collection: several named metrics, updated by one pass over the inputs and combined by one message.
// Metrics that use the same counters (by type, never by value) share one state.
#pragma once

#include <tally/core/fixed_string.hpp>
#include <tally/core/metric.hpp>
#include <tally/core/type_list.hpp>
#include <tally/core/type_name.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace tally {

/// A metric and the name under which a collection offers and logs it.
template <fixed_string Name, class M>
struct named {
    static constexpr auto name = Name;
    using metric = M;
};

template <class... Named>
struct collection {};

/// Selects a metric of a collection: result["loss"_metric], or result[metric_name<"loss">{}].
template <fixed_string Name>
struct metric_name {
    static constexpr auto name = Name;
};

inline namespace literals {

template <fixed_string Name>
constexpr auto operator""_metric() {
    return metric_name<Name>{};
}

} // namespace literals

namespace detail {

/// What a tracker does itself: how much it saw. Travels in the same message as the metrics.
struct bookkeeping {
    count samples;       ///< samples that took part
    count masked;        ///< samples left out by mask(...)
    count weights_lost;  ///< samples left out because their weight was NaN or infinite
};

template <class... Named>
consteval bool names_differ() {
    std::string_view const names[] = {Named::name.view()..., std::string_view{}};
    for (std::size_t i = 0; i < sizeof...(Named); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (names[i] == names[j]) {
                return false;
            }
        }
    }
    return true;
}

template <class M>
struct entries_of {
    using type = type_list<named<"", M>>;
};
template <class... Named>
struct entries_of<collection<Named...>> {
    static_assert(sizeof...(Named) > 0, "tally: a collection needs at least one metric");
    static_assert(names_differ<Named...>(), "tally: two metrics of a collection have the same name");
    using type = type_list<Named...>;
};

template <class Entries>
struct plan_of;

/// What an engine and a communicator need to know about a metric or a collection, all of it at compile time.
template <class... Named>
struct plan_of<type_list<Named...>> {
    static_assert((check_metric<typename Named::metric>() && ...));
    using entries = type_list<Named...>;
    using counters = unique_t<type_list<counters_of<typename Named::metric>...>>;
    template <class M>
    static constexpr std::size_t counter_index = index_of_v<counters, counters_of<M>>;
};

template <class M>
using plan = plan_of<typename entries_of<M>::type>;

template <class M>
inline constexpr bool is_collection_v = false;
template <class... Named>
inline constexpr bool is_collection_v<collection<Named...>> = true;

/// The metric of a collection with this name, as named<...>, or void.
template <fixed_string Name, class... Named>
consteval std::size_t find_name(type_list<Named...>) {
    std::size_t index = 0;
    bool found = false;
    (void)((found = Named::name == Name, index += found ? 0U : 1U, found) || ...);
    return index;
}

} // namespace detail
} // namespace tally
