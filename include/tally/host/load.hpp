// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Loading of input elements as the type that a metric asks for: in place where the memory already holds that type,
// widened into a buffer otherwise. Strides and element types end here.
#pragma once

#include <tally/core/view.hpp>
#include <tally/core/widen.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::host::detail {

/// Widens n elements that lie `stride` apart.
template <class T, class E>
void widen_block(E const* from, std::ptrdiff_t stride, std::size_t n, T* to) {
    if constexpr (widens_to<T, E>) {
        if (stride == 1) {
            for (std::size_t i = 0; i < n; ++i) {
                to[i] = widen_to<T>(from[i]);
            }
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                to[i] = widen_to<T>(from[static_cast<std::ptrdiff_t>(i) * stride]);
            }
        }
    }
}

/// Asks for the memory that the next tile will read: the hardware's own prefetching pauses while a tile is evaluated from
/// the first-level cache. (2^24 pairs, three metrics, one thread of a Xeon with AVX-512: see bench/README.md.)
template <class E>
void prefetch_next(vector_view<E> const& view, std::size_t first, std::size_t n) {
    constexpr std::size_t line = 64 / sizeof(E) == 0 ? 1 : 64 / sizeof(E);
    auto const begin = first + n;
    auto const end = begin + n < view.size ? begin + n : view.size;
    for (std::size_t i = begin; i < end; i += line) {
        __builtin_prefetch(view.data + i);
    }
}

/// Elements [first, first + n) of a vector as T.
template <class T, class E>
T const* load(vector_view<E> const& view, std::size_t first, std::size_t n, T* buffer) {
    if constexpr (std::is_same_v<T, E>) {
        if (view.stride == 1) {
            prefetch_next(view, first, n);
            return view.data + first;
        }
    }
    widen_block(view.data + static_cast<std::ptrdiff_t>(first) * view.stride, view.stride, n, buffer);
    return buffer;
}

template <class T>
T const* load(counting_view const& view, std::size_t first, std::size_t n, T* buffer) {
    for (std::size_t i = 0; i < n; ++i) {
        buffer[i] = static_cast<T>(view.first + first + i);
    }
    return buffer;
}

template <class T>
T const* load(dynamic_view<1> const& view, std::size_t first, std::size_t n, T* buffer) {
    return tally::detail::with_element_type(
        view.type, [&]<class E>() -> T const* { return load<T>(tally::detail::typed<E>(view), first, n, buffer); });
}

/// Columns [first, first + n) of one row of a matrix as T, always into the buffer.
template <class T, class E>
void load_row(matrix_view<E> const& view, std::size_t row, std::size_t first, std::size_t n, T* buffer) {
    auto const* const begin = view.data + static_cast<std::ptrdiff_t>(row) * view.row_stride +
                              static_cast<std::ptrdiff_t>(first) * view.column_stride;
    widen_block(begin, view.column_stride, n, buffer);
}

template <class T>
void load_row(dynamic_view<2> const& view, std::size_t row, std::size_t first, std::size_t n, T* buffer) {
    tally::detail::with_element_type(
        view.type, [&]<class E>() { load_row<T>(tally::detail::typed<E>(view), row, first, n, buffer); });
}

} // namespace tally::host::detail
