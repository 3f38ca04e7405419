// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// From a wide integer to the nearest float or double, ties to even: one rounding, subnormals and overflow included.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/digits.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::detail {

template <class T>
struct binary_format;
template <>
struct binary_format<float> {
    using word = std::uint32_t;
    static constexpr int precision = 24;
    static constexpr int lowest = -149; ///< exponent of the smallest subnormal
    static constexpr word infinity = 0x7f80'0000U;
};
template <>
struct binary_format<double> {
    using word = std::uint64_t;
    static constexpr int precision = 53;
    static constexpr int lowest = -1074;
    static constexpr word infinity = 0x7ff0'0000'0000'0000U;
};

/// The leading 64 bits of a positive number, and whether anything but zeros follows.
struct leading_bits {
    std::uint64_t bits; ///< bit 63 is set
    int exponent;       ///< of bit 63
    bool more;
};

/// (-1)^negative * bits * 2^(exponent - 63), rounded to the nearest T.
template <class T>
TALLY_HD constexpr T round_to(leading_bits x, bool negative) {
    using format = binary_format<T>;
    using word = typename format::word;
    // The result is a multiple of 2^quantum; `dropped` bits lie below it.
    int const by_precision = x.exponent - (format::precision - 1);
    int const quantum = by_precision > format::lowest ? by_precision : format::lowest;
    int const dropped = quantum - (x.exponent - 63);
    std::uint64_t kept = 0;
    bool up = false;
    if (dropped < 64) {
        kept = x.bits >> dropped;
        auto const rest = x.bits << (64 - dropped);
        auto const half = std::uint64_t{1} << 63;
        up = rest > half || (rest == half && (x.more || (kept & 1U) != 0));
    } else if (dropped == 64) {
        up = x.bits > std::uint64_t{1} << 63 || x.more; // exactly half of the quantum rounds to zero
    }
    kept += up ? 1 : 0;
    word bits = format::infinity;
    if (quantum - format::lowest < 4096) {
        // A kept value of 2^precision carries into the exponent, which is what is wanted.
        auto const biased = (static_cast<std::uint64_t>(quantum - format::lowest) << (format::precision - 1)) + kept;
        bits = biased < format::infinity ? static_cast<word>(biased) : format::infinity;
    }
    return bit_cast<T>(static_cast<word>(bits | (static_cast<word>(negative) << (8 * sizeof(word) - 1))));
}

/// value * 2^lowest rounded to the nearest T, of digits in canonical form. Zero is +0.
template <class T, std::size_t N>
TALLY_HD constexpr T round_digits(digits<N> value, int lowest) {
    bool const negative = value.top() < 0;
    if (negative) {
        value.negate();
    }
    // The first three words of 32 bits that start with one that isn't zero; the last digit is two words.
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    std::uint64_t rest = 0;
    int exponent = 0; // of the lowest bit of `first`
    int taken = 0;
    auto const take = [&](std::uint64_t word, int position) {
        if (taken == 0) {
            first = word;
            exponent = position;
            taken = word != 0 ? 1 : 0;
        } else if (taken == 1) {
            second = word;
            taken = 2;
        } else if (taken == 2) {
            third = word;
            taken = 3;
        } else {
            rest |= word;
        }
    };
    auto const top = value[N - 1];
    constexpr int top_position = 32 * static_cast<int>(N - 1);
    take(top >> 32, lowest + top_position + 32);
    take(top & 0xffff'ffffU, lowest + top_position);
    for (std::size_t i = N - 1; i > 0; --i) {
        take(value[i - 1], lowest + 32 * static_cast<int>(i - 1));
    }
    if (first == 0) {
        return T{0};
    }
    auto const zeros = __builtin_clzll(first) - 32;
    auto const pair = (first << 32) | second;
    auto const below = third << 32;
    leading_bits const leading{zeros == 0 ? pair : (pair << zeros) | (below >> (64 - zeros)), exponent + 31 - zeros,
                               (below << zeros) != 0 || rest != 0};
    return round_to<T>(leading, negative);
}

} // namespace tally::detail
