// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: a guard on the sign of a sum of weights instead of on zero (Keras); NaN removed from the values and not
// from their weights (torchmetrics); "no data" and "weights that sum to zero" taken for each other.
#include "support/value_of.hpp"

#include <tally/metric/mean.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

tally::result<double> weighted_mean(std::vector<float> const& x, std::vector<float> const& w) {
    return tally::testing::value_of<tally::weighted<tally::mean<>>>(tally::values(x), tally::weights(w));
}

} // namespace

TEST_CASE("weights: negative ones are legal, a sum of zero has no mean") {
    CHECK(weighted_mean({1, 2}, {-1, -3}).value() == 1.75);
    CHECK(weighted_mean({1, 2}, {1, -1}).why() == tally::reason::zero_denominator);
    CHECK(std::isnan(weighted_mean({1, 2}, {1, -1}).as_double()));
    CHECK(weighted_mean({}, {}).why() == tally::reason::no_samples);
}

TEST_CASE("NaN: the value is dropped together with its weight, and counted") {
    auto const mean = weighted_mean({1, NAN, 3}, {1, 1, 2});
    CHECK(mean.value() == doctest::Approx(7.0 / 3.0).epsilon(1e-15));
    CHECK(mean.dropped() == 1);
}
