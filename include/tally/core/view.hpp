// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Views of the memory that a user passes: vectors and matrices with any strides, of a known element type or of one that
// is known only at run time (DLPack). They don't own anything; strides count elements. Sizes are checked before
// they are cast.
#pragma once

#include <tally/config.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/core/widen.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace tally {

template <class T>
struct vector_view {
    static constexpr std::size_t rank = 1;
    using element_type = T;
    T const* data;
    std::size_t size;
    std::ptrdiff_t stride = 1;
};

template <class T>
struct matrix_view {
    static constexpr std::size_t rank = 2;
    using element_type = T;
    T const* data;
    std::size_t rows;
    std::size_t columns;
    std::ptrdiff_t row_stride;
    std::ptrdiff_t column_stride = 1;
};

/// The numbers first, first + 1, ...: positions of consecutive samples.
struct counting_view {
    static constexpr std::size_t rank = 1;
    using element_type = std::uint64_t;
    std::uint64_t first;
};

/// An element type known at run time, numbered as DLPack does.
struct dynamic_type {
    std::uint8_t code = 0; ///< 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool
    std::uint8_t bits = 0;

    [[nodiscard]] constexpr bool operator==(dynamic_type const&) const = default;
};

/// Vector or matrix of an element type known at run time.
template <std::size_t Rank>
struct dynamic_view {
    static constexpr std::size_t rank = Rank;
    using element_type = dynamic_type;
    void const* data;
    dynamic_type type;
    std::size_t size[Rank];
    std::ptrdiff_t stride[Rank];
    int device_type = 1; ///< where the memory lies, numbered as DLPack does: 1 is the host
};

namespace detail {

/// A truth value in a byte of foreign memory. Any byte but 0 is true; read as a C++ bool, bytes above 1 would be
/// undefined behaviour.
struct bool_byte {
    std::uint8_t byte;
};

} // namespace detail

template <>
struct widening<detail::bool_byte> {
    TALLY_HD static constexpr bool widen(detail::bool_byte x) { return x.byte != 0; }
};

namespace detail {

template <class View>
inline constexpr bool is_dynamic_v = std::is_same_v<typename View::element_type, dynamic_type>;

/// Number of samples: elements of a vector, rows of a matrix.
template <class T>
constexpr std::size_t samples_in(vector_view<T> const& view) {
    return view.size;
}
template <class T>
constexpr std::size_t samples_in(matrix_view<T> const& view) {
    return view.rows;
}
template <std::size_t Rank>
constexpr std::size_t samples_in(dynamic_view<Rank> const& view) {
    return view.size[0];
}
template <class T>
constexpr std::size_t columns_in(matrix_view<T> const& view) {
    return view.columns;
}
constexpr std::size_t columns_in(dynamic_view<2> const& view) { return view.size[1]; }

inline std::string to_string(dynamic_type type) {
    char const* const names[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    return (type.code < 7 ? names[type.code] : "code " + std::to_string(type.code) + ", bits ") +
           std::to_string(type.bits);
}

/// Calls f.template operator()<T>() with the element type. Throws shape_error for types that are no numbers.
template <class F>
decltype(auto) with_element_type(dynamic_type type, F&& f) {
    switch ((type.code << 8) | type.bits) {
    case (0 << 8) | 8: return f.template operator()<std::int8_t>();
    case (0 << 8) | 16: return f.template operator()<std::int16_t>();
    case (0 << 8) | 32: return f.template operator()<std::int32_t>();
    case (0 << 8) | 64: return f.template operator()<std::int64_t>();
    case (1 << 8) | 8: return f.template operator()<std::uint8_t>();
    case (1 << 8) | 16: return f.template operator()<std::uint16_t>();
    case (1 << 8) | 32: return f.template operator()<std::uint32_t>();
    case (1 << 8) | 64: return f.template operator()<std::uint64_t>();
    case (2 << 8) | 16: return f.template operator()<half_bits>();
    case (2 << 8) | 32: return f.template operator()<float>();
    case (2 << 8) | 64: return f.template operator()<double>();
    case (4 << 8) | 16: return f.template operator()<bfloat16_bits>();
    case (6 << 8) | 8: return f.template operator()<bool_byte>();
    default: throw shape_error("elements of type " + to_string(type) + " are not supported");
    }
}

/// What stands in for a refused input, so that the compiler says only why it was refused: bool fits every metric.
template <std::size_t Rank>
using refused_view = std::conditional_t<Rank == 1, vector_view<bool>, matrix_view<bool>>;

template <class... Sizes>
consteval bool require_integers() {
    constexpr bool integers = (std::integral<Sizes> && ...);
    static_assert(integers, "tally: sizes must be integers: values(p, n) with n of type std::size_t, int or the like");
    return integers;
}

template <std::integral N>
std::size_t to_size(N n) {
    if constexpr (std::is_signed_v<N>) {
        if (n < 0) {
            throw shape_error("a size can't be negative, got " + std::to_string(static_cast<std::intmax_t>(n)));
        }
    }
    if (static_cast<std::uintmax_t>(n) > static_cast<std::uintmax_t>(PTRDIFF_MAX)) {
        throw shape_error("a size of " + std::to_string(static_cast<std::uintmax_t>(n)) + " is more than memory holds");
    }
    return static_cast<std::size_t>(n);
}

/// The typed view of a dynamic one.
template <class T>
vector_view<T> typed(dynamic_view<1> const& view) {
    return {static_cast<T const*>(view.data), view.size[0], view.stride[0]};
}
template <class T>
matrix_view<T> typed(dynamic_view<2> const& view) {
    return {static_cast<T const*>(view.data), view.size[0], view.size[1], view.stride[0], view.stride[1]};
}

} // namespace detail
} // namespace tally
