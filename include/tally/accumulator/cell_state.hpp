// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole aggregate of accumulators as one accumulator: the cell of a table that holds one state a group.
// Models accumulator. It travels as words if all its fields do, else as raw bytes in rank order.
#pragma once

#include <tally/config.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fields.hpp>
#include <tally/core/parts.hpp>
#include <tally/core/wire.hpp>

#include <cstddef>
#include <utility>

namespace tally {

namespace detail {

template <class Field, class X, class... Weight>
TALLY_HD constexpr void deposit_one(Field& field, X const& x, Weight const&... weight) {
    field.deposit(x, weight...);
}
template <class Field, class... Weight>
TALLY_HD constexpr void deposit_one(Field&, nothing_t const&, Weight const&...) {}
template <class Field, class X, class... Weight>
TALLY_HD constexpr void deposit_one(Field& field, optional_contribution<X> const& x, Weight const&... weight) {
    if (x.keep) {
        field.deposit(x.value, weight...);
    }
}

template <class... F>
consteval bool all_travel_as_words(type_list<F...>) {
    return (travels_as_words<F> && ...);
}
template <class... F>
consteval bool all_merge_by_parts(type_list<F...>) {
    return (merges_by_parts<F> && ...);
}
template <class... F>
consteval bool all_accumulators(type_list<F...>) {
    return (accumulator<F> && ...);
}

} // namespace detail

template <class State>
class cell_state {
    static_assert(detail::all_accumulators(field_types<State>{}),
                  "tally: a grouped metric can hold accumulators only; a metric with tables has no place in a cell");

public:
    template <class... X, class... Weight>
    TALLY_HD constexpr void deposit(contribution<X...> const& c, Weight const&... weight) {
        deposit_fields(c, std::index_sequence_for<X...>{}, weight...);
    }
    TALLY_HD constexpr void merge(cell_state const& other) {
        join(other, [](auto& mine, auto const& theirs) { mine.merge(theirs); });
    }
    TALLY_HD constexpr void fold(cell_state const& next) {
        join(next, [](auto& mine, auto const& theirs) { tally::fold(mine, theirs); });
    }
    template <class Archive>
        requires(detail::all_travel_as_words(field_types<State>{}))
    TALLY_HD constexpr void travel(Archive& archive) {
        with_fields(state_, [&](auto&... field) { (field.travel(archive), ...); });
    }
    template <class Archive>
        requires(detail::all_merge_by_parts(field_types<State>{}))
    TALLY_HD constexpr void parts(Archive& archive) {
        with_fields(state_, [&](auto&... field) { (detail::visit_parts(field, archive), ...); });
    }
    [[nodiscard]] TALLY_HD constexpr State const& state() const { return state_; }

private:
    template <class... X, std::size_t... Index, class... Weight>
    TALLY_HD constexpr void deposit_fields(contribution<X...> const& c, std::index_sequence<Index...>,
                                           Weight const&... weight) {
        with_fields(state_,
                    [&](auto&... field) { (detail::deposit_one(field, detail::slot<Index>(c), weight...), ...); });
    }
    template <class F>
    TALLY_HD constexpr void join(cell_state const& other, F f) {
        with_fields(state_, [&](auto&... mine) {
            with_fields(other.state_, [&](auto const&... theirs) { (f(mine, theirs), ...); });
        });
    }

    State state_{};
};

} // namespace tally
