// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether a double is the nearest one to a fraction of big integers: by multiplication, not by division, with none of
// the library's code.
#pragma once

#include "support/big_integer.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tally::testing {

/// Of any sign. Slow: bit by bit.
template <std::size_t Words>
big_integer<Words> multiply(big_integer<Words> a, big_integer<Words> const& b) {
    bool const negative = a.negative();
    if (negative) {
        a = -a;
    }
    big_integer<Words> result;
    for (int i = 0, end = a.length(); i < end; ++i) {
        if (a.bit(i)) {
            result += b << i;
        }
    }
    return negative ? -result : result;
}

template <std::size_t Words>
big_integer<Words> from_unsigned(std::uint64_t n) {
    auto result = big_integer<Words>(static_cast<std::int64_t>(n >> 32)) << 32;
    result += big_integer<Words>(static_cast<std::int64_t>(n & 0xffff'ffffU));
    return result;
}

/// True if `got` is numerator * 2^unit / divisor rounded to nearest, ties to even. The divisor is positive.
template <std::size_t Words>
bool is_nearest(double got, big_integer<Words> const& numerator, int unit, big_integer<Words> const& divisor) {
    constexpr int below = 200; // bits, so that the ends of the interval are integers
    using integer = big_integer<Words>;
    auto const twice = numerator << (below + 1);
    if (got == 0.0) {
        return numerator == integer{};
    }
    auto const infinity = std::numeric_limits<double>::infinity();
    auto const in_units = [&](double x) { return to_big<Words>(x, unit - below); };
    auto const middle_times_divisor = [&](double neighbour) {
        auto sum = in_units(got);
        sum += in_units(neighbour);
        return multiply(divisor, sum);
    };
    std::uint64_t bits = 0;
    std::memcpy(&bits, &got, sizeof(bits));
    bool const even = bits % 2 == 0;
    auto from_below = twice;
    from_below += -middle_times_divisor(std::nextafter(got, -infinity));
    auto from_above = middle_times_divisor(std::nextafter(got, infinity));
    from_above += -twice;
    auto const inside = [&](integer const& distance) {
        return !distance.negative() && (even || !(distance == integer{}));
    };
    return inside(from_below) && inside(from_above);
}

} // namespace tally::testing
