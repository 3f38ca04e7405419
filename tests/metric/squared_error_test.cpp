// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/collection.hpp>
#include <tally/metric/squared_error.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using tally::testing::near;
using tally::testing::value_of;

TEST_CASE("mean_squared_error: two outputs averaged, weighted rows (torcheval, mean_squared_error)") {
    std::vector<double> const p{0.9, 0.5, 0.3, 0.5};
    std::vector<double> const t{0.5, 0.8, 0.2, 0.8};
    std::vector<double> const w{0.2, 0.8};
    CHECK(value_of<tally::weighted<tally::mean_squared_error<double>, double>>(
              tally::predictions(p.data(), 2, 2), tally::targets(t.data(), 2, 2), tally::weights(w))
              .value() == near(0.065, 1e-14));
    std::vector<float> const narrow_p{0.9F, 0.5F, 0.3F, 0.5F};
    std::vector<float> const narrow_t{0.5F, 0.8F, 0.2F, 0.8F};
    std::vector<float> const narrow_w{0.2F, 0.8F};
    CHECK(value_of<tally::weighted<tally::mean_squared_error<>>>(tally::predictions(narrow_p.data(), 2, 2),
                                                                 tally::targets(narrow_t.data(), 2, 2),
                                                                 tally::weights(narrow_w))
              .value() == near(0.065, 1e-6));
}

TEST_CASE("root_mean_squared_error: root of the mean over all replicas, not a mean of roots") {
    // Replica 0: errors 1, 1, 1; replica 1: error 5. Mean square 28 / 4; the mean of roots would be 3.
    auto const update = [](auto& tracker, int rank) {
        std::vector<double> const p = rank == 0 ? std::vector<double>{1, 1, 1} : std::vector<double>{5};
        tracker.update(tally::predictions(p), tally::targets(std::vector<double>(p.size(), 0.0)));
    };
    for (auto const& each : tally::testing::values_of_replicas<tally::root_mean_squared_error<double>>(2, update)) {
        CHECK(each.value() == near(std::sqrt(7.0), 1e-15));
    }
}

TEST_CASE("root_mean_squared_error: shares its state with mean_squared_error, keeps reasons and dropped samples") {
    using both = tally::collection<tally::named<"mse", tally::mean_squared_error<>>,
                                   tally::named<"rmse", tally::root_mean_squared_error<>>>;
    static_assert(tally::detail::plan<both>::counters::size == 1);
    using weighted_both = tally::weighted<both>;
    static_assert(tally::detail::plan<weighted_both>::counters::size == 1);

    using metric = tally::root_mean_squared_error<double>;
    std::vector<double> const none;
    CHECK(value_of<metric>(tally::predictions(none), tally::targets(none)).why() == tally::reason::no_samples);
    std::vector<double> const p{3.0, std::nan("")};
    std::vector<double> const t{0.0, 0.0};
    CHECK(value_of<metric>(tally::predictions(p), tally::targets(t)).value() == 3.0);
    CHECK(value_of<metric>(tally::predictions(p), tally::targets(t)).dropped() == 1);
    std::vector<double> const both_signs{1.0, 2.0};
    CHECK(value_of<tally::weighted<metric, double>>(tally::predictions(both_signs), tally::targets(t),
                                                    tally::weights(std::vector<double>{3.0, -2.0}))
              .why() == tally::reason::zero_denominator); // (3 - 8) / 1 has no root
}
