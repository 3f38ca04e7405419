// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Exact moments on the device: the same words as digit by digit on the host, for benign and for hostile numbers,
// whatever the size, the alignment and the tuning; alone, beside sums that are merged in order, in tables and in groups
// of tensors.
#include "support/device_array.cuh"
#include "support/named_data.hpp"
#include "support/small_blocks.hpp"

#include <doctest/doctest.h>

#include <tally/cuda.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

using tally::testing::add_data;
using tally::testing::device_array;
using tally::testing::from_bits;
using tally::testing::named_data;
using tally::testing::small_blocks;

namespace {

using variance = tally::variance<float, 1, tally::exact_moments<float>, tally::nan::propagate>;
using covariance = tally::covariance<float, 1, tally::exact_co_moments<float>, tally::nan::propagate>;
/// Exact moments of both kinds, sums of doubles that are merged in block order, and a table.
using mixed =
    tally::collection<tally::named<"spread", variance>, tally::named<"mean", tally::mean<float, tally::sum<double>>>,
                      tally::named<"histogram", tally::histogram<tally::linear_bins<8>>>,
                      tally::named<"deviation", tally::standard_deviation<float, 0>>,
                      tally::named<"largest", tally::largest<>>>;

named_data<float> data_sets(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    named_data<float> sets;
    auto const add = [&](char const* name, auto make) { add_data(sets, n, name, make); };
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    constexpr auto largest = std::numeric_limits<float>::max();
    add("normal", [&](std::size_t) { return normal(random); });
    add("far from zero", [&](std::size_t) { return -1e6F + normal(random); });
    add("subnormal",
        [&](std::size_t) { return from_bits<float>(static_cast<std::uint32_t>(random()) & 0x807f'ffffU); });
    add("largest, both signs", [](std::size_t i) { return i % 2 == 0 ? largest : -largest; });
    add("one huge, many tiny", [](std::size_t i) { return i == 3 ? 1e30F : 1e-30F; });
    add("60 binades", [&](std::size_t) { return std::ldexp(normal(random), -static_cast<int>(random() % 60)); });
    add("random bits", [&](std::size_t) { return from_bits<float>(static_cast<std::uint32_t>(random())); });
    add("constant", [](std::size_t) { return 0.1F; });
    add("an infinity", [](std::size_t i) { return i == 9 ? infinity : -0.0F; });
    return sets;
}

template <class Tuning>
void check_values(std::size_t n) {
    for (auto const& [name, values] : data_sets(n, 1)) {
        CAPTURE(name);
        CAPTURE(n);
        device_array<float> const input(values, 1);
        tally::cuda::tracker<variance, Tuning> device;
        device.update(tally::values(input.data(), n));
        device.update(tally::values(input.data() + 1, n - 1));
        tally::exact_moments<float> expected;
        for (std::size_t i = 0; i < 2 * n - 1; ++i) {
            expected.deposit(values[i < n ? i : i - n + 1]);
        }
        CHECK(device.merged().template get<1>().values == expected);
    }
}

template <class Tuning>
void check_pairs(std::size_t n) {
    auto const xs = data_sets(n, 1);
    auto const ys = data_sets(n, 2);
    for (std::size_t k = 0; k < xs.size(); ++k) {
        for (std::size_t const l : {k, std::size_t{0}, (k + 4) % xs.size()}) {
            auto const& [name, x] = xs[k];
            auto const& y = ys[l].second;
            CAPTURE(name);
            CAPTURE(ys[l].first);
            CAPTURE(n);
            device_array<float> const predictions(x, 1);
            device_array<float> const targets(y);
            tally::cuda::tracker<covariance, Tuning> device;
            device.update(tally::predictions(predictions.data(), n), tally::targets(targets.data(), n));
            tally::exact_co_moments<float> expected;
            for (std::size_t i = 0; i < n; ++i) {
                expected.deposit(tally::paired(x[i], y[i]));
            }
            CHECK(device.merged().template get<1>().pairs == expected);
        }
    }
}

} // namespace

TEST_CASE("exact moments are the host's, digit by digit") {
    for (std::size_t const n : {10UL, 33UL, 5003UL}) {
        check_values<tally::cuda::default_tuning>(n);
    }
    check_values<small_blocks>(3001);
}

TEST_CASE("exact co-moments are the host's, digit by digit") {
    for (std::size_t const n : {10UL, 2003UL}) {
        check_pairs<tally::cuda::default_tuning>(n);
    }
    check_pairs<small_blocks>(1001);
}

TEST_CASE("exact moments beside fields that are merged in order") {
    std::size_t const n = 4001;
    for (auto const& [name, values] : data_sets(n, 3)) {
        CAPTURE(name);
        device_array<float> const input(values);
        tally::cuda::tracker<mixed, small_blocks> device;
        tally::host::tracker<mixed> host;
        device.update(tally::values(input.data(), n));
        host.update(tally::values(values));
        auto const got = device.merged();
        auto const expected = host.merged();
        CHECK(got.get<1>().values == expected.get<1>().values);
        CHECK(got.get<1>().nans == expected.get<1>().nans);
        using namespace tally::literals;
        auto const on_device = device.finalize()["deviation"_metric].as_double();
        auto const on_host = host.finalize()["deviation"_metric].as_double();
        CHECK((on_device == on_host || (std::isnan(on_device) && std::isnan(on_host))));
    }
}

TEST_CASE("cells of exact moments in tables and groups of tensors") {
    using grouped = tally::grouped<variance, 5>;
    std::size_t const n = 4001;
    std::vector<std::int32_t> groups(n);
    for (std::size_t i = 0; i < n; ++i) {
        groups[i] = static_cast<std::int32_t>(i * 7 % 6);
    }
    device_array<std::int32_t> const g(groups);
    for (auto const& [name, values] : data_sets(n, 4)) {
        CAPTURE(name);
        device_array<float> const input(values);
        tally::cuda::tracker<grouped> device;
        tally::host::tracker<grouped> host;
        device.update(tally::values(input.data(), n), tally::groups(g.data(), n));
        host.update(tally::values(values), tally::groups(groups));
        tally::cuda::grouped_tensor<float> const tensors[] = {{input.data(), 1500, 3}, {input.data() + 1501, 900, 0}};
        device.update_tensors(tensors);
        for (auto const& each : tensors) {
            auto const first = static_cast<std::size_t>(each.data - input.data());
            std::vector<std::int32_t> const group(each.size, static_cast<std::int32_t>(each.group));
            host.update(tally::values(values.data() + first, each.size), tally::groups(group));
        }
        auto const got = device.merged();
        auto const expected = host.merged();
        for (std::size_t k = 0; k < 5; ++k) {
            CHECK(got.get<1>().cells(k).state().values == expected.get<1>().cells(k).state().values);
        }
        CHECK(got.get<1>().cells.outside() == expected.get<1>().cells.outside());
    }
}

TEST_CASE("exact sums of weights are the host's, masked and with values that are left out") {
    using metric = tally::weighted<tally::mean<>>;
    std::size_t const n = 5003;
    auto const weights = data_sets(n, 6);
    auto const values = data_sets(n, 7);
    std::vector<std::uint8_t> mask(n);
    for (std::size_t i = 0; i < n; ++i) {
        mask[i] = static_cast<std::uint8_t>(i % 5 != 2);
    }
    device_array<std::uint8_t> const m(mask);
    for (std::size_t k = 0; k < weights.size(); ++k) {
        for (std::size_t const l : {std::size_t{0}, std::size_t{6}}) { // the second has NaN among its values
            CAPTURE(weights[k].first);
            CAPTURE(values[l].first);
            device_array<float> const x(values[l].second);
            device_array<float> const w(weights[k].second, 1);
            tally::cuda::tracker<metric> device;
            tally::host::tracker<metric> host;
            device.update(tally::values(x.data(), n), tally::weights(w.data(), n), tally::mask(m.data(), n));
            device.update(tally::values(x.data(), n - 7), tally::weights(w.data() + 7, n - 7));
            host.update(tally::values(values[l].second), tally::weights(weights[k].second), tally::mask(mask));
            host.update(tally::values(values[l].second.data(), n - 7),
                        tally::weights(weights[k].second.data() + 7, n - 7));
            CHECK(device.merged().get<1>().samples == host.merged().get<1>().samples);
            CHECK(device.merged().get<1>().total == host.merged().get<1>().total);
        }
    }
}

TEST_CASE("columns of exact co-moments") {
    using metric = tally::per_column<tally::r2_score<>, 3>;
    std::size_t const rows = 501;
    auto const xs = data_sets(3 * rows, 5);
    for (auto const& [name, x] : xs) {
        CAPTURE(name);
        auto const& y = xs[0].second;
        device_array<float> const predictions(x);
        device_array<float> const targets(y);
        tally::cuda::tracker<metric> device;
        tally::host::tracker<metric> host;
        device.update(tally::predictions(predictions.data(), rows, 3), tally::targets(targets.data(), rows, 3));
        host.update(tally::predictions(tally::matrix(x, 3)), tally::targets(tally::matrix(y, 3)));
        auto const got = device.merged();
        auto const expected = host.merged();
        for (std::size_t k = 0; k < 3; ++k) {
            CHECK(got.get<1>().cells(k).state().pairs == expected.get<1>().cells(k).state().pairs);
            CHECK(got.get<1>().cells(k).state().nans == expected.get<1>().cells(k).state().nans);
        }
    }
}
