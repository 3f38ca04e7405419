// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Lists of types: concatenation, removal of duplicates (first occurrence stays), position of a type.
// The collection uses them to find shared sub-states and the union of the inputs that its metrics ask for.
#pragma once

#include <cstddef>
#include <type_traits>

namespace tally {

template <class... T>
struct type_list {
    static constexpr std::size_t size = sizeof...(T);
};

namespace detail {

template <class List, class T>
inline constexpr bool contains_v = false;
template <class... U, class T>
inline constexpr bool contains_v<type_list<U...>, T> = (std::is_same_v<U, T> || ...);

template <class List, class T>
inline constexpr std::size_t index_of_v = 0;
template <class... U, class T>
inline constexpr std::size_t index_of_v<type_list<U...>, T> = [] {
    std::size_t index = 0;
    bool found = false;
    (void)((found = std::is_same_v<U, T>, index += found ? 0U : 1U, found) || ...);
    return index;
}();

template <class Result, class... T>
struct unique_impl {
    using type = Result;
};
template <class... R, class Head, class... Tail>
struct unique_impl<type_list<R...>, Head, Tail...> {
    using type = typename unique_impl<
        std::conditional_t<contains_v<type_list<R...>, Head>, type_list<R...>, type_list<R..., Head>>, Tail...>::type;
};

template <class... Lists>
struct concat_impl {
    using type = type_list<>;
};
template <class... A>
struct concat_impl<type_list<A...>> {
    using type = type_list<A...>;
};
template <class... A, class... B, class... Rest>
struct concat_impl<type_list<A...>, type_list<B...>, Rest...> {
    using type = typename concat_impl<type_list<A..., B...>, Rest...>::type;
};

template <class List>
struct unique_list;
template <class... T>
struct unique_list<type_list<T...>> {
    using type = typename unique_impl<type_list<>, T...>::type;
};

template <class List, std::size_t Index>
struct at_impl;
template <class Head, class... Tail, std::size_t Index>
struct at_impl<type_list<Head, Tail...>, Index> : at_impl<type_list<Tail...>, Index - 1> {};
template <class Head, class... Tail>
struct at_impl<type_list<Head, Tail...>, 0> {
    using type = Head;
};

template <class List>
using unique_t = typename unique_list<List>::type;
template <class... Lists>
using concat_t = typename concat_impl<Lists...>::type;
template <class List, std::size_t Index>
using at_t = typename at_impl<List, Index>::type;

/// Calls f.template operator()<T>() for each type of the list, in order.
template <class... T, class F>
constexpr void for_each_type(type_list<T...>, F&& f) {
    (f.template operator()<T>(), ...);
}

} // namespace detail
} // namespace tally
