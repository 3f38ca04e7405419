// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/metric/histogram.hpp>

#include "support/engine.hpp"
#include "support/value_of.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/core/inputs.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using tally::testing::value_of;
using counts = std::vector<std::uint64_t>;
using tenths = tally::histogram<tally::linear_bins<10>>;

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST_CASE("histogram: agrees with a search of the edges, last bin closed") {
    using bins = tally::linear_bins<7, std::ratio<-1>, std::ratio<5, 2>>;
    std::vector<double> values;
    for (int i = -30; i <= 60; ++i) {
        values.push_back(i / 20.0);
    }
    for (std::size_t k = 0; k <= bins::bins; ++k) {
        values.push_back(bins::edge(k));
        values.push_back(std::nextafter(bins::edge(k), -10.0));
        values.push_back(std::nextafter(bins::edge(k), 10.0));
    }
    auto const h = value_of<tally::histogram<bins, double>>(tally::values(values));
    REQUIRE(h.edges.size() == bins::bins + 1);
    counts expected(bins::bins);
    std::uint64_t below = 0;
    std::uint64_t above = 0;
    for (auto const x : values) {
        below += x < h.edges.front() ? 1 : 0;
        above += x > h.edges.back() ? 1 : 0;
        for (std::size_t b = 0; b < bins::bins; ++b) {
            expected[b] +=
                x >= h.edges[b] && (x < h.edges[b + 1] || (b + 1 == bins::bins && x == h.edges[b + 1])) ? 1 : 0;
        }
    }
    CHECK(h.counts == expected);
    CHECK(h.below == below);
    CHECK(h.above == above);
    CHECK(h.nans == 0);
}

TEST_CASE("histogram: infinities are below and above, NaN is counted apart, no data is all zero") {
    auto const h =
        value_of<tenths>(tally::values(std::vector<float>{-infinity, infinity, nan_value, nan_value, .5F, 2}));
    CHECK(h.below == 1);
    CHECK(h.above == 2);
    CHECK(h.nans == 2);
    CHECK(h.counts == counts{0, 0, 0, 0, 0, 1, 0, 0, 0, 0});
    CHECK(value_of<tenths>(tally::values(std::vector<float>{})).counts == counts(10));
    CHECK(tally::testing::tracker<tenths>{}.finalize().get().edges.size() == 11);
}

TEST_CASE("histogram: weights add up in the bins, NaN stay whole") {
    auto const h = value_of<tally::weighted<tenths>>(tally::values(std::vector<float>{.05F, .05F, nan_value, -1}),
                                                     tally::weights(std::vector<float>{.5F, .25F, 7, 2}));
    CHECK(h.counts[0] == 0.75);
    CHECK(h.below == 2.0);
    CHECK(h.nans == 1);
    auto const masked =
        value_of<tenths>(tally::values(std::vector<float>{.05F, .05F}), tally::mask(std::vector<int>{1, 0}));
    CHECK(masked.counts[0] == 1);
}

TEST_CASE("histogram: integers of any kind, half and bfloat16") {
    using bytes = tally::histogram<tally::linear_bins<4, std::ratio<-128>, std::ratio<128>>>;
    CHECK(value_of<bytes>(tally::values(std::vector<std::int8_t>{-128, -1, 0, 127})).counts == counts{1, 1, 1, 1});
    CHECK(value_of<bytes>(tally::values(std::vector<std::uint8_t>{0, 255})).above == 1);
    using wide = tally::histogram<tally::linear_bins<2, std::ratio<-10>, std::ratio<10>>, std::int64_t>;
    CHECK(value_of<wide>(tally::values(std::vector<std::int64_t>{-10, 10, 11})).counts == counts{1, 1});
    CHECK(value_of<tenths>(tally::values(std::vector<tally::half_bits>{{0x3800}})).counts[5] == 1);
    CHECK(value_of<tenths>(tally::values(std::vector<tally::bfloat16_bits>{{0x3f00}})).counts[5] == 1);
}

TEST_CASE("histogram: a matrix counts all its elements; unequal replicas add up exactly") {
    std::vector<float> const v{.05F, .15F, .25F, .35F, .45F, .55F};
    tally::testing::tracker<tenths> tracker;
    tracker.update(tally::values(v.data(), 2, 3));
    CHECK(tracker.finalize().get().counts == counts{1, 1, 1, 1, 1, 1, 0, 0, 0, 0});
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        tally::testing::tracker<tenths> part;
        if (comm.rank() != 1) {
            part.update(tally::values(v.data(), comm.rank() == 0 ? 1 : 6));
        }
        CHECK(part.combine(comm).get().counts == counts{2, 1, 1, 1, 1, 1, 0, 0, 0, 0});
    });
}

} // namespace
