// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/log_sum_exp.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

static_assert(tally::accumulator<tally::log_sum_exp>);
static_assert(sizeof(tally::log_sum_exp) == 32);
static_assert(tally::lanes_of<tally::log_sum_exp>() == tally::lane_sizes{0, 0, 32});

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

tally::log_sum_exp of(std::vector<double> const& x) {
    tally::log_sum_exp a;
    tally::deposit_block(a, x.data(), x.size());
    return a;
}

/// log(sum(w exp(x))), largest value taken out first.
long double reference(std::vector<double> const& x, std::vector<double> const& w) {
    long double const largest = *std::max_element(x.begin(), x.end());
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        sum += static_cast<long double>(w[i]) * std::exp(static_cast<long double>(x[i]) - largest);
    }
    return largest + std::log(sum);
}

} // namespace

TEST_CASE("log_sum_exp: [-inf, -inf] is -inf; merged with [0] it is 0") {
    auto a = of({-infinity, -infinity});
    CHECK(a.value().value() == -infinity);
    auto b = of({0.0});
    auto reversed = b;
    reversed.merge(a);
    a.merge(b);
    CHECK(a.value().value() == 0.0);
    CHECK(reversed.value().value() == 0.0);
    CHECK(a.deposits() == 3);
}

TEST_CASE("log_sum_exp: no data has no value, and merging it changes nothing") {
    tally::log_sum_exp none;
    CHECK(none.value().why() == tally::reason::no_samples);
    none.merge(tally::log_sum_exp{});
    CHECK(none.value().why() == tally::reason::no_samples);
    auto a = of({1.0, 2.0});
    auto const before = a;
    a.merge(none);
    CHECK(a == before);
    none.merge(before);
    CHECK(none == before);
}

TEST_CASE("log_sum_exp: +inf wins and stays, in any order") {
    CHECK(of({1.0, infinity, 2.0}).value().value() == infinity);
    CHECK(of({infinity, infinity, -infinity}).value().value() == infinity);
    auto a = of({-infinity});
    a.merge(of({infinity}));
    a.merge(of({5.0}));
    CHECK(a.value().value() == infinity);
    auto b = of({5.0});
    b.merge(of({infinity}));
    CHECK(b.value().value() == infinity);
}

TEST_CASE("log_sum_exp: does not overflow or vanish") {
    CHECK(of({1000.0, 1000.0}).value().value() == doctest::Approx(1000.0 + std::log(2.0)).epsilon(1e-15));
    CHECK(of({-1000.0, -1000.0}).value().value() == doctest::Approx(-1000.0 + std::log(2.0)).epsilon(1e-15));
    constexpr auto largest = std::numeric_limits<double>::max();
    CHECK(of({largest, -largest}).value().value() == largest);
    CHECK(of({-largest, largest, 0.0}).value().value() == largest);
}

TEST_CASE("log_sum_exp: NaN and weights that are not positive are dropped and counted") {
    tally::log_sum_exp a;
    a.deposit(not_a_number);
    a.deposit(7.0, 0.0);
    a.deposit(7.0, -1.0);
    a.deposit(7.0, not_a_number);
    a.deposit(not_a_number, 1.0);
    CHECK(a.value().why() == tally::reason::no_samples);
    CHECK(a.value().dropped() == 5);
    a.deposit(0.0, 4.0F);
    CHECK(a.value().value() == doctest::Approx(std::log(4.0)).epsilon(1e-15));
    CHECK(a.value().dropped() == 5);
    a.deposit(-infinity, 3.0);
    CHECK(a.value().value() == doctest::Approx(std::log(4.0)).epsilon(1e-15));
    CHECK(a.deposits() == 2);
}

TEST_CASE("log_sum_exp: unequal parts agree with the definition") {
    std::mt19937_64 random{3};
    std::normal_distribution<double> normal{0.0, 30.0};
    for (std::size_t n = 1; n <= 70; ++n) {
        std::vector<double> x(n);
        std::vector<double> w(n);
        for (std::size_t i = 0; i < n; ++i) {
            x[i] = normal(random);
            w[i] = static_cast<double>(1 + random() % 8) / 4;
        }
        auto const expected = static_cast<double>(reference(x, std::vector<double>(n, 1.0)));
        auto const expected_weighted = static_cast<double>(reference(x, w));
        // A rounding for each term and rescaling, in units of the sum: absolute in the logarithm.
        auto const bound = 4 * static_cast<double>(n) * 0x1p-53 + 0x1p-52 * std::fabs(expected);
        for (std::size_t const cut : {std::size_t{0}, n / 7, n - 1}) {
            tally::log_sum_exp parts[2];
            tally::log_sum_exp weighted[2];
            for (std::size_t i = 0; i < n; ++i) {
                parts[i < cut ? 0 : 1].deposit(x[i]);
                weighted[i < cut ? 0 : 1].deposit(x[i], w[i]);
            }
            parts[0].merge(parts[1]);
            weighted[0].merge(weighted[1]);
            CHECK(std::fabs(parts[0].value().value() - expected) <= bound);
            CHECK(std::fabs(weighted[0].value().value() - expected_weighted) <= bound);
        }
    }
}
