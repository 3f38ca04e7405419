// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: a count formed as the difference of sums of weights leaves a rest of rounding where there are no samples,
// and 0/0 becomes a number.
#include "support/value_of.hpp"

#include <tally/metric/precision_recall.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <vector>

TEST_CASE("weighted specificity: a class without negatives has none, whatever the weights") {
    std::vector<double> const w{0.9518555667001003, 0.17352056168505517, 0.39317953861584753, 0.63089267803410232,
                                0.24674022066198595};
    std::vector<int> const predicted{0, 1, 0, 1, 1};
    std::vector<int> const truth(5, 0);
    auto const specificity = tally::testing::value_of<tally::weighted<tally::specificity<tally::classes<2>>, double>>(
        tally::predictions(predicted), tally::targets(truth), tally::weights(w));
    auto const total = w[0] + w[1] + w[2] + w[3] + w[4];
    // Class 0 has no negatives and is left out; of class 1 all samples are negatives, the predicted ones wrongly.
    CHECK(specificity.value() == doctest::Approx((w[0] + w[2]) / total).epsilon(1e-14));
}
