// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The metric concept. A metric is a struct of
//
// | member                          | meaning                                                                         |
// |---------------------------------|---------------------------------------------------------------------------------|
// | struct state                    | aggregate of accumulators and tables, trivially copyable                        |
// | static auto observe(roles...)   | pure: what one sample contributes; returns contribute(...), one entry a field   |
// | static auto finalize(state c&)  | turns the combined state into a value; usually result<double>                   |
// | optional                        |                                                                                 |
// | using counters = C              | takes state and observe from C; all metrics of a collection with the same C     |
// |                                 | share one state and are updated once                                            |
// | using weighting = by_weight<T>  | samples count by weights(...)                                                   |
// | static constexpr fixed_string   | name for messages, logs and the layout hash                                     |
// |   name                          |                                                                                 |
//
// What is wrong with a metric is said by check_metric, one sentence for each requirement.
#pragma once

#include <tally/core/accumulator.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fields.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/type_list.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/table.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tally {

namespace detail {

template <class M>
struct counters_of_impl {
    using type = M;
};
template <class M>
    requires requires { typename M::counters; }
struct counters_of_impl<M> {
    using type = typename M::counters;
};

template <class F>
struct signature;
template <class Result, class... Arguments>
struct signature<Result (*)(Arguments...)> {
    using result = Result;
    using roles = type_list<std::remove_cvref_t<Arguments>...>;
};
template <class Result, class... Arguments>
struct signature<Result (*)(Arguments...) noexcept> : signature<Result (*)(Arguments...)> {};

template <class C>
concept has_observe = requires { typename signature<decltype(&C::observe)>::result; };

template <class F>
concept state_field = is_table_v<F> || accumulator<F>;

template <class Field, class X>
inline constexpr bool takes = accepts<Field, typename kept<X>::type>;
template <class Field>
inline constexpr bool takes<Field, nothing_t> = true;

template <class Field, class X, class Weighting>
inline constexpr bool takes_weighted = true;
template <class Field, class X, class T>
inline constexpr bool takes_weighted<Field, X, by_weight<T>> = accepts_weighted<Field, typename kept<X>::type, T>;
template <class Field, class T>
inline constexpr bool takes_weighted<Field, nothing_t, by_weight<T>> = true;

template <class... F, class... X>
consteval bool all_take(type_list<F...>, type_list<X...>) {
    return (takes<F, X> && ...);
}
template <class Weighting, class... F, class... X>
consteval bool all_take_weighted(type_list<F...>, type_list<X...>) {
    return (takes_weighted<F, X, Weighting> && ...);
}
template <class... F>
consteval bool all_fields(type_list<F...>) {
    return (state_field<F> && ...);
}
template <class... R>
consteval bool all_roles(type_list<R...>) {
    return (role<R> && ...);
}

} // namespace detail

/// The type whose state and observe a metric uses: M::counters, or M itself.
template <class M>
using counters_of = typename detail::counters_of_impl<M>::type;

/// The state type of a metric.
template <class M>
using state_of = typename counters_of<M>::state;

/// Weighting policy of a metric.
template <class M>
using weighting_of = typename detail::weighting_of<counters_of<M>>::type;

/// The roles that observe asks for, in order.
template <class M>
using roles_of = typename detail::signature<decltype(&counters_of<M>::observe)>::roles;

/// type_list of the contributions that observe returns.
template <class M>
using contributions_of =
    typename detail::contribution_types<typename detail::signature<decltype(&counters_of<M>::observe)>::result>::type;

/// Shape of a metric. check_metric says in words what a type lacks.
template <class M>
concept metric = requires {
    typename state_of<M>;
    requires detail::has_observe<counters_of<M>>;
    M::finalize(std::declval<state_of<M> const&>());
};

namespace detail {

template <class C>
consteval bool check_observe() {
    if constexpr (!has_observe<C>) {
        static_assert(has_observe<C>,
                      "tally: a metric needs one static observe(...), neither overloaded nor a template");
        return false;
    } else {
        using roles = typename signature<decltype(&C::observe)>::roles;
        using returned = typename signature<decltype(&C::observe)>::result;
        constexpr bool roles_ok = all_roles(roles{});
        static_assert(roles_ok,
                      "tally: the parameters of observe must be roles, such as prediction<float> or value<float>");
        constexpr bool distinct = unique_t<roles>::size == roles::size;
        static_assert(distinct, "tally: observe asks twice for the same role: name the inputs, as input<\"name\", T>");
        constexpr bool contributes = is_contribution_v<returned>;
        static_assert(contributes, "tally: observe must return contribute(...), one entry for each field of the state");
        return roles_ok && distinct && contributes;
    }
}

template <class C>
consteval bool check_state() {
    using state = typename C::state;
    constexpr bool copyable = std::is_trivially_copyable_v<state>;
    static_assert(copyable, "tally: a state must be trivially copyable: hold accumulators and tables, no containers");
    constexpr bool aggregate = std::is_aggregate_v<state>;
    static_assert(aggregate,
                  "tally: a state must be an aggregate: no constructors, private members or virtual functions");
    if constexpr (copyable && aggregate) {
        constexpr bool fields = all_fields(field_types<state>{});
        static_assert(fields,
                      "tally: every field of a state must be an accumulator (count, sum<double>, ...) or a table");
        return fields;
    } else {
        return false;
    }
}

template <class C>
consteval bool check_contributions() {
    using fields = field_types<typename C::state>;
    using given = typename contribution_types<typename signature<decltype(&C::observe)>::result>::type;
    constexpr bool same_number = fields::size == given::size;
    static_assert(same_number, "tally: observe must contribute exactly one entry for each field of the state");
    if constexpr (same_number) {
        constexpr bool accepted = all_take(fields{}, given{});
        static_assert(accepted, "tally: a field of the state does not accept what observe contributes to it");
        using weighting = typename weighting_of<C>::type;
        constexpr bool weights = all_take_weighted<weighting>(fields{}, given{});
        static_assert(weights, "tally: a field of a weighted metric can't take weights: use count_of<Weighting> for "
                               "counts, total_of<Sum, Weighting> for sums");
        return accepted && weights;
    } else {
        return false;
    }
}

} // namespace detail

/// Checks a metric and says in one sentence for each requirement what is wrong with it.
template <class M>
consteval bool check_metric() {
    constexpr bool has_state = requires { typename counters_of<M>::state; };
    constexpr bool is_rule = requires { typename M::template counters<unweighted>; };
    static_assert(!is_rule, "tally: a rule such as top_k<5> is no metric by itself: write accuracy<top_k<5>>");
    static_assert(has_state || is_rule, "tally: a metric needs a nested aggregate `state` of accumulators");
    if constexpr (has_state) {
        constexpr bool state_ok = detail::check_state<counters_of<M>>();
        constexpr bool observe_ok = detail::check_observe<counters_of<M>>();
        if constexpr (state_ok && observe_ok) {
            constexpr bool finalizes = requires(state_of<M> const& s) { M::finalize(s); };
            static_assert(finalizes, "tally: a metric needs a static finalize(state const&)");
            return finalizes && detail::check_contributions<counters_of<M>>();
        }
    }
    return false;
}

} // namespace tally
