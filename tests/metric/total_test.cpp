// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/value_of.hpp"

#include <tally/core/half_bits.hpp>
#include <tally/metric/total.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using tally::testing::value_of;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// x_i = (-1)^i 2^(i mod 60), i = 0 ... 1199: big terms cancel, so a sum that rounds depends on the order.
std::vector<std::int64_t> alternating_powers() {
    std::vector<std::int64_t> x;
    for (int i = 0; i < 1200; ++i) {
        x.push_back((i % 2 == 0 ? 1 : -1) * (std::int64_t{1} << (i % 60)));
    }
    return x;
}
constexpr std::int64_t alternating_total = -7686143364045646500;

} // namespace

TEST_CASE("total: adds values, integers as integers") {
    CHECK(value_of<tally::total<>>(tally::values(std::vector<float>{1.5F, 2.5F, -1.0F})).value() == 3.0);
    CHECK(value_of<tally::total<double>>(tally::values(std::vector<double>{0.1, 0.2})).value() == 0.1 + 0.2);

    auto const x = alternating_powers();
    auto const exact = value_of<tally::total<std::int64_t>>(tally::values(x));
    static_assert(std::is_same_v<decltype(exact.value()), std::int64_t>);
    CHECK(exact.value() == alternating_total);
    auto const backwards = std::vector<std::int64_t>(x.rbegin(), x.rend());
    CHECK(value_of<tally::total<std::int64_t>>(tally::values(backwards)).value() == alternating_total);
}

TEST_CASE("total: integer sums of unequal replicas are exact") {
    auto const x = alternating_powers();
    auto const update = [&](auto& tracker, int rank) {
        std::size_t const begin[] = {0, 7, 7, 1200}; // 7, none, the rest
        tracker.update(tally::values(x.data() + begin[rank], begin[rank + 1] - begin[rank]));
    };
    for (auto const& each : tally::testing::values_of_replicas<tally::total<std::int64_t>>(3, update)) {
        CHECK(each.value() == alternating_total);
    }
}

TEST_CASE("total: no data is told from a sum of zero") {
    CHECK(value_of<tally::total<>>(tally::values(std::vector<float>{})).why() == tally::reason::no_samples);
    CHECK(value_of<tally::total<>>(tally::values(std::vector<float>{2.0F, -2.0F})).value() == 0.0);
    CHECK(value_of<tally::total<>>(tally::values(std::vector<float>{7.0F})).value() == 7.0);
}

TEST_CASE("total: NaN is left out and counted, or propagates by policy") {
    std::vector<double> const x{1.0, nan_value, 2.0};
    auto const skipped = value_of<tally::total<double>>(tally::values(x));
    CHECK(skipped.value() == 3.0);
    CHECK(skipped.dropped() == 1);

    using propagating = tally::total<double, tally::default_sum<double>, tally::nan::propagate>;
    auto const propagated = value_of<propagating>(tally::values(x));
    CHECK(std::isnan(propagated.value()));
    CHECK(propagated.dropped() == 0);

    auto const all_nan = value_of<tally::total<double>>(tally::values(std::vector<double>(3, nan_value)));
    CHECK(all_nan.why() == tally::reason::no_samples);
    CHECK(all_nan.dropped() == 3);
}

TEST_CASE("total: infinities follow IEEE 754") {
    CHECK(value_of<tally::total<double>>(tally::values(std::vector<double>{1.0, infinity})).value() == infinity);
    CHECK(std::isnan(value_of<tally::total<double>>(tally::values(std::vector<double>{-infinity, infinity})).value()));
}

TEST_CASE("total: weights multiply, weights of 1 change nothing, masked values don't count") {
    std::vector<float> const x{1.0F, 2.0F, 4.0F};
    using weighted = tally::weighted<tally::total<>>;
    CHECK(value_of<weighted>(tally::values(x), tally::weights(std::vector<float>{0.5F, 0.0F, -1.0F})).value() == -3.5);
    CHECK(value_of<weighted>(tally::values(x), tally::weights(std::vector<float>{1, 1, 1})).value() == 7.0);
    CHECK(value_of<weighted>(tally::values(x), tally::weights(std::vector<float>{1, 1, -0.75F})).value() == 0.0);
    CHECK(value_of<tally::total<>>(tally::values(x), tally::mask(std::vector<int>{1, 0, 1})).value() == 5.0);
}

TEST_CASE("total: half inputs are widened before they are added") {
    std::vector<tally::half_bits> const ones(70000, tally::narrow_to<tally::half_bits>(1.0F)); // binary16 ends at 65504
    CHECK(value_of<tally::total<>>(tally::values(ones)).value() == 70000.0);
    std::vector<tally::bfloat16_bits> const halves(1000, tally::narrow_to<tally::bfloat16_bits>(0.5F));
    CHECK(value_of<tally::total<>>(tally::values(halves)).value() == 500.0);
}
