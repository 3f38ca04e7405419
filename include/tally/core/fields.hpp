// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The fields of an aggregate state, found without macros: how many there are, their types, and a visit of all of them.
// Counting asks how many initialisers the aggregate accepts; visiting uses structured bindings. Up to 24 fields, no C
// arrays among them (each element would count: use a table or std::array) and no base classes with fields.
#pragma once

#include <tally/config.hpp>
#include <tally/core/type_list.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tally {

inline constexpr std::size_t max_fields = 24;

namespace detail {

struct any_field {
    template <class T>
    constexpr operator T() const noexcept; // never defined: only asked whether it could initialise a field
};

template <class State, class... Any>
constexpr std::size_t count_fields() {
    if constexpr (sizeof...(Any) > max_fields) {
        return sizeof...(Any);
    } else if constexpr (requires { State{Any{}..., any_field{}}; }) {
        return count_fields<State, Any..., any_field>();
    } else {
        return sizeof...(Any);
    }
}

} // namespace detail

/// Number of fields of an aggregate; more than max_fields is reported as max_fields + 1.
template <class State>
inline constexpr std::size_t field_count = detail::count_fields<State>();

#if defined(__CUDACC__)
#pragma nv_exec_check_disable // f decides where this may be called
#endif
/// Calls f(field0, field1, ...) with references to all fields of an aggregate. Cost: none.
template <class State, class F>
TALLY_HD constexpr decltype(auto) with_fields(State& state, F&& f) {
    constexpr std::size_t Count = field_count<std::remove_const_t<State>>;
    static_assert(Count <= max_fields,
                  "tally: a state may have up to 24 fields; group some of them in one accumulator");
    if constexpr (Count == 0) {
        return f();
    } else if constexpr (Count == 1) {
        auto& [f0] = state;
        return f(f0);
    } else if constexpr (Count == 2) {
        auto& [f0, f1] = state;
        return f(f0, f1);
    } else if constexpr (Count == 3) {
        auto& [f0, f1, f2] = state;
        return f(f0, f1, f2);
    } else if constexpr (Count == 4) {
        auto& [f0, f1, f2, f3] = state;
        return f(f0, f1, f2, f3);
    } else if constexpr (Count == 5) {
        auto& [f0, f1, f2, f3, f4] = state;
        return f(f0, f1, f2, f3, f4);
    } else if constexpr (Count == 6) {
        auto& [f0, f1, f2, f3, f4, f5] = state;
        return f(f0, f1, f2, f3, f4, f5);
    } else if constexpr (Count == 7) {
        auto& [f0, f1, f2, f3, f4, f5, f6] = state;
        return f(f0, f1, f2, f3, f4, f5, f6);
    } else if constexpr (Count == 8) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7);
    } else if constexpr (Count == 9) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8);
    } else if constexpr (Count == 10) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9);
    } else if constexpr (Count == 11) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10);
    } else if constexpr (Count == 12) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11);
    } else if constexpr (Count == 13) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12);
    } else if constexpr (Count == 14) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13);
    } else if constexpr (Count == 15) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14);
    } else if constexpr (Count == 16) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15);
    } else if constexpr (Count == 17) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16);
    } else if constexpr (Count == 18) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17);
    } else if constexpr (Count == 19) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18);
    } else if constexpr (Count == 20) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19);
    } else if constexpr (Count == 21) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20);
    } else if constexpr (Count == 22) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21] =
            state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21);
    } else if constexpr (Count == 23) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21,
               f22] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21,
                 f22);
    } else if constexpr (Count == 24) {
        auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22,
               f23] = state;
        return f(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21,
                 f22, f23);
    }
}

namespace detail {

template <class... T>
type_list<std::remove_cv_t<T>...> types_of(T&...);

struct collect_types {
    template <class... T>
    constexpr auto operator()(T&...) const {
        return type_list<std::remove_cv_t<T>...>{};
    }
};

} // namespace detail

/// type_list of the fields' types.
template <class State>
using field_types = decltype(with_fields(std::declval<State&>(), detail::collect_types{}));

} // namespace tally
