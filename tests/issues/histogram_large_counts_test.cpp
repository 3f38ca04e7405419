// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: counters of a histogram that stop at 2^24 because they are floats.
#include "support/engine.hpp"

#include <tally/metric/histogram.hpp>

#include <tally/core/inputs.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using thirds = tally::histogram<tally::linear_bins<3>, double>;
using counts = std::vector<std::uint64_t>;

/// i / (n - 1) for i = 0 ... n - 1.
std::vector<double> evenly_spaced(std::size_t n) {
    std::vector<double> x;
    for (std::size_t i = 0; i < n; ++i) {
        x.push_back(static_cast<double>(i) / static_cast<double>(n - 1));
    }
    return x;
}

TEST_CASE("large counts: evenly spaced values are counted exactly, as integer arithmetic says") {
    tally::testing::tracker<thirds> tracker;
    tracker.update(tally::values(evenly_spaced(1U << 16)));
    CHECK(tracker.finalize().get().counts == counts{21845, 21845, 21846});
}

TEST_CASE("large counts: the last of 2^28 values are counted as well as the first") {
    // The state after all but the last 2^16 of 2^28 values in 3 bins, which are known from integers.
    constexpr std::uint64_t of_bin[]{89478485, 89478485, 89478486};
    constexpr std::uint64_t last[]{21845, 21845, 21846};
    tally::testing::tracker<thirds> tracker;
    auto states = tracker.merged();
    for (std::size_t b = 0; b < 3; ++b) {
        states.template get<1>().cells.data()[b + 1] = tally::count{of_bin[b] - last[b]};
    }
    tracker.assign(states);
    tracker.update(tally::values(evenly_spaced(1U << 16)));
    auto const h = tracker.finalize().get();
    CHECK(h.counts == counts{of_bin[0], of_bin[1], of_bin[2]});
    CHECK(h.counts[0] + h.counts[1] + h.counts[2] == std::uint64_t{1} << 28);
}

TEST_CASE("large counts: beyond 2^32, and weights beyond 2^24 one by one") {
    tally::testing::tracker<thirds> tracker;
    auto states = tracker.merged();
    states.template get<1>().cells.data()[1] = tally::count{(std::uint64_t{1} << 32) - 1};
    tracker.assign(states);
    tracker.update(tally::values(std::vector<double>{.1, .1}));
    CHECK(tracker.finalize().get().counts[0] == (std::uint64_t{1} << 32) + 1);

    using weighted = thirds::with_weighting<tally::by_weight<>>;
    tally::testing::tracker<weighted> heavy;
    auto heavy_states = heavy.merged();
    heavy_states.template get<1>().cells.data()[1] = tally::weight_sum{16777216.0};
    heavy.assign(heavy_states);
    heavy.update(tally::values(std::vector<double>{.1}), tally::weights(std::vector<float>{1}));
    CHECK(heavy.finalize().get().counts[0] == 16777217.0);
}

} // namespace
