// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A number taken apart into integers. By bits, not by arithmetic: a thread that flushes subnormal numbers to zero still
// sees all of them.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/widen.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tally::detail {

enum class number_kind : std::uint8_t { finite, infinity, nan };

/// (-1)^negative * significand * 2^exponent, if it is finite.
struct decomposed {
    std::uint64_t significand;
    int exponent;
    bool negative;
    number_kind kind;
};

/// How many numbers of each kind that isn't finite.
struct special_values {
    std::uint64_t nans;
    std::uint64_t positive_infinities;
    std::uint64_t negative_infinities;
};

TALLY_HD constexpr decomposed decompose(float x) {
    auto const bits = bit_cast<std::uint32_t>(x);
    auto const exponent = (bits >> 23) & 0xffU;
    auto const fraction = bits & 0x7f'ffffU;
    bool const subnormal = exponent == 0;
    auto const kind = exponent != 0xffU ? number_kind::finite
                      : fraction == 0   ? number_kind::infinity
                                        : number_kind::nan;
    return {subnormal ? fraction : fraction | 0x80'0000U, static_cast<int>(exponent + (subnormal ? 1U : 0U)) - 150,
            (bits >> 31) != 0, kind};
}

TALLY_HD constexpr decomposed decompose(double x) {
    auto const bits = bit_cast<std::uint64_t>(x);
    auto const exponent = static_cast<unsigned>(bits >> 52) & 0x7ffU;
    auto const fraction = bits & 0xf'ffff'ffff'ffffU;
    bool const subnormal = exponent == 0;
    auto const kind = exponent != 0x7ffU ? number_kind::finite
                      : fraction == 0    ? number_kind::infinity
                                         : number_kind::nan;
    return {subnormal ? fraction : fraction | 0x10'0000'0000'0000U,
            static_cast<int>(exponent + (subnormal ? 1U : 0U)) - 1075, (bits >> 63) != 0, kind};
}

template <std::integral T>
TALLY_HD constexpr decomposed decompose(T x) {
    bool negative = false;
    if constexpr (std::is_signed_v<T>) {
        negative = x < 0;
    }
    auto const bits = static_cast<std::uint64_t>(x);
    return {negative ? std::uint64_t{0} - bits : bits, 0, negative, number_kind::finite};
}

/// Small floating-point types: those that widen to float.
template <element T>
    requires(!std::is_arithmetic_v<T>)
TALLY_HD constexpr decomposed decompose(T const& x) {
    return decompose(widening<T>::widen(x));
}

/// Bits of the significand of a decomposed T.
template <element T>
inline constexpr int decomposed_bits =
    std::is_same_v<T, double> ? 53
    : std::is_integral_v<T>   ? std::numeric_limits<T>::digits + 1 // the most negative number has one more
                              : 24;

/// The product, with the special cases of IEEE 754. The significands together have at most 64 bits.
TALLY_HD constexpr decomposed multiply(decomposed const& a, decomposed const& b) {
    auto const zero = [](decomposed const& x) { return x.kind == number_kind::finite && x.significand == 0; };
    auto kind = number_kind::finite;
    if (a.kind != number_kind::finite || b.kind != number_kind::finite) {
        bool const undefined =
            a.kind == number_kind::nan || b.kind == number_kind::nan || zero(a) || zero(b); // infinity times zero
        kind = undefined ? number_kind::nan : number_kind::infinity;
    }
    return {a.significand * b.significand, a.exponent + b.exponent, a.negative != b.negative, kind};
}

} // namespace tally::detail
