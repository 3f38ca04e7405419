// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: NaN counted in the first bin or lost, and histograms that fail because nothing is in range.
#include "support/engine.hpp"

#include <tally/metric/histogram.hpp>

#include <tally/core/inputs.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ratio>
#include <vector>

namespace {

using counts = std::vector<std::uint64_t>;
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

template <class M>
auto histogram_of(std::vector<float> const& values) {
    tally::testing::tracker<M> tracker;
    tracker.update(tally::values(values));
    return tracker.finalize().get();
}

TEST_CASE("histogram of NaN: NaN is in no bin and has a count of its own") {
    auto const h = histogram_of<tally::histogram<tally::linear_bins<10>>>({nan_value, -nan_value, .05F, .15F, .95F});
    CHECK(h.counts == counts{1, 1, 0, 0, 0, 0, 0, 0, 0, 1});
    CHECK(h.nans == 2);
    CHECK(h.below == 0);
    CHECK(h.above == 0);
}

TEST_CASE("histogram without finite values in range: zero counts beside the count of everything else, no exception") {
    constexpr std::intmax_t far = 1'000'000'000'000'000'000;
    using wide = tally::histogram<tally::linear_bins<5, std::ratio<-far>, std::ratio<far>>>;
    auto const nans = histogram_of<wide>(std::vector<float>(8, nan_value));
    CHECK(nans.counts == counts(5));
    CHECK(nans.nans == 8);
    auto const outside = histogram_of<wide>({1e30F, -1e30F});
    CHECK(outside.counts == counts(5));
    CHECK(outside.below == 1);
    CHECK(outside.above == 1);
    auto const nothing = histogram_of<wide>({});
    CHECK(nothing.counts == counts(5));
    CHECK(nothing.nans + nothing.below + nothing.above == 0);
}

} // namespace
