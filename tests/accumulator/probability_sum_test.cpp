// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/big_integer.hpp"

#include <tally/accumulator/probability_sum.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/parts.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using tally::probability_sum;

static_assert(tally::accumulator<probability_sum>);
static_assert(sizeof(probability_sum) == 16);
static_assert(tally::lanes_of<probability_sum>() == tally::lane_sizes{2, 0, 0});
static_assert(tally::detail::merges_in_any_order<probability_sum>);
static_assert(!tally::accepts_weighted<probability_sum, float, float>);

namespace {

/// In units of 2^-54, ties to even, by the library of the compiler.
std::int64_t units(double x) { return static_cast<std::int64_t>(std::nearbyint(std::ldexp(x, 54))); }

} // namespace

TEST_CASE("probability_sum: multiples of 2^-54, added as integers") {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform;
    probability_sum sum;
    tally::testing::big_integer<6> expected;
    for (int i = 0; i < 20000; ++i) {
        auto const x = i % 3 == 0 ? uniform(random) : std::ldexp(uniform(random), -static_cast<int>(random() % 80));
        if (i % 2 == 0) {
            sum.deposit(x);
            expected += tally::testing::big_integer<6>(units(x));
        } else {
            sum.deposit(static_cast<float>(x));
            expected += tally::testing::big_integer<6>(units(static_cast<double>(static_cast<float>(x))));
        }
    }
    CHECK(sum.value() == tally::testing::to_nearest<double>(expected, -54));
}

TEST_CASE("probability_sum: floats from 2^-31 on are exact, ends included, others are not taken") {
    probability_sum sum;
    for (float const x : {1.0F, 0.0F, -0.0F, 0x1.fffffep-31F, 0x1p-54F}) {
        sum.deposit(x);
    }
    CHECK(sum.value() == 1.0 + 0x1.fffffep-31 + 0x0p0); // the last is below the last bit of a double
    auto const before = sum;
    for (double const x : {1.0 + 0x1p-52, -0x1p-60, 7.0, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
        sum.deposit(x);
    }
    CHECK(sum == before);
    CHECK(probability_sum{}.value() == 0.0);
}

TEST_CASE("probability_sum: 2^40 numbers, by doubling, and over the wire") {
    probability_sum sum;
    sum.deposit(1.0F);
    sum.deposit(0x1p-30F);
    for (int doubling = 0; doubling < 39; ++doubling) {
        auto const copy = sum;
        sum.merge(copy);
    }
    CHECK(sum.value() == 0x1p39 + 0x1p9);
    std::vector<std::uint64_t> total(2);
    for (int replica = 0; replica < 2; ++replica) {
        std::vector<std::uint64_t> words(2);
        tally::word_writer writer{words.data(), nullptr};
        auto copy = sum;
        copy.travel(writer);
        CHECK(words[0] < std::uint64_t{1} << 32);
        total[0] += words[0];
        total[1] += words[1];
    }
    probability_sum combined;
    tally::word_reader reader{total.data(), nullptr};
    combined.travel(reader);
    CHECK(combined.value() == 0x1p40 + 0x1p10);
}
