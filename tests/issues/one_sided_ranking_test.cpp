// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: ranking metrics that fail, vanish or report 0 where a replica, or all data, hold one class only.
#include "support/engine.hpp"

#include <tally/metric/auroc.hpp>
#include <tally/metric/average_precision.hpp>

#include <tally/comm/replicas.hpp>
#include <tally/core/inputs.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

template <class M>
auto value_of(std::vector<float> const& scores, std::vector<int> const& targets) {
    tally::testing::tracker<M> tracker;
    tracker.update(tally::predictions(scores), tally::targets(targets));
    return tracker.finalize().get();
}

TEST_CASE("one-sided data: a replica with one class neither throws nor is left out") {
    std::vector<float> const scores[]{{.1F, .4F}, {.35F, .8F}};
    std::vector<int> const targets[]{{0, 0}, {1, 1}};
    tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        tally::testing::tracker<tally::auroc<>> tracker;
        tracker.update(tally::predictions(scores[comm.rank()]), tally::targets(targets[comm.rank()]));
        CHECK(tracker.finalize().get().why() == tally::reason::single_class);
        CHECK(tracker.combine(comm).value() == 0.75);
    });
}

TEST_CASE("one-sided data: an empty replica does not matter") {
    tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        tally::testing::tracker<tally::auroc<>> tracker;
        if (comm.rank() == 1) {
            tracker.update(tally::predictions(std::vector<float>{.2F, .9F}), tally::targets(std::vector<int>{0, 1}));
        }
        CHECK(tracker.combine(comm).value() == 1.0);
    });
}

TEST_CASE("one-sided data: no area of 0, no precision of 0, but a reason") {
    std::vector<float> const scores{1, .5F, .3F};
    auto const positive = value_of<tally::auroc<>>(scores, {1, 1, 1});
    CHECK(positive.why() == tally::reason::single_class);
    CHECK(std::isnan(positive.as_double()));
    auto const negative = value_of<tally::auroc<>>(scores, {0, 0, 0});
    CHECK(negative.why() == tally::reason::single_class);
    CHECK(std::isnan(negative.as_double()));
    CHECK(value_of<tally::average_precision<>>(scores, {1, 1, 1}).value() == 1.0);
    auto const precision = value_of<tally::average_precision<>>(scores, {0, 0, 0});
    CHECK(precision.why() == tally::reason::single_class);
    CHECK(std::isnan(precision.as_double()));
    // One sample, no samples.
    CHECK(value_of<tally::auroc<>>({.5F}, {1}).why() == tally::reason::single_class);
    CHECK(value_of<tally::auroc<>>({}, {}).why() == tally::reason::no_samples);
}

} // namespace
