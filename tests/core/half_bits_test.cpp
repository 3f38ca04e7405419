// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/core/half_bits.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace {

using tally::bfloat16_bits;
using tally::half_bits;

struct format {
    int exponent_bits;
    int fraction_bits;
    int bias;
};
constexpr format binary16{5, 10, 15};
constexpr format bfloat16{8, 7, 127};

/// The value of a 16-bit number by its definition.
double value_of(std::uint32_t bits, format f) {
    auto const fraction = bits & ((1U << f.fraction_bits) - 1U);
    auto const exponent = static_cast<int>((bits >> f.fraction_bits) & ((1U << f.exponent_bits) - 1U));
    double const sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << f.exponent_bits) - 1) {
        return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                             : sign * std::numeric_limits<double>::infinity();
    }
    auto const scale = (exponent == 0 ? 1 : exponent) - f.bias - f.fraction_bits;
    return sign * std::ldexp(static_cast<double>(fraction | (exponent == 0 ? 0U : 1U << f.fraction_bits)), scale);
}

/// Widening of all 65,536 numbers, and narrowing of each, of the middle between it and its neighbour, and of the floats
/// on both sides of that middle.
template <class Bits>
int count_faults(format f) {
    constexpr auto up = std::numeric_limits<float>::infinity();
    int faults = 0;
    for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
        auto const x = tally::widen_bits(Bits{static_cast<std::uint16_t>(bits)});
        auto const expected = value_of(bits, f);
        if (std::isnan(expected)) {
            faults += !std::isnan(x);
            auto const back = tally::widen_bits(tally::narrow_to<Bits>(x));
            faults += !std::isnan(back) || std::signbit(back) != std::signbit(x);
            continue;
        }
        faults += static_cast<double>(x) != expected || std::signbit(x) != ((bits & 0x8000U) != 0);
        faults += tally::narrow_to<Bits>(x).bits != bits;
        auto const next = value_of(bits + 1, f); // of larger magnitude; beyond the largest one it counts as 2^emax
        if (std::isinf(expected) || std::isnan(next) || (bits & 0x7fffU) == 0x7fffU) {
            continue;
        }
        auto const beyond = std::ldexp(1.0, f.bias + 1) * (std::signbit(x) ? -1 : 1);
        auto const middle = (expected + (std::isinf(next) ? beyond : next)) / 2;
        auto const exact = static_cast<float>(middle);
        if (static_cast<double>(exact) != middle) {
            continue; // of subnormal bfloat16: no float lies in the middle
        }
        auto const even = bits % 2 == 0 ? bits : bits + 1;
        auto const farther = std::nextafter(exact, std::signbit(exact) ? -up : up);
        faults += tally::narrow_to<Bits>(exact).bits != even;
        faults += tally::narrow_to<Bits>(std::nextafter(exact, 0.0F)).bits != bits;
        faults += tally::narrow_to<Bits>(farther).bits != bits + 1;
    }
    return faults;
}

} // namespace

TEST_CASE("half_bits: all 65,536 widen exactly; narrowing rounds to nearest, ties to even") {
    CHECK(count_faults<half_bits>(binary16) == 0);
}

TEST_CASE("bfloat16_bits: all 65,536 widen exactly; narrowing rounds to nearest, ties to even") {
    CHECK(count_faults<bfloat16_bits>(bfloat16) == 0);
}

TEST_CASE("half_bits: known values") {
    CHECK(tally::widen_bits(half_bits{0x3c00}) == 1.0F);
    CHECK(tally::widen_bits(half_bits{0x7bff}) == 65504.0F);
    CHECK(tally::widen_bits(half_bits{0x0001}) == 0x1p-24F);
    CHECK(tally::widen_bits(bfloat16_bits{0x3f80}) == 1.0F);
    CHECK(tally::widen_bits(bfloat16_bits{0x3f00}) == 0.5F);
    CHECK(tally::narrow_to<half_bits>(65519.996F).bits == 0x7bff);
    CHECK(tally::narrow_to<half_bits>(65520.0F).bits == 0x7c00); // half way to 65536: the even neighbour is infinity
    CHECK(tally::narrow_to<half_bits>(-1e10F).bits == 0xfc00);
    CHECK(tally::narrow_to<half_bits>(0x1p-25F).bits == 0);
    CHECK(tally::narrow_to<half_bits>(-0x1.000002p-25F).bits == 0x8001);
    CHECK(tally::narrow_to<half_bits>(std::numeric_limits<float>::denorm_min()).bits == 0);
    CHECK(tally::narrow_to<bfloat16_bits>(std::numeric_limits<float>::max()).bits == 0x7f80);
    // A NaN whose payload lies in the bits that are cut stays a NaN.
    CHECK(std::isnan(tally::widen_bits(tally::narrow_to<bfloat16_bits>(std::bit_cast<float>(0x7f80'0001U)))));
    CHECK(std::isnan(tally::widen_bits(tally::narrow_to<half_bits>(std::bit_cast<float>(0xff80'0001U)))));
}

TEST_CASE("half_bits: conversions are constant expressions") {
    static_assert(tally::widen_bits(tally::narrow_to<half_bits>(1.5F)) == 1.5F);
    static_assert(tally::widen_bits(tally::narrow_to<bfloat16_bits>(-2.0F)) == -2.0F);
}
