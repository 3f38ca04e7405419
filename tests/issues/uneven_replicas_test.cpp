// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: averaging what must be added. Values and counts averaged over replicas separately (the count in
// integers), and samples that were repeated to even out the replicas counted twice (Lightning, PyTorch samplers).
#include "support/value_of.hpp"

#include <tally/metric/mean.hpp>

#include <doctest/doctest.h>

#include <vector>

TEST_CASE("uneven replicas: the mean of all samples, not of means, and no truncated count") {
    std::vector<float> const parts[] = {{1, 2, 3}, {1, 3}}; // sums 6 over 3 and 4 over 2
    auto const values = tally::testing::values_of_replicas<tally::mean<>>(
        2, [&](auto& tracker, int rank) { tracker.update(tally::values(parts[rank])); });
    CHECK(values[0].value() == 2.0); // the fault: 2.5
    CHECK(values[1].value() == 2.0);
}

TEST_CASE("uneven replicas: repeated samples are masked, so they count once") {
    // 0 ... 8 on two replicas of five: one sample is there only to fill up.
    std::vector<float> const parts[] = {{0, 2, 4, 6, 8}, {1, 3, 5, 7, 0}};
    std::vector<unsigned char> const real[] = {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 0}};
    auto const values = tally::testing::values_of_replicas<tally::mean<>>(
        2, [&](auto& tracker, int rank) { tracker.update(tally::values(parts[rank]), tally::mask(real[rank])); });
    CHECK(values[0].value() == 4.0); // the fault: 3.6
}
