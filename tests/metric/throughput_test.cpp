// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/engine.hpp"
#include "support/value_of.hpp"

#include <tally/collection.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/throughput.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using tally::testing::value_of;

namespace {

template <class Items>
auto rate(std::vector<Items> const& items, std::vector<double> const& seconds) {
    return value_of<tally::throughput<>>(tally::inputs<"items">(items), tally::inputs<"seconds">(seconds));
}

} // namespace

TEST_CASE("throughput: items and seconds of a replica add up") {
    CHECK(rate<int>({64, 64, 32}, {0.5, 0.75, 0.75}).value() == 80.0);
    CHECK(rate<int>({}, {}).why() == tally::reason::no_samples);
    CHECK(rate<int>({10}, {0.0}).why() == tally::reason::zero_denominator);
    CHECK(rate<int>({0}, {2.0}).value() == 0.0);
}

TEST_CASE("throughput: between replicas items add up and the slowest replica's seconds count") {
    auto const update = [](auto& tracker, int rank) {
        if (rank == 3) {
            return; // a replica without a step takes part, and has no say about the time
        }
        std::vector<int> const items{100};
        std::vector<double> const seconds{rank == 1 ? 4.0 : 2.0};
        tracker.update(tally::inputs<"items">(items), tally::inputs<"seconds">(seconds));
    };
    for (auto const& each : tally::testing::values_of_replicas<tally::throughput<>>(4, update)) {
        CHECK(each.value() == 75.0);
    }
}

TEST_CASE("throughput: impossible steps are left out with their items, and counted") {
    constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    auto const result = rate<int>({100, 7, 7, 7, -7}, {2.0, nan_value, infinity, -1.0, 1.0});
    CHECK(result.value() == 50.0);
    CHECK(result.dropped() == 4);
    CHECK(rate<int>({1}, {nan_value}).why() == tally::reason::no_samples);
}

TEST_CASE("throughput: item counts beyond 2^32, other types of items") {
    CHECK(rate<std::int64_t>({std::int64_t{1} << 40, 1}, {1.0, 0.0}).value() == 1099511627777.0);
    std::vector<std::size_t> const sizes{30, 12};
    std::vector<double> const seconds{1.0, 1.0};
    CHECK(value_of<tally::throughput<std::size_t>>(tally::inputs<"items">(sizes), tally::inputs<"seconds">(seconds))
              .value() == 21.0);
    std::vector<double> const megabytes{0.5, 1.5};
    CHECK(value_of<tally::throughput<double>>(tally::inputs<"items">(megabytes), tally::inputs<"seconds">(seconds))
              .value() == 1.0);
}

TEST_CASE("throughput: stays unweighted in a weighted collection") {
    using metrics = tally::weighted<
        tally::collection<tally::named<"loss", tally::mean<>>, tally::named<"rate", tally::throughput<>>>>;
    tally::testing::tracker<metrics> tracker;
    std::vector<int> const items{10, 30};
    std::vector<double> const seconds{1.0, 1.0};
    std::vector<float> const losses{1.0F, 3.0F};
    std::vector<float> const weights{3.0F, 1.0F};
    tracker.update(tally::values(losses), tally::weights(weights), tally::inputs<"items">(items),
                   tally::inputs<"seconds">(seconds));
    using namespace tally::literals;
    CHECK(tracker.finalize()["loss"_metric].value() == 1.5);
    CHECK(tracker.finalize()["rate"_metric].value() == 20.0);
}
