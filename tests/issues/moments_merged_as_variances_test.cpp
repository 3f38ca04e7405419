// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: the wrong merge formula. Sums of squared deviations of replicas were merged as if they were variances,
// which shows when replicas hold different numbers of samples.
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/correlation.hpp>
#include <tally/metric/variance.hpp>

#include <doctest/doctest.h>

#include <vector>

using tally::testing::near;

namespace {

std::vector<double> const x[] = {{1, 2, 3}, {10, 11}};
std::vector<double> const y[] = {{1, 2, 4}, {5, 3}};

} // namespace

TEST_CASE("pearson_correlation: unequal replicas give the correlation of the union") {
    auto const update = [](auto& tracker, int rank) {
        tracker.update(tally::predictions(x[rank]), tally::targets(y[rank]));
    };
    for (auto const& each : tally::testing::values_of_replicas<tally::pearson_correlation<double>>(2, update)) {
        CHECK(each.value() == near(0.6361670537, 1e-9)); // merged as variances: 0.6015331
    }
}

TEST_CASE("variance: unequal replicas give the variance of the union") {
    auto const update = [](auto& tracker, int rank) { tracker.update(tally::values(x[rank])); };
    for (auto const& each : tally::testing::values_of_replicas<tally::variance<double>>(2, update)) {
        CHECK(each.value() == near(22.3, 1e-14)); // mean 5.4, squares 19.36 + 11.56 + 5.76 + 21.16 + 31.36 over 4
    }
}
