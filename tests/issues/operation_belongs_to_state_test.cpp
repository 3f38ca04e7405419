// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: states of a metric combined by an operation that is not theirs. A maximum was summed; a rate summed
// the seconds of replicas that run side by side.
#include "support/engine.hpp"
#include "support/value_of.hpp"

#include <tally/collection.hpp>
#include <tally/metric/absolute_error.hpp>
#include <tally/metric/throughput.hpp>

#include <doctest/doctest.h>

#include <vector>

TEST_CASE("max_error: the largest error of all replicas, not the sum of the largest of each") {
    auto const update = [](auto& tracker, int rank) {
        std::vector<double> const p{rank == 0 ? 0.7 : 0.4, 0.1};
        std::vector<double> const t{0.0, 0.0};
        tracker.update(tally::predictions(p), tally::targets(t));
    };
    for (auto const& each : tally::testing::values_of_replicas<tally::max_error<double>>(2, update)) {
        CHECK(each.value() == 0.7);
    }
}

TEST_CASE("throughput: items of all replicas over the seconds of the slowest; the local rate is another type") {
    using metric = tally::throughput<>;
    tally::replicas{8}.run([](tally::thread_communicator& comm) {
        tally::testing::tracker<metric> tracker;
        std::vector<int> const items{60, 40};
        std::vector<double> const seconds{1.5, 0.5};
        tracker.update(tally::inputs<"items">(items), tally::inputs<"seconds">(seconds));
        tally::local<metric> const here = tracker.finalize();
        tally::combined<metric> const everywhere = tracker.combine(comm);
        CHECK(here.value() == 50.0);
        CHECK(everywhere.value() == 400.0);
        CHECK(everywhere.replicas() == 8);
        CHECK(tracker.finalize().value() == 50.0); // combining leaves the local rate as it was
    });
}

TEST_CASE("throughput and max_error: two operations in one message") {
    using metrics =
        tally::collection<tally::named<"worst", tally::max_error<double>>, tally::named<"rate", tally::throughput<>>>;
    tally::replicas{2}.run([](tally::thread_communicator& comm) {
        tally::testing::tracker<metrics> tracker;
        std::vector<double> const p{comm.rank() == 0 ? 0.7 : 0.4};
        std::vector<double> const t{0.0};
        std::vector<int> const items{100};
        std::vector<double> const seconds{comm.rank() == 0 ? 1.0 : 4.0};
        tracker.update(tally::predictions(p), tally::targets(t), tally::inputs<"items">(items),
                       tally::inputs<"seconds">(seconds));
        using namespace tally::literals;
        auto const result = tracker.combine(comm);
        CHECK(result["worst"_metric].value() == 0.7);
        CHECK(result["rate"_metric].value() == 50.0);
    });
}
