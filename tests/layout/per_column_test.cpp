// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/collection.hpp>
#include <tally/layout/grouped.hpp>
#include <tally/layout/per_column.hpp>
#include <tally/metric/absolute_error.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/logarithmic_error.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/r2_score.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using tally::testing::near;
using tally::testing::value_of;

namespace {

using numbers = std::vector<double>;

template <class M>
auto of(numbers const& p, numbers const& t) {
    return value_of<tally::per_column<M, 2>>(tally::predictions(tally::matrix(p, 2)),
                                             tally::targets(tally::matrix(t, 2)));
}

// Two outputs of three samples, as in the scikit-learn documentation of regression metrics.
numbers const targets{0.5, 1, -1, 1, 7, -6};
numbers const predictions{0, 2, -1, 2, 8, -5};

} // namespace

TEST_CASE("per_column: scikit-learn documentation, raw values of two outputs") {
    auto const absolute = of<tally::mean_absolute_error<double>>(predictions, targets);
    REQUIRE(absolute.size() == 2);
    CHECK(absolute[0].value() == 0.5);
    CHECK(absolute[1].value() == 1.0);
    CHECK(0.3 * absolute[0] + 0.7 * absolute[1] == near(0.85, 1e-15)); // output weights

    auto const logarithmic = of<tally::mean_squared_log_error<double>>({0.5, 2, 1, 2.5, 8, 8}, {0.5, 1, 1, 2, 7, 6});
    CHECK(logarithmic[0].value() == near(0.004624281163, 1e-9));
    CHECK(logarithmic[1].value() == near(0.08377444262, 1e-9));

    auto const r2 = of<tally::r2_score<double>>(predictions, targets);
    CHECK(r2[0].value() == near(0.965437788, 1e-9));
    CHECK(r2[1].value() == near(0.9081632653, 1e-9));

    auto const explained = of<tally::explained_variance<double>>(predictions, targets);
    CHECK(explained[0].value() == near(0.9677419355, 1e-9));
    CHECK(explained[1].value() == 1.0);
}

TEST_CASE("per_column: columns beyond the table are counted, columns without samples have a reason") {
    numbers const x{1, 2, 3, 4, 5, 6};
    auto const narrow = value_of<tally::per_column<tally::mean<double>, 2>>(tally::values(tally::matrix(x, 3)));
    CHECK(narrow[0].value() == 2.5);
    CHECK(narrow[1].value() == 3.5);
    CHECK(narrow.outside == 2);
    auto const wide = value_of<tally::per_column<tally::mean<double>, 4>>(tally::values(tally::matrix(x, 3)));
    CHECK(wide[2].value() == 4.5);
    CHECK(wide[3].why() == tally::reason::no_samples);
    CHECK(wide.outside == 0);
}

TEST_CASE("per_column: weights and mask hold for rows, weighted<per_column<M>> is per_column<weighted<M>>") {
    numbers const x{1, 2, 3, 4, 5, 6};
    using plain = tally::per_column<tally::mean<double>, 2>;
    using weighted = tally::weighted<plain, double>;
    static_assert(std::is_same_v<weighted, tally::per_column<tally::weighted<tally::mean<double>, double>, 2>>);
    auto const by_weight = value_of<weighted>(tally::values(tally::matrix(x, 2)), tally::weights(numbers{1, 0, 3}));
    CHECK(by_weight[0].value() == 4.0);
    CHECK(by_weight[1].value() == 5.0);
    auto const masked =
        value_of<plain>(tally::values(tally::matrix(x, 2)), tally::mask(std::vector<std::uint8_t>{0, 1, 1}));
    CHECK(masked[0].value() == 4.0);
    CHECK(masked[1].value() == 5.0);
}

TEST_CASE("per_column: more columns and rows than a tile holds, number of columns given at run time") {
    constexpr std::size_t columns = 300;
    constexpr std::size_t rows = 5;
    numbers x;
    for (std::size_t i = 0; i < rows * columns; ++i) {
        x.push_back(static_cast<double>((i * 7919) % 1009));
    }
    tally::testing::tracker<tally::per_column<tally::largest<double>>> tracker{tally::num_columns{columns}};
    tracker.update(tally::values(tally::matrix(x, columns)));
    auto const result = tracker.finalize().get();
    REQUIRE(result.size() == columns);
    for (std::size_t c = 0; c < columns; ++c) {
        double expected = x[c];
        for (std::size_t r = 1; r < rows; ++r) {
            expected = x[r * columns + c] > expected ? x[r * columns + c] : expected;
        }
        CHECK(result[c].value() == expected);
    }
}

TEST_CASE("per_column: replicas with unequal numbers of rows") {
    auto const update = [&](auto& tracker, int rank) {
        auto const first = rank == 0 ? 0U : 2U;
        auto const rows = rank == 0 ? 1U : (rank == 1 ? 2U : 0U);
        tracker.update(tally::predictions(predictions.data() + first, rows, 2),
                       tally::targets(targets.data() + first, rows, 2));
    };
    using metric = tally::per_column<tally::r2_score<double>, 2>;
    for (auto const& each : tally::testing::values_of_replicas<metric>(3, update)) {
        CHECK(each[0].value() == near(0.965437788, 1e-9));
        CHECK(each[1].value() == near(0.9081632653, 1e-9));
    }
}
