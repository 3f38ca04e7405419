// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// grouped<M>: one state of M for each group, equal to M fed with the samples of that group alone.
#include "support/value_of.hpp"

#include <tally/layout/grouped.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/throughput.hpp>
#include <tally/metric/variance.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

struct by_group {
    std::vector<float> x;
    std::vector<float> w;
    std::vector<int> group; // 3 is empty; -1 and 4 are none
};

by_group samples() {
    by_group s;
    int const groups[] = {0, 1, 2, 0, 4, 1, 0, -1};
    for (int i = 0; i < 500; ++i) {
        s.x.push_back(static_cast<float>(i * 13 % 29));
        s.w.push_back(static_cast<float>(i % 4) / 4);
        s.group.push_back(groups[i % 8]);
    }
    return s;
}

by_group only(by_group const& s, int group) {
    by_group result;
    for (std::size_t i = 0; i < s.x.size(); ++i) {
        if (s.group[i] == group) {
            result.x.push_back(s.x[i]);
            result.w.push_back(s.w[i]);
        }
    }
    return result;
}

} // namespace

TEST_CASE("grouped: each group has the value of its own samples, at fixed and run-time numbers") {
    auto const s = samples();
    tally::testing::tracker<tally::grouped<tally::mean<>, 4>> fixed;
    tally::testing::tracker<tally::grouped<tally::mean<>>> dynamic{tally::num_groups{4}};
    fixed.update(tally::values(s.x), tally::groups(s.group));
    dynamic.update(tally::groups(s.group), tally::values(s.x));
    auto const result = fixed.finalize().get();
    CHECK(result.size() == 4);
    for (std::size_t g = 0; g < 3; ++g) {
        auto const alone = tally::testing::value_of<tally::mean<>>(tally::values(only(s, static_cast<int>(g)).x));
        CHECK(result[g].value() == alone.value());
        CHECK(dynamic.finalize().get()[g].value() == alone.value());
    }
    CHECK(result[3].why() == tally::reason::no_samples);
    CHECK(result.outside == 62 + 62); // of 500 samples, those at i % 8 == 4 and 7
}

TEST_CASE("grouped: weighted, in either order of the words") {
    auto const s = samples();
    using inside = tally::grouped<tally::weighted<tally::mean<>>, 4>;
    using outside = tally::weighted<tally::grouped<tally::mean<>, 4>>;
    tally::testing::tracker<inside> a;
    tally::testing::tracker<outside> b;
    a.update(tally::values(s.x), tally::groups(s.group), tally::weights(s.w));
    b.update(tally::values(s.x), tally::groups(s.group), tally::weights(s.w));
    for (int g = 0; g < 3; ++g) {
        auto const mine = only(s, g);
        auto const alone =
            tally::testing::value_of<tally::weighted<tally::mean<>>>(tally::values(mine.x), tally::weights(mine.w));
        CHECK(a.finalize().get()[static_cast<std::size_t>(g)].value() == doctest::Approx(alone.value()).epsilon(1e-14));
        CHECK(b.finalize().get()[static_cast<std::size_t>(g)].value() == doctest::Approx(alone.value()).epsilon(1e-14));
    }
}

TEST_CASE("grouped: combines group by group, replicas may lack groups") {
    using spread = tally::grouped<tally::variance<float, 0>, 3>;
    auto const results = tally::testing::values_of_replicas<spread>(3, [](auto& tracker, int rank) {
        std::vector<float> const x{1.0F, 5.0F};
        std::vector<int> const group(2, rank == 2 ? 0 : rank); // groups: 0, 1, 0; nobody has 2
        std::vector<float> const shifted{x[0] + static_cast<float>(rank), x[1] + static_cast<float>(rank)};
        tracker.update(tally::values(shifted), tally::groups(group));
    });
    for (auto const& each : results) {
        CHECK(each[0].value() == 5.0); // of 1, 5, 3, 7
        CHECK(each[1].value() == 4.0);
        CHECK(each[2].why() == tally::reason::no_samples);
    }
}

TEST_CASE("grouped: the operations of the fields hold in each group") {
    using rate = tally::grouped<tally::throughput<>, 2>;
    auto const results = tally::testing::values_of_replicas<rate>(2, [](auto& tracker, int rank) {
        std::int64_t const items[] = {100, 10};
        double const seconds[] = {rank == 0 ? 2.0 : 4.0, 1.0};
        int const groups[] = {0, 1};
        tracker.update(tally::inputs<"items">(items), tally::inputs<"seconds">(seconds), tally::groups(groups));
    });
    for (auto const& each : results) {
        CHECK(each[0].value() == 50.0); // 200 items in the 4 s of the slowest
        CHECK(each[1].value() == 20.0);
    }
}

TEST_CASE("grouped: a group of NaN only, and a table of one group") {
    tally::testing::tracker<tally::grouped<tally::smallest<>, 1>> t;
    float const x[] = {std::numeric_limits<float>::quiet_NaN(), 3.0F};
    std::uint64_t const groups[] = {0, ~std::uint64_t{0}};
    t.update(tally::values(x), tally::groups(groups));
    CHECK(t.finalize().get()[0].why() == tally::reason::no_samples);
    CHECK(t.finalize().get()[0].dropped() == 1);
    CHECK(t.finalize().get().outside == 1);
}
