// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include "support/big_integer.hpp"

#include <tally/accumulator/compensated_sum.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

using namespace tally;
using namespace tally::testing;

static_assert(accumulator<compensated_sum<>> && sizeof(compensated_sum<>) == 16 && sizeof(compensated_sum<float>) == 8);
static_assert(lanes_of<compensated_sum<>>() == lane_sizes{0, 0, 16}); // gathered, merged in rank order
static_assert(accepts<compensated_sum<>, float> && accepts<compensated_sum<>, int>);
static_assert(accepts_weighted<compensated_sum<>, one_t, double>);

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Exactly 1 in the middle of numbers that cancel: a plain sum of doubles gives something else.
std::vector<double> ill_conditioned(std::size_t pairs) {
    std::mt19937_64 random{pairs};
    std::normal_distribution<double> normal;
    std::vector<double> x;
    for (std::size_t i = 0; i < pairs; ++i) {
        x.push_back(std::ldexp(normal(random), 30));
    }
    x.push_back(1.0);
    for (std::size_t i = 0; i < pairs; ++i) {
        x.push_back(-x[i]);
    }
    return x;
}

double sum_of_sizes(std::vector<double> const& x) {
    double sum = 0.0;
    for (auto const each : x) {
        sum += std::fabs(each);
    }
    return sum;
}

} // namespace

TEST_CASE("compensated_sum: within its bound where a plain sum is not") {
    auto const x = ill_conditioned(5000);
    auto const n = static_cast<double>(x.size());
    auto const bound = n * n * 0x1p-106 * sum_of_sizes(x) + 0x1p-53;
    double plain = 0.0;
    compensated_sum<> one_by_one;
    for (auto const each : x) {
        plain += each;
        one_by_one.deposit(each);
    }
    compensated_sum<> block;
    block.deposit_block(x.data(), x.size());
    compensated_sum<> merged;
    for (std::size_t begin = 0; begin < x.size(); begin += 77) {
        compensated_sum<> part;
        part.deposit_block(x.data() + begin, std::min<std::size_t>(77, x.size() - begin));
        merged.merge(part);
    }
    CHECK(std::fabs(plain - 1.0) > 100.0 * bound);
    CHECK(std::fabs(one_by_one.value() - 1.0) <= bound);
    CHECK(std::fabs(block.value() - 1.0) <= bound);
    CHECK(std::fabs(merged.value() - 1.0) <= bound);
}

TEST_CASE("compensated_sum: terms in any order of size") {
    // Neumaier's example, on which Kahan's sum fails.
    compensated_sum<> sum;
    for (double const x : {1.0, 1e100, 1.0, -1e100}) {
        sum.deposit(x);
    }
    CHECK(sum.value() == 2.0);
}

TEST_CASE("compensated_sum: blocks of every length") {
    std::vector<float> x;
    double expected = 0.0; // small integers: exact
    compensated_sum<float> in_float;
    for (std::size_t n = 0; n < 200; ++n) {
        compensated_sum<> block;
        block.deposit_block(x.data(), n);
        CHECK(block.value() == expected);
        in_float = {};
        in_float.deposit_block(x.data(), n);
        CHECK(in_float.value() == static_cast<float>(expected));
        x.push_back(static_cast<float>(n * n % 17) - 5.0F);
        expected += static_cast<double>(x.back());
    }
}

TEST_CASE("compensated_sum<float>: weights") {
    std::mt19937 random{3};
    std::normal_distribution<float> normal;
    compensated_sum<float> sum;
    compensated_sum<float> counted;
    big_integer<20> expected;
    double sizes = 0.0;
    int const n = 3000;
    for (int i = 0; i < n; ++i) {
        auto const x = normal(random);
        auto const w = normal(random);
        sum.deposit(x, w);
        counted.deposit(one, w);
        expected += to_big_product<20>(x, w, -298);
        sizes += std::fabs(static_cast<double>(x) * static_cast<double>(w));
    }
    auto const exact = to_nearest<double>(expected, -298);
    CHECK(std::fabs(static_cast<double>(sum.value()) - exact) <=
          0x1p-24 * std::fabs(exact) + n * double(n) * 0x1p-48 * sizes);
    CHECK(counted.value() != 0.0F);
}

TEST_CASE("compensated_sum: identity, infinities and NaN") {
    compensated_sum<> sum;
    CHECK(sum.value() == 0.0);
    sum.deposit(0.1);
    sum.deposit(1e17);
    auto const before = sum;
    sum.merge(compensated_sum<>{});
    CHECK((sum == before));
    compensated_sum<> other;
    other.merge(before);
    CHECK(other.value() == before.value());
    sum.deposit(infinity);
    sum.deposit(1.0);
    CHECK(sum.value() == infinity);
    other.deposit_block(&infinity, 1);
    other.merge(sum);
    CHECK(other.value() == infinity);
    sum.deposit(-infinity);
    CHECK(std::isnan(sum.value()));
    compensated_sum<float> overflow;
    overflow.deposit(std::numeric_limits<float>::max(), 2.0F);
    CHECK(overflow.value() == std::numeric_limits<float>::infinity());
}
