// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/value_of.hpp"

#include <tally/core/half_bits.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using tally::testing::value_of;

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

} // namespace

TEST_CASE("smallest, largest: extremes of values, negative ones included") {
    std::vector<float> const x{-3.0F, -7.5F, -0.5F};
    CHECK(value_of<tally::smallest<>>(tally::values(x)).value() == -7.5F);
    CHECK(value_of<tally::largest<>>(tally::values(x)).value() == -0.5F);
    std::vector<std::int64_t> const wide{(std::int64_t{1} << 53) + 1, std::int64_t{1} << 53};
    CHECK(value_of<tally::largest<std::int64_t>>(tally::values(wide)).value() == (std::int64_t{1} << 53) + 1);
}

TEST_CASE("smallest, largest: no data, one value, infinities, signed zeros") {
    CHECK(value_of<tally::smallest<>>(tally::values(std::vector<float>{})).why() == tally::reason::no_samples);
    CHECK(value_of<tally::largest<>>(tally::values(std::vector<float>{4.0F})).value() == 4.0F);
    std::vector<float> const x{0.0F, infinity, -0.0F, -infinity};
    CHECK(value_of<tally::smallest<>>(tally::values(x)).value() == -infinity);
    CHECK(value_of<tally::largest<>>(tally::values(x)).value() == infinity);
    std::vector<float> const zeros{0.0F, -0.0F, 0.0F};
    CHECK(std::signbit(value_of<tally::smallest<>>(tally::values(zeros)).value()));
    CHECK_FALSE(std::signbit(value_of<tally::largest<>>(tally::values(zeros)).value()));
}

TEST_CASE("smallest, largest: NaN never wins and is counted") {
    std::vector<float> const x{nan_value, 2.0F, nan_value, 1.0F};
    auto const low = value_of<tally::smallest<>>(tally::values(x));
    CHECK(low.value() == 1.0F);
    CHECK(low.dropped() == 2);
    auto const high = value_of<tally::largest<>>(tally::values(std::vector<float>(300, nan_value)));
    CHECK(high.why() == tally::reason::no_samples);
    CHECK(high.dropped() == 300);
}

TEST_CASE("smallest, largest: samples of weight zero and masked ones don't take part") {
    std::vector<float> const x{1.0F, 5.0F, 9.0F};
    std::vector<float> const w{0.0F, 2.0F, 0.0F};
    CHECK(value_of<tally::weighted<tally::largest<>>>(tally::values(x), tally::weights(w)).value() == 5.0F);
    CHECK(value_of<tally::weighted<tally::smallest<>>>(tally::values(x), tally::weights(w)).value() == 5.0F);
    std::vector<std::uint8_t> const keep{1, 1, 0};
    CHECK(value_of<tally::largest<>>(tally::values(x), tally::mask(keep)).value() == 5.0F);
    std::vector<float> const ones{1.0F, 1.0F, 1.0F};
    CHECK(value_of<tally::weighted<tally::largest<>>>(tally::values(x), tally::weights(ones)).value() == 9.0F);
}

TEST_CASE("smallest_at, largest_at: the lowest position wins a tie, whatever replica holds it") {
    std::vector<float> const x{2.0F, 7.0F, 1.0F, 7.0F, 1.0F};
    auto const high = value_of<tally::largest_at<>>(tally::values(x), tally::positions(100));
    CHECK(high.value.value() == 7.0F);
    CHECK(high.position.value() == 101);
    auto const low = value_of<tally::smallest_at<>>(tally::values(x), tally::positions(100));
    CHECK(low.value.value() == 1.0F);
    CHECK(low.position.value() == 102);

    // Rank 0 holds the later part of the data.
    auto const update = [&](auto& tracker, int rank) {
        if (rank == 0) {
            tracker.update(tally::values(x.data() + 2, 3), tally::positions(102));
        } else if (rank == 1) {
            tracker.update(tally::values(x.data(), 2), tally::positions(100));
        }
    };
    for (auto const& each : tally::testing::values_of_replicas<tally::largest_at<>>(3, update)) {
        CHECK(each.value.value() == 7.0F);
        CHECK(each.position.value() == 101);
    }
}

TEST_CASE("smallest_at, largest_at: NaN has no position, no data has a reason for both") {
    std::vector<double> const x{std::numeric_limits<double>::quiet_NaN(), -1.0};
    auto const low = value_of<tally::smallest_at<double>>(tally::values(x), tally::positions(0));
    CHECK(low.value.value() == -1.0);
    CHECK(low.position.value() == 1);
    CHECK(low.position.dropped() == 1);
    auto const none = value_of<tally::largest_at<double>>(tally::values(x.data(), 1), tally::positions(0));
    CHECK(none.value.why() == tally::reason::no_samples);
    CHECK(none.position.why() == tally::reason::no_samples);
    CHECK(none.position.dropped() == 1);
}

TEST_CASE("smallest, largest: half inputs") {
    std::vector<tally::half_bits> const x{tally::narrow_to<tally::half_bits>(-2.0F),
                                          tally::narrow_to<tally::half_bits>(65504.0F)};
    CHECK(value_of<tally::smallest<>>(tally::values(x)).value() == -2.0F);
    CHECK(value_of<tally::largest<>>(tally::values(x)).value() == 65504.0F);
}
