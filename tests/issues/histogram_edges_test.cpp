// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: bins with rounded widths, an open right edge, or a negative number taken as an index.
#include <tally/metric/calibration_error.hpp>
#include <tally/metric/histogram.hpp>

#include "support/engine.hpp"
#include "support/near.hpp"

#include <tally/core/inputs.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using tally::testing::near;
using counts = std::vector<std::uint64_t>;

TEST_CASE("histogram edges: a confidence of exactly 1 is in the last bin, not in a bin of its own") {
    tally::testing::tracker<tally::binary_calibration_error<10, tally::norm::l1, double>> tracker;
    tracker.update(tally::predictions(std::vector<double>{.95, 1.0}), tally::targets(std::vector<int>{1, 0}));
    CHECK(tracker.finalize().value() == near(0.475, 1e-12));
}

TEST_CASE("histogram edges: the width of bins of integers is not rounded to an integer") {
    using bins = tally::linear_bins<7, std::ratio<0>, std::ratio<12>>;
    tally::testing::tracker<tally::histogram<bins, double>> tracker;
    tracker.update(tally::values(std::vector<int>{2, 6, 7, 2, 3, 0, 2, 2, 6, 999}));
    auto const h = tracker.finalize().get();
    CHECK(h.counts == counts{1, 5, 0, 2, 1, 0, 0});
    CHECK(h.above == 1);
}

TEST_CASE("histogram edges: negative int8 values are counted where they belong") {
    using bins = tally::linear_bins<4, std::ratio<-60>, std::ratio<64>>;
    tally::testing::tracker<tally::histogram<bins>> tracker;
    tracker.update(tally::values(std::vector<std::int8_t>{-60, -1, 10, 63}));
    CHECK(tracker.finalize().get().counts == counts{1, 1, 1, 1});
    CHECK(tracker.finalize().get().edges == std::vector<double>{-60, -29, 2, 33, 64});
}

} // namespace
