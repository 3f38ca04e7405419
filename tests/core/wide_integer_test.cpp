// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/big_integer.hpp"
#include "support/nearest.hpp"

#include <tally/core/wide_integer.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

using tally::detail::rounded_quotient;
using tally::testing::from_unsigned;
using tally::testing::is_nearest;

namespace {

using integer = tally::detail::wide_integer<24>;
using reference = tally::testing::big_integer<48>;

constexpr integer power(int exponent) {
    integer result{1};
    for (int i = 0; i < exponent; ++i) {
        result += result;
    }
    return result;
}

/// The same random number in both forms: pieces of up to 64 bits, some of them all zeros or ones.
struct both {
    integer a{0};
    reference b;
};
both random_number(std::mt19937_64& random) {
    both result;
    auto const pieces = 1 + random() % 5;
    for (std::size_t i = 0; i < pieces; ++i) {
        auto const kind = random() % 4;
        std::uint64_t const piece = kind == 0 ? 0 : kind == 1 ? ~std::uint64_t{0} : random() >> (random() % 64);
        result.a = result.a * power(64);
        result.a += integer{piece};
        result.b = result.b << 64;
        result.b += from_unsigned<48>(piece);
    }
    if (random() % 2 == 0) {
        result.a = -result.a;
        result.b = -result.b;
    }
    return result;
}

std::uint64_t random_divisor(std::mt19937_64& random) {
    auto const shift = random() % 64;
    auto const n = random() % 8 == 0 ? ~std::uint64_t{0} : random() >> shift;
    return n == 0 ? 1 : n;
}

// Usable by the compiler, so nothing is undefined on the way.
static_assert(rounded_quotient(integer{7}, 0, 2) == 3.5);
static_assert(rounded_quotient(-(integer{1} * power(640)), -640, 3) == -1.0 / 3.0);

} // namespace

TEST_CASE("rounded_quotient: ties to even, and what lies below decides") {
    auto odd = power(53);
    odd += integer{1}; // 2^53 + 1: half way
    CHECK(rounded_quotient(odd, 0) == 0x1p53);
    odd += integer{2}; // 2^53 + 3: half way, to the even one above
    CHECK(rounded_quotient(odd, 0) == 0x1p53 + 4.0);
    auto above = (power(53) * power(500));
    above += power(500);
    above += integer{1}; // far below, not zero
    CHECK(rounded_quotient(above, -500) == 0x1p53 + 2.0);
    CHECK(rounded_quotient(-above, -500) == -(0x1p53 + 2.0));
    // A remainder of the division counts as well: (3 (2^53 + 1) + 1) / 3.
    auto third = power(53);
    third += integer{1};
    third = third * integer{3};
    CHECK(rounded_quotient(third, 0, 3) == 0x1p53);
    third += integer{1};
    CHECK(rounded_quotient(third, 0, 3) == 0x1p53 + 2.0);
    // One that no bit of the leading 192 shows: 2^74 (2^53 + 1) (2^64 - 1) + 1.
    auto thin = power(127);
    thin += power(74);
    thin = thin * integer{~std::uint64_t{0}};
    CHECK(rounded_quotient(thin, -74, ~std::uint64_t{0}) == 0x1p53);
    thin += integer{1};
    CHECK(rounded_quotient(thin, -74, ~std::uint64_t{0}) == 0x1p53 + 2.0);
    CHECK(rounded_quotient(thin, -74, 1, ~std::uint64_t{0}) == 0x1p53 + 2.0);
    CHECK(rounded_quotient(integer{0}, 0, 3, 5) == 0.0);
    CHECK(!std::signbit(rounded_quotient(-integer{0}, 0, 3)));
}

TEST_CASE("rounded_quotient: the nearest double, against big integers") {
    std::mt19937_64 random(11);
    for (int i = 0; i < 3000; ++i) {
        auto const x = random_number(random);
        auto const first = random_divisor(random);
        auto const second = random_divisor(random);
        auto const got = rounded_quotient(x.a, -298, first, second);
        auto const divisor = tally::testing::multiply(from_unsigned<48>(first), from_unsigned<48>(second));
        CAPTURE(i);
        CHECK(is_nearest(got, x.b, -298, divisor));
    }
}

TEST_CASE("wide_integer: sums, differences and products, against big integers") {
    std::mt19937_64 random(12);
    for (int i = 0; i < 300; ++i) {
        auto const x = random_number(random);
        auto const y = random_number(random);
        auto const one = from_unsigned<48>(1);
        auto sum = x.b;
        sum += y.b;
        auto difference = x.b;
        difference += -y.b;
        auto a = x.a;
        a += y.a;
        CHECK(is_nearest(rounded_quotient(a, -298), sum, -298, one));
        a = x.a;
        a -= y.a;
        CHECK(is_nearest(rounded_quotient(a, -298), difference, -298, one));
        CHECK(is_nearest(rounded_quotient(x.a * y.a, -298), tally::testing::multiply(x.b, y.b), -298, one));
        // All bits: the difference of equal numbers, computed in two ways.
        auto square = (x.a * x.a);
        square -= y.a * y.a;
        auto other = x.a;
        other += y.a;
        a = x.a;
        a -= y.a;
        square -= other * a;
        CHECK(rounded_quotient(square, 0) == 0.0);
    }
}
