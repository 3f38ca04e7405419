// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// exact_match: published values, rows longer than a tile, NaN, bad and ignored labels, in a collection with others.
#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/accuracy.hpp>
#include <tally/metric/exact_match.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

} // namespace

TEST_CASE("exact_match: published values") { // torcheval documentation, MultilabelAccuracy
    std::vector<float> const p{0, 1, 1, 1, 0, 0, 0, 1};
    std::vector<int> const t{0, 1, 1, 0, 0, 0, 1, 1};
    CHECK(value_of<exact_match<>>(predictions(matrix(p, 2)), targets(matrix(t, 2))).value() == 0.5);
    std::vector<float> const w{1, 0, 1, 2};
    CHECK(value_of<weighted<exact_match<>>>(predictions(matrix(p, 2)), targets(matrix(t, 2)), weights(w)).value() ==
          0.5);
    std::vector<int> const valid{1, 0, 1, 0};
    CHECK(value_of<exact_match<>>(predictions(matrix(p, 2)), targets(matrix(t, 2)), mask(valid)).value() == 1.0);
}

TEST_CASE("exact_match: any number of columns and rows, against nested loops") {
    std::mt19937 random{8};
    for (std::size_t const columns : {1U, 3U, 255U, 256U, 257U, 600U}) {
        std::size_t const rows = 700;
        std::vector<double> p(rows * columns);
        std::vector<std::int8_t> t(rows * columns);
        std::size_t right = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            bool const spoil = random() % 3 == 0;
            auto const where = random() % columns;
            for (std::size_t c = 0; c < columns; ++c) {
                t[i * columns + c] = static_cast<std::int8_t>(random() % 2);
                bool const says = (t[i * columns + c] == 1) != (spoil && c == where);
                p[i * columns + c] = says ? 0.75 : 0.25;
            }
            right += spoil ? 0 : 1;
        }
        auto const value = value_of<exact_match<threshold<>, labels::all, double>>(predictions(matrix(p, columns)),
                                                                                   targets(matrix(t, columns)));
        CHECK(value.value() == static_cast<double>(right) / static_cast<double>(rows));
    }
}

TEST_CASE("exact_match: NaN is wrong, a row with a bad label is dropped, an ignored label is left out of its row") {
    std::vector<float> const p{0.9F, not_a_number, 0.9F, 0.9F, 0.1F, 0.9F, 0.7F, 0.7F};
    std::vector<int> const t{1, 0, 1, 2, 0, -1, -1, -1};
    using metric = exact_match<threshold<>, labels::ignore<-1>>;
    testing::tracker<metric> tracker;
    tracker.update(predictions(matrix(p, 2)), targets(matrix(t, 2)));
    auto const result = tracker.finalize();
    CHECK(result.value() == 0.5); // row 0 is wrong, row 2 right
    CHECK(result.get().dropped() == 1);
    CHECK(metric::ignored(result.state<metric>()) == 1);
    CHECK(value_of<exact_match<>>(predictions(matrix(p, 2)), targets(matrix(t, 2))).dropped() == 3);
}

TEST_CASE("exact_match: beside element-wise metrics of the same inputs") {
    using both = collection<named<"rows", exact_match<>>, named<"elements", multilabel_accuracy<>>>;
    std::vector<float> const p{0.9F, 0.1F, 0.9F, 0.9F};
    std::vector<int> const t{1, 0, 1, 0};
    testing::tracker<both> tracker;
    tracker.update(predictions(matrix(p, 2)), targets(matrix(t, 2)));
    tracker.update(predictions(matrix(p, 2)), targets(matrix(t, 2)));
    auto const result = tracker.finalize();
    CHECK(result["rows"_metric].value() == 0.5);
    CHECK(result["elements"_metric].value() == 0.75);
    CHECK(result.samples() == 4);
}

TEST_CASE("exact_match: no samples") {
    std::vector<float> const p;
    std::vector<int> const t;
    CHECK(value_of<exact_match<>>(predictions(matrix(p, 2)), targets(matrix(t, 2))).why() == reason::no_samples);
}
