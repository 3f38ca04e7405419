// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/value_log_sum_exp.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using tally::testing::near;
using tally::testing::value_of;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
using metric = tally::value_log_sum_exp<double>;

} // namespace

TEST_CASE("value_log_sum_exp: log of a sum that does not fit a double") {
    std::vector<double> const x{1000.0, 1000.0, 999.0};
    CHECK(value_of<metric>(tally::values(x)).value() == near(1000.0 + std::log(2.0 + std::exp(-1.0)), 1e-15));
    std::vector<double> const small{-2000.0, -2001.0};
    CHECK(value_of<metric>(tally::values(small)).value() == near(-2000.0 + std::log1p(std::exp(-1.0)), 1e-15));
}

TEST_CASE("value_log_sum_exp: all -inf stays -inf, joined with 0 it is 0") {
    std::vector<double> const nothing(2, -infinity);
    std::vector<double> const zero(1, 0.0);
    CHECK(value_of<metric>(tally::values(nothing)).value() == -infinity);
    auto const update = [&](auto& tracker, int rank) { tracker.update(tally::values(rank == 0 ? nothing : zero)); };
    for (auto const& each : tally::testing::values_of_replicas<metric>(2, update)) {
        CHECK(each.value() == 0.0);
    }
    CHECK(value_of<metric>(tally::values(std::vector<double>{infinity, 1.0})).value() == infinity);
}

TEST_CASE("value_log_sum_exp: no data, NaN, weights") {
    CHECK(value_of<metric>(tally::values(std::vector<double>{})).why() == tally::reason::no_samples);
    auto const skipped = value_of<metric>(tally::values(std::vector<double>{nan_value, 2.0}));
    CHECK(skipped.value() == 2.0);
    CHECK(skipped.dropped() == 1);
    std::vector<double> const x{0.0, 0.0};
    using weighted = tally::weighted<metric, double>;
    CHECK(value_of<weighted>(tally::values(x), tally::weights(std::vector<double>{3.0, 5.0})).value() ==
          near(std::log(8.0), 1e-15));
    CHECK(value_of<weighted>(tally::values(x), tally::weights(std::vector<double>{1.0, 1.0})).value() ==
          value_of<metric>(tally::values(x)).value());
    auto const refused = value_of<weighted>(tally::values(x), tally::weights(std::vector<double>{1.0, -1.0}));
    CHECK(refused.value() == 0.0);
    CHECK(refused.dropped() == 1);
}
