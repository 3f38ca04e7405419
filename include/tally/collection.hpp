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
    static constexpr bool selects_metric = true;
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
    count samples;      ///< samples that took part
    count masked;       ///< samples left out by mask(...)
    count weights_lost; ///< samples left out because their weight was NaN or infinite
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

template <class N>
inline constexpr bool is_named_v = requires {
    typename N::metric;
    N::name.view();
};

/// What a collection takes a member for. One without a name has been refused; as if named, it causes no other error.
template <class N>
struct entry_of {
    using type = named<"", N>;
};
template <class N>
    requires is_named_v<N>
struct entry_of<N> {
    using type = N;
};

template <class M>
struct entries_of {
    using type = type_list<named<"", M>>;
};
template <class... Named>
struct entries_of<collection<Named...>> {
    static_assert(sizeof...(Named) > 0, "tally: a collection needs at least one metric");
    static constexpr bool all_named = (is_named_v<Named> && ...);
    static_assert(all_named, "tally: a metric of a collection needs a name: collection<named<\"x\", M>, ...>");
    static constexpr bool distinct = !all_named || names_differ<typename entry_of<Named>::type...>();
    static_assert(distinct, "tally: two metrics of a collection have the same name");
    using type = type_list<typename entry_of<Named>::type...>;
};

/// The counters of M, or none for what has no state at all: check_metric has said so.
template <class M>
struct valid_counters {
    using type = type_list<>;
};
template <class M>
    requires requires { typename counters_of<M>::state; }
struct valid_counters<M> {
    using type = type_list<counters_of<M>>;
};

/// Whether a shape such as extents<E...> names the run-time extent Size. What is no such template may name any.
template <class Shape, class Size>
inline constexpr bool names_extent = true;
template <template <class...> class Shape, class... E, class Size>
inline constexpr bool names_extent<Shape<E...>, Size> = (std::is_same_v<E, Size> || ...);

template <class Field, class Size>
inline constexpr bool field_takes = false;
template <class Field, class Size>
    requires is_table_v<Field>
inline constexpr bool field_takes<Field, Size> = names_extent<typename Field::extents_type, Size>;

template <class Fields, class Size>
inline constexpr bool any_field_takes = false;
template <class... F, class Size>
inline constexpr bool any_field_takes<type_list<F...>, Size> = (field_takes<F, Size> || ...);

template <class Counters, class Size>
inline constexpr bool any_takes_extent = false;
template <class... C, class Size>
inline constexpr bool any_takes_extent<type_list<C...>, Size> =
    (any_field_takes<field_types<typename C::state>, Size> || ...);

template <class Entries>
struct plan_of;

/// What an engine and a communicator need to know about a metric or a collection, all of it at compile time.
template <class... Named>
struct plan_of<type_list<Named...>> {
    static constexpr bool valid = (check_metric<typename Named::metric>() && ...);
    static_assert(valid);
    using entries = type_list<Named...>;
    using counters = unique_t<concat_t<typename valid_counters<typename Named::metric>::type...>>;
    template <class M>
    static constexpr std::size_t counter_index = index_of_v<counters, counters_of<M>>;
};

template <class M>
using plan = plan_of<typename entries_of<M>::type>;

/// Whether some table of M has the run-time extent Size.
template <class M, class Size>
inline constexpr bool takes_extent = any_takes_extent<typename plan<M>::counters, Size>;

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
