// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: state that is forgotten. A reset that does not reach every part, and extremes that are not in the saved
// state (torchmetrics).
#include "support/engine.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/variance.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

using everything = tally::collection<tally::named<"mean", tally::mean<>>, tally::named<"variance", tally::variance<>>,
                                     tally::named<"min", tally::smallest<>>, tally::named<"max", tally::largest<>>>;

} // namespace

TEST_CASE("reset: every part of a collection is back to no data") {
    using namespace tally::literals;
    tally::testing::tracker<everything> tracker;
    tracker.update(tally::values(std::vector<float>{1, 2}));
    tracker.update(tally::values(std::vector<float>{5}));
    tracker.reset();
    auto const values = tracker.finalize();
    CHECK(values.samples() == 0);
    CHECK(values["mean"_metric].why() == tally::reason::no_samples);
    CHECK(values["variance"_metric].why() == tally::reason::no_samples);
    CHECK(values["min"_metric].why() == tally::reason::no_samples);
    CHECK(values["max"_metric].why() == tally::reason::no_samples);
}

TEST_CASE("restore: extremes are in the snapshot") {
    using namespace tally::literals;
    auto const saved = tally::replicas{1}.run([](tally::thread_communicator& comm) {
        tally::testing::tracker<everything> tracker;
        tracker.update(tally::values(std::vector<float>{1.0F}));
        tracker.update(tally::values(std::vector<float>{0.5F}));
        return tracker.snapshot(comm);
    });
    tally::testing::tracker<everything> tracker;
    tracker.restore(saved[0]);
    CHECK(tracker.finalize()["min"_metric].value() == 0.5F);
    CHECK(tracker.finalize()["max"_metric].value() == 1.0F);
    tracker.update(tally::values(std::vector<float>{0.75F}));
    CHECK(tracker.finalize()["min"_metric].value() == 0.5F);
    CHECK(tracker.finalize()["max"_metric].value() == 1.0F);
}
