// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What `observe` returns: one contribution for each field of the state.
//
//   contribute(x, y, ...)   one entry a field, in the order of the fields
//   one                     the constant 1: counts without being stored
//   nothing                 no contribution to this field
//   when(condition, x)      x if the condition holds, else nothing; value and weight are dropped together
//   at(i, j, ...)           adds one to a cell of a table; at(i, j, ...).add(x) adds x.
//                           An index outside the table is counted by the table, never written.
//   located(x, position)    a value with its position, for arg_minimum and arg_maximum
//   paired(x, y)            two values, for co_moments
#pragma once

#include <tally/config.hpp>
#include <tally/core/type_list.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally {

/// The constant 1 as a type, so that counting needs no storage.
struct one_t {
    TALLY_HD constexpr operator std::uint64_t() const { return 1; } // NOLINT(google-explicit-constructor)
};
inline constexpr one_t one{};

struct nothing_t {};
inline constexpr nothing_t nothing{};

/// A contribution that is taken only if `keep` holds.
template <class X>
struct optional_contribution {
    X value;
    bool keep;
};

template <class X>
TALLY_HD constexpr optional_contribution<X> when(bool condition, X value) {
    return {value, condition};
}

/// A contribution to one cell of a table. Indices are signed so that an invalid index (-1) stays recognisable.
template <std::size_t Rank, class X>
struct cell {
    std::int64_t index[Rank];
    X value;

    template <class Y>
    TALLY_HD constexpr cell<Rank, Y> add(Y contribution) const {
        cell<Rank, Y> result{};
        for (std::size_t k = 0; k < Rank; ++k) {
            result.index[k] = index[k];
        }
        result.value = contribution;
        return result;
    }
};

namespace detail {

/// Integers and what converts to one, such as labels. No floats: a NaN makes no integer, so bins decide where they go.
template <class X>
concept index_like = requires(X const& x) { requires std::is_integral_v<decltype(+x)>; };

} // namespace detail

template <detail::index_like... Index>
    requires(sizeof...(Index) > 0)
TALLY_HD constexpr cell<sizeof...(Index), one_t> at(Index... index) {
    return {{static_cast<std::int64_t>(index)...}, one};
}

template <class T, class Position = std::uint64_t>
struct located_value {
    T value;
    Position position;
};

template <class T>
TALLY_HD constexpr located_value<T> located(T value, std::uint64_t position) {
    return {value, position};
}

template <class X, class Y = X>
struct value_pair {
    X first;
    Y second;
};

/// A block of pairs as two arrays: what co_moments::deposit_block takes.
template <class X, class Y>
struct pair_block {
    X const* first;
    Y const* second;
    [[nodiscard]] TALLY_HD constexpr value_pair<X, Y> operator[](std::size_t i) const { return {first[i], second[i]}; }
};

template <class X, class Y>
TALLY_HD constexpr value_pair<X, Y> paired(X first, Y second) {
    return {first, second};
}

namespace detail {

template <std::size_t Index, class X>
struct contribution_slot {
    X value;
};

template <class Indices, class... X>
struct contribution_slots;
template <std::size_t... Index, class... X>
struct contribution_slots<std::index_sequence<Index...>, X...> : contribution_slot<Index, X>... {};

} // namespace detail

/// The contributions of one sample, one for each field of a state.
template <class... X>
struct contribution : detail::contribution_slots<std::index_sequence_for<X...>, X...> {
    static constexpr std::size_t size = sizeof...(X);
};

template <class... X>
TALLY_HD constexpr contribution<X...> contribute(X... x) {
    return {{{x}...}};
}

namespace detail {

template <std::size_t Index, class X>
TALLY_HD constexpr X const& slot(contribution_slot<Index, X> const& s) {
    return s.value;
}

/// Removes `when`: the type that an accumulator is given.
template <class X>
struct kept {
    using type = X;
    static constexpr bool conditional = false;
};
template <class X>
struct kept<optional_contribution<X>> {
    using type = X;
    static constexpr bool conditional = true;
};

template <class T>
inline constexpr bool is_contribution_v = false;
template <class... X>
inline constexpr bool is_contribution_v<contribution<X...>> = true;

template <class T>
struct contribution_types;
template <class... X>
struct contribution_types<contribution<X...>> {
    using type = type_list<X...>;
};

} // namespace detail
} // namespace tally
