// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What an update has to load and compute, found at compile time from the counters and the inputs given: which counters
// take rows and which take matrix elements, the union of the roles and of the row features. The engines share it.
#pragma once

#include <tally/core/metric.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/type_list.hpp>
#include <tally/update/input_set.hpp>
#include <tally/update/require_fit.hpp>
#include <tally/update/row_values.hpp>

#include <type_traits>

namespace tally::detail {

template <class R, class Inputs>
inline constexpr bool from_matrix = [] {
    if constexpr (R::kind == role_kind::cell) {
        return true;
    } else if constexpr (is_element<R, Inputs>) {
        return Inputs::template is_matrix<typename source_of<R>::type>;
    } else {
        return false;
    }
}();

template <class C, class Inputs>
inline constexpr bool samples_are_cells =
    []<class... R>(type_list<R...>) { return (from_matrix<R, Inputs> || ...); }(roles_of<C>{});

/// Keeps the types T of a list for which Predicate<T>::value.
template <template <class> class Predicate, class... T>
using filter_t = concat_t<std::conditional_t<Predicate<T>::value, type_list<T>, type_list<>>...>;

template <class Counters, class Inputs>
struct role_plan;

template <class... C, class Inputs>
struct role_plan<type_list<C...>, Inputs> {
    using all_roles = unique_t<concat_t<all_roles_of<C>...>>;

    template <class T>
    using is_cell_counter = std::bool_constant<samples_are_cells<T, Inputs>>;
    template <class T>
    using is_row_counter = std::bool_constant<!samples_are_cells<T, Inputs>>;
    using cell_counters = filter_t<is_cell_counter, C...>;
    using row_counters = filter_t<is_row_counter, C...>;

    static constexpr bool from_scores = Inputs::template has<source::scores>;
    static constexpr bool any_target_needed = []<class... R>(type_list<R...>) {
        return (needs_target<R> || ...);
    }(all_roles{});
    static constexpr bool any_row_role = []<class... R>(type_list<R...>) {
        return ((R::kind == role_kind::row && !is_element<R, Inputs>) || ...);
    }(all_roles{});
    static constexpr unsigned row_needs = []<class... R>(type_list<R...>) {
        return ((is_element<R, Inputs> ? 0U : needs_of_role<from_scores, R>) | ... | 0U);
    }(all_roles{});
    static constexpr bool uses_rows =
        any_row_role || []<class... R>(type_list<R...>) { return (needs_class_probability<R> || ...); }(all_roles{});

    template <class R>
    using is_row_slot = std::bool_constant<!from_matrix<R, Inputs>>;
    template <class List>
    struct row_slot_roles;
    template <class... R>
    struct row_slot_roles<type_list<R...>> {
        using type = filter_t<is_row_slot, R...>;
    };
    /// Roles with one value a row.
    using sample_roles =
        unique_t<concat_t<typename row_slot_roles<all_roles>::type,
                          std::conditional_t<any_target_needed, type_list<target<class_index>>, type_list<>>>>;
    template <class List>
    struct roles_of_counters;
    template <class... K>
    struct roles_of_counters<type_list<K...>> {
        using type = unique_t<concat_t<all_roles_of<K>...>>;
    };
    /// Roles of the metrics whose samples are matrix elements.
    using cell_roles = typename roles_of_counters<cell_counters>::type;
    static constexpr bool complete = role_check<Inputs, all_roles>::run(typename Inputs::sources{});

    /// Throws shape_error for elements that don't fit; must not be called unless complete.
    static void check(Inputs const& inputs) {
        check_elements(inputs, all_roles{});
        if constexpr (uses_rows) {
            using rows = typename Inputs::row_source;
            require_fit<double>(inputs.template view<rows>(), rows::call.text);
        }
    }

private:
    template <class... R>
    static void check_elements(Inputs const& inputs, type_list<R...>) {
        (check_element<R>(inputs), ...);
    }
    template <class R>
    static void check_element(Inputs const& inputs) {
        if constexpr (is_element<R, Inputs>) {
            using wanted = typename source_of<R>::type;
            if constexpr (Inputs::template has<wanted>) {
                auto const& view = inputs.template view<wanted>();
                require_fit<typename R::value_type, wanted>(view, wanted::call.text);
                if constexpr (std::is_same_v<R, predicted_class>) {
                    require_labels(view);
                }
            }
        }
        if constexpr (R::kind == role_kind::pairs) {
            require_fit<typename R::value_type::prediction_type>(inputs.template view<source::predictions>(),
                                                                 source::predictions::call.text);
            require_fit<class_index>(inputs.template view<source::targets>(), source::targets::call.text);
        }
        if constexpr (needs_target<R> && Inputs::template has<source::targets>) {
            static_assert(!Inputs::template is_matrix<source::targets>,
                          "tally: with scores, targets(...) must hold one label a row");
        }
    }
};

} // namespace tally::detail
