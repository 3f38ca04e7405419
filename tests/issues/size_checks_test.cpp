// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Sizes as they come from user code: a count of -1 for "none", an empty batch's size() - 1, more than the array holds.
// Cast to std::size_t they would be taken for memory that is not there.
#include "support/engine.hpp"

#include <tally/core/inputs.hpp>
#include <tally/metric/mean.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

float const four[4] = {1, 2, 3, 4};
std::vector<float> const twelve(12);

} // namespace

TEST_CASE("sizes: negative ones are refused by every form, and named") {
    float const* const p = four;
    int const n = -1;
    CHECK_THROWS_WITH_AS((void)tally::values(p, n), "a size can't be negative, got -1", tally::shape_error);
    CHECK_THROWS_WITH_AS((void)tally::values(four, n), "a size can't be negative, got -1", tally::shape_error);
    CHECK_THROWS_WITH_AS((void)tally::scores(twelve, -3), "a size can't be negative, got -3", tally::shape_error);
    CHECK_THROWS_WITH_AS((void)tally::scores(p, std::int8_t{-2}, 2), "a size can't be negative, got -2",
                         tally::shape_error);
    CHECK_THROWS_WITH_AS((void)tally::probabilities(p, 2, std::numeric_limits<std::int64_t>::min()),
                         "a size can't be negative, got -9223372036854775808", tally::shape_error);
    CHECK_THROWS_AS((void)tally::predictions(p, 2, -2), tally::shape_error);
    CHECK_THROWS_AS((void)tally::matrix(twelve, -4), tally::shape_error);
    CHECK_THROWS_AS((void)tally::inputs<"own">(p, n), tally::shape_error);
    CHECK_THROWS_WITH_AS((void)tally::positions(n), "a position can't be negative, got -1", tally::shape_error);
}

TEST_CASE("sizes: a size below zero that has wrapped around is refused") {
    std::vector<float> const none;
    CHECK_THROWS_WITH_AS((void)tally::values(none.data(), none.size() - 1),
                         "a size of 18446744073709551615 is more than memory holds", tally::shape_error);
    auto const much = std::size_t{1} << 40U; // squared, it would wrap around to 0
    CHECK_THROWS_WITH_AS((void)tally::scores(four + 0, much, much),
                         "a matrix of 1099511627776 x 1099511627776 elements is more than memory holds",
                         tally::shape_error);
    CHECK_THROWS_AS((void)tally::scores(four, much, much), tally::shape_error);
}

TEST_CASE("sizes: an array of known size is not read beyond its end") {
    CHECK_THROWS_WITH_AS((void)tally::values(four, 6), "an array of 4 elements was given a size of 6",
                         tally::shape_error);
    CHECK_THROWS_WITH_AS((void)tally::scores(four, 2, 3), "an array of 4 elements was given a size of 2 x 3",
                         tally::shape_error);
    CHECK_THROWS_AS((void)tally::predictions(four, 5, 1), tally::shape_error);
    CHECK_THROWS_AS((void)tally::matrix(four, 1, 5), tally::shape_error);
    CHECK_THROWS_AS((void)tally::scores(four, 3), tally::shape_error);
    CHECK(tally::values(four, 4).view.size == 4);
    CHECK(tally::values(four, 3U).view.size == 3);
    CHECK(tally::values(four, 0).view.size == 0);
    CHECK(tally::scores(four, 2, 2).view.rows == 2);
    CHECK(tally::scores(four, 1, 3).view.columns == 3);
    CHECK(tally::scores(four, 7, 0).view.rows == 7);
    CHECK(tally::scores(four, 0, 7).view.columns == 7);
}

TEST_CASE("sizes: a refused size deposits nothing") {
    tally::testing::tracker<tally::mean<>> tracker;
    tracker.update(tally::values(four, 4));
    CHECK_THROWS_AS(tracker.update(tally::values(four, -4)), tally::shape_error);
    CHECK_THROWS_AS(tracker.update(tally::values(four, 5)), tally::shape_error);
    CHECK(tracker.finalize().samples() == 4);
    CHECK(tracker.finalize().get().value() == 2.5);
}
