// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/core/order_key.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

static_assert(tally::orderable<float> && tally::orderable<std::uint64_t> && tally::orderable<bool>);
static_assert(!tally::orderable<long double> && !tally::orderable<char const*>);

namespace {

/// Magnitudes of T in ascending order, 0 to infinity: every `stride`-th, and all neighbours of the classes' limits.
template <class T, class Bits>
std::vector<Bits> magnitudes(Bits stride) {
    using limits = std::numeric_limits<T>;
    auto const infinity = std::bit_cast<Bits>(limits::infinity());
    std::vector<Bits> result;
    for (Bits bits = 0; bits < infinity - stride; bits += stride) {
        result.push_back(bits);
    }
    for (T const edge : {limits::denorm_min(), limits::min(), T{1}, limits::max()}) {
        auto const at = std::bit_cast<Bits>(edge);
        for (Bits bits = at < 3 ? 0 : at - 3; bits != at + 4 && bits <= infinity; ++bits) {
            result.push_back(bits);
        }
    }
    result.push_back(infinity);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

template <class T, class Bits>
std::uint64_t count_faults(Bits stride) {
    constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
    auto const sizes = magnitudes<T, Bits>(stride);
    std::uint64_t faults = 0;
    std::uint64_t previous = 0;
    bool first = true;
    auto const step = [&](Bits bits) {
        auto const x = std::bit_cast<T>(bits);
        auto const key = tally::order_key(x);
        faults += !first && key <= previous;
        faults += std::bit_cast<Bits>(tally::from_order_key<T>(key)) != bits;
        previous = key;
        first = false;
    };
    for (auto each = sizes.rbegin(); each != sizes.rend(); ++each) {
        step(*each | sign); // from -infinity up to -0
    }
    for (auto const each : sizes) {
        step(each); // from +0 up to infinity
    }
    return faults;
}

template <class T>
std::uint64_t count_integer_faults() {
    using limits = std::numeric_limits<T>;
    std::vector<T> const ascending{limits::min(),
                                   static_cast<T>(limits::min() + 1),
                                   static_cast<T>(limits::max() / 2),
                                   static_cast<T>(limits::max() / 2 + 1),
                                   static_cast<T>(limits::max() - 1),
                                   limits::max()};
    std::uint64_t faults = 0;
    for (auto const a : ascending) {
        faults += tally::from_order_key<T>(tally::order_key(a)) != a;
        for (auto const b : ascending) {
            faults += (a < b) != (tally::order_key(a) < tally::order_key(b));
        }
    }
    return faults;
}

} // namespace

TEST_CASE("order_key: floats keep their order, -0 below +0, and come back bit by bit") {
    CHECK(count_faults<float, std::uint32_t>(997) == 0); // 2.1 million values of each sign
    CHECK(count_faults<double, std::uint64_t>(std::uint64_t{0xffff'ffff'ffff} * 19) == 0);
    CHECK(tally::order_key(-0.0F) < tally::order_key(0.0F));
    CHECK(tally::order_key(-0.0) + 1 == tally::order_key(0.0));
}

TEST_CASE("order_key: integers keep their order up to their limits") {
    CHECK(count_integer_faults<std::int8_t>() == 0);
    CHECK(count_integer_faults<std::uint8_t>() == 0);
    CHECK(count_integer_faults<std::int16_t>() == 0);
    CHECK(count_integer_faults<std::int32_t>() == 0);
    CHECK(count_integer_faults<std::uint32_t>() == 0);
    CHECK(count_integer_faults<std::int64_t>() == 0);
    CHECK(count_integer_faults<std::uint64_t>() == 0);
    CHECK(tally::order_key(false) < tally::order_key(true));
}

TEST_CASE("reduction_key: the wanted end has the highest key, NaN of either sign a higher one") {
    using tally::detail::from_reduction_key;
    using tally::detail::reduction_key;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (double const nan : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::quiet_NaN()}) {
        CHECK(reduction_key<true>(nan) > reduction_key<true>(infinity));
        CHECK(reduction_key<false>(nan) > reduction_key<false>(-infinity));
        CHECK(std::isnan(from_reduction_key<true, double>(reduction_key<true>(nan))));
        CHECK(std::isnan(from_reduction_key<false, double>(reduction_key<false>(nan))));
    }
    for (double const x : {-infinity, -1.0, -0.0, 0.0, 5e-324, infinity}) {
        CHECK(from_reduction_key<true, double>(reduction_key<true>(x)) == x);
        CHECK(from_reduction_key<false, double>(reduction_key<false>(x)) == x);
    }
    CHECK(reduction_key<false>(1.0F) > reduction_key<false>(2.0F));
    // For integers the highest key is a value like any other.
    constexpr auto all_ones = ~std::uint64_t{0};
    CHECK(from_reduction_key<true, std::uint64_t>(reduction_key<true>(all_ones)) == all_ones);
    CHECK(from_reduction_key<false, std::uint64_t>(reduction_key<false>(std::uint64_t{0})) == 0);
}
