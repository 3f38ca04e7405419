// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// 16-bit floating-point numbers as bits: IEEE binary16 and bfloat16. For raw memory whose element type is known only at
// run time (DLPack) and for users without a 16-bit type of their own. Arithmetic is in float; narrowing rounds to even.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>

#include <cstdint>

namespace tally {

/// IEEE 754 binary16.
struct half_bits {
    std::uint16_t bits;
};

/// The upper half of an IEEE 754 binary32.
struct bfloat16_bits {
    std::uint16_t bits;
};

/// Exact for every value; NaN stays NaN.
TALLY_HD constexpr float widen_bits(half_bits x) {
    auto const sign = static_cast<std::uint32_t>(x.bits & 0x8000U) << 16;
    auto const exponent = static_cast<std::uint32_t>(x.bits >> 10) & 0x1fU;
    auto const fraction = static_cast<std::uint32_t>(x.bits & 0x3ffU);
    if (exponent == 0) { // zero and subnormal: fraction * 2^-24 is exact in binary32
        auto const magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return detail::bit_cast<float>(detail::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    auto const wide = exponent == 0x1fU ? 0xffU : exponent + 112U;
    return detail::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

TALLY_HD constexpr float widen_bits(bfloat16_bits x) {
    return detail::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

/// Rounds to the nearest, ties to even; overflow gives infinity, NaN stays NaN.
template <class Bits>
TALLY_HD constexpr Bits narrow_to(float x);

template <>
TALLY_HD constexpr bfloat16_bits narrow_to<bfloat16_bits>(float x) {
    auto const bits = detail::bit_cast<std::uint32_t>(x);
    if (x != x) {
        return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)}; // quiet, so that the payload can't round to infinity
    }
    return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

template <>
TALLY_HD constexpr half_bits narrow_to<half_bits>(float x) {
    auto const bits = detail::bit_cast<std::uint32_t>(x);
    auto const sign = (bits >> 16) & 0x8000U;
    auto const magnitude = bits & 0x7fff'ffffU;
    std::uint32_t half = 0;
    if (magnitude > 0x7f80'0000U) {
        half = 0x7e00U;
    } else if (magnitude >= 0x4780'0000U) { // 2^16 and above
        half = 0x7c00U;
    } else if (magnitude < 0x3880'0000U) { // below 2^-14: adding 0.5 leaves the subnormal in the low bits, rounded
        half = detail::bit_cast<std::uint32_t>(detail::bit_cast<float>(magnitude) + 0.5F) - 0x3f00'0000U;
    } else {
        half = (magnitude - 0x3800'0000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    }
    return {static_cast<std::uint16_t>(sign | half)};
}

} // namespace tally
