// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: constant data taken for data with a variance. The mean of equal numbers is rounded away from them,
// so the deviations are tiny but not zero, and a quotient of two such numbers looks like a valid score.
#include "support/value_of.hpp"

#include <tally/metric/correlation.hpp>
#include <tally/metric/r2_score.hpp>
#include <tally/metric/variance.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using tally::testing::value_of;

TEST_CASE("variance, r2_score, pearson_correlation: constant data of any size and split have exactly no variance") {
    for (double const x : {0.1, 1.0 / 3.0, 1e6 + 0.1, -7e-300}) {
        for (std::size_t const n : {2U, 3U, 16U, 17U, 255U, 257U, 1000U}) {
            CAPTURE(x);
            CAPTURE(n);
            std::vector<double> const constant(n, x);
            std::vector<double> other;
            for (std::size_t i = 0; i < n; ++i) {
                other.push_back(static_cast<double>(i));
            }
            CHECK(value_of<tally::variance<double>>(tally::values(constant)).value() == 0.0);
            CHECK(value_of<tally::r2_score<double>>(tally::predictions(other), tally::targets(constant)).why() ==
                  tally::reason::no_variance);
            CHECK(value_of<tally::pearson_correlation<double>>(tally::predictions(other), tally::targets(constant))
                      .why() == tally::reason::no_variance);
        }
    }
    auto const update = [](auto& tracker, int rank) {
        std::vector<double> const constant(static_cast<std::size_t>(3 + 300 * rank), 0.1);
        tracker.update(tally::values(constant));
    };
    for (auto const& each : tally::testing::values_of_replicas<tally::variance<double>>(3, update)) {
        CHECK(each.value() == 0.0);
    }
}
