// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Inputs on a device: chunks of consecutive elements by loads of 16 bytes where the memory is aligned for it, element by
// element otherwise; widened to what a role asks for only when it is used.
#pragma once

#include <tally/core/half_bits.hpp>
#include <tally/core/view.hpp>
#include <tally/core/widen.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

/// What of a view's element is kept in registers: the element itself; of an element type known at run time, its bits.
template <class View>
struct raw_of {
    using type = typename View::element_type;
};
template <std::size_t Rank>
struct raw_of<dynamic_view<Rank>> {
    using type = std::uint64_t;
};
template <class View>
using raw_t = typename raw_of<View>::type;

/// Bits of an element of run-time type.
__device__ inline std::uint64_t load_bits(void const* data, std::ptrdiff_t offset, unsigned bits) {
    switch (bits) {
    case 8: return static_cast<std::uint8_t const*>(data)[offset];
    case 16: return static_cast<std::uint16_t const*>(data)[offset];
    case 32: return static_cast<std::uint32_t const*>(data)[offset];
    default: return static_cast<std::uint64_t const*>(data)[offset];
    }
}

/// Calls f with the element that `bits` holds. The type has been checked on the host.
template <class F>
__device__ auto with_element(dynamic_type type, std::uint64_t bits, F&& f) {
    auto const as = [bits]<class E>() {
        using image =
            std::conditional_t<sizeof(E) == 1, std::uint8_t,
                               std::conditional_t<sizeof(E) == 2, std::uint16_t,
                                                  std::conditional_t<sizeof(E) == 4, std::uint32_t, std::uint64_t>>>;
        return __builtin_bit_cast(E, static_cast<image>(bits));
    };
    switch ((type.code << 8) | type.bits) {
    case (0 << 8) | 8: return f(as.template operator()<std::int8_t>());
    case (0 << 8) | 16: return f(as.template operator()<std::int16_t>());
    case (0 << 8) | 32: return f(as.template operator()<std::int32_t>());
    case (0 << 8) | 64: return f(as.template operator()<std::int64_t>());
    case (1 << 8) | 8: return f(as.template operator()<std::uint8_t>());
    case (1 << 8) | 16: return f(as.template operator()<std::uint16_t>());
    case (1 << 8) | 32: return f(as.template operator()<std::uint32_t>());
    case (1 << 8) | 64: return f(as.template operator()<std::uint64_t>());
    case (2 << 8) | 16: return f(as.template operator()<half_bits>());
    case (2 << 8) | 32: return f(as.template operator()<float>());
    case (2 << 8) | 64: return f(as.template operator()<double>());
    case (4 << 8) | 16: return f(as.template operator()<bfloat16_bits>());
    default: return f(as.template operator()<tally::detail::bool_byte>());
    }
}

template <class T>
__device__ raw_t<vector_view<T>> load_raw(vector_view<T> const& view, std::size_t i) {
    return view.data[static_cast<std::ptrdiff_t>(i) * view.stride];
}
__device__ inline std::uint64_t load_raw(counting_view const& view, std::size_t i) { return view.first + i; }
__device__ inline std::uint64_t load_raw(dynamic_view<1> const& view, std::size_t i) {
    return load_bits(view.data, static_cast<std::ptrdiff_t>(i) * view.stride[0], view.type.bits);
}
template <class T>
__device__ T load_raw(matrix_view<T> const& view, std::size_t row, std::size_t column) {
    return view.data[static_cast<std::ptrdiff_t>(row) * view.row_stride +
                     static_cast<std::ptrdiff_t>(column) * view.column_stride];
}
__device__ inline std::uint64_t load_raw(dynamic_view<2> const& view, std::size_t row, std::size_t column) {
    return load_bits(view.data,
                     static_cast<std::ptrdiff_t>(row) * view.stride[0] +
                         static_cast<std::ptrdiff_t>(column) * view.stride[1],
                     view.type.bits);
}

/// A loaded element as the type T that a role asks for.
template <class T, class View, class Raw>
__device__ T widen_raw(View const& view, Raw const& raw) {
    if constexpr (tally::detail::is_dynamic_v<View>) {
        return with_element(view.type, raw, []<class E>(E const& element) -> T {
            if constexpr (widens_to<T, E>) {
                return widen_to<T>(element);
            } else {
                return T{}; // refused on the host
            }
        });
    } else {
        return widen_to<T>(raw);
    }
}

template <class View, class Raw>
__device__ bool is_set(View const& view, Raw const& raw) {
    if constexpr (tally::detail::is_dynamic_v<View>) {
        return with_element(view.type, raw, []<class E>(E const& element) { return widening<E>::widen(element) != 0; });
    } else {
        return widening<Raw>::widen(raw) != 0;
    }
}

template <class View, class Raw>
__device__ bool is_finite(View const& view, Raw const& raw) {
    auto const finite = []<class E>(E const& element) {
        auto const x = widening<E>::widen(element);
        return x - x == 0;
    };
    if constexpr (tally::detail::is_dynamic_v<View>) {
        return with_element(view.type, raw, finite);
    } else {
        return finite(raw);
    }
}

/// `Count` consecutive elements from an address that is aligned to the smaller of 16 bytes and all of them.
template <int Count, class T>
__device__ void load_aligned(T const* from, T* to) {
    constexpr std::size_t bytes = Count * sizeof(T);
    if constexpr (bytes >= 16) {
#pragma unroll
        for (std::size_t k = 0; k < bytes / 16; ++k) {
            auto const word = __ldg(reinterpret_cast<uint4 const*>(from) + k);
            memcpy(static_cast<void*>(reinterpret_cast<unsigned char*>(to) + 16 * k), &word, 16);
        }
    } else if constexpr (bytes == 8) {
        auto const word = __ldg(reinterpret_cast<uint2 const*>(from));
        memcpy(static_cast<void*>(to), &word, 8);
    } else if constexpr (bytes == 4) {
        auto const word = __ldg(reinterpret_cast<unsigned const*>(from));
        memcpy(static_cast<void*>(to), &word, 4);
    } else {
#pragma unroll
        for (int k = 0; k < Count; ++k) {
            to[k] = from[k];
        }
    }
}

} // namespace tally::cuda::detail
