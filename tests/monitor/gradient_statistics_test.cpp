// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/monitor/gradient_statistics.hpp>

#include "support/feeds.hpp"
#include "support/metric_laws.hpp"

#include <tally/comm/self.hpp>
#include <tally/monitor/gradient_monitor.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace tally {

/// For check_metric_laws: every number of the values.
template <class Bins>
void flatten(gradient_values<Bins> const& x, std::vector<double>& out) {
    for (auto const& layer : x.layers) {
        auto const numbers = {layer.mean, layer.mean_magnitude, layer.root_mean_square, layer.zero_share};
        for (auto const& each : numbers) {
            out.push_back(each.as_double());
            out.push_back(static_cast<double>(each.dropped()));
        }
        out.push_back(layer.largest.as_double());
        for (auto const n : layer.histogram.cells()) {
            out.push_back(static_cast<double>(n));
        }
    }
}

} // namespace tally

namespace {

using namespace tally;

TEST_CASE("gradient_statistics: the laws of metrics hold, as for any metric in any tracker") {
    using tally::testing::check_metric_laws;
    check_metric_laws<gradient_statistics<partitioned>>("partitioned", tally::testing::feed::grouped,
                                                        tally::testing::exactly, num_layers{4});
    check_metric_laws<gradient_statistics<sharded, logarithmic_bins<1>>>("sharded", tally::testing::feed::grouped,
                                                                         tally::testing::exactly, num_layers{4});
}

TEST_CASE("gradient_statistics: a tracker on (group, value) pairs finds what the monitor finds") {
    using metric = gradient_statistics<partitioned>;
    std::mt19937 random{17};
    std::normal_distribution<float> normal{0.0F, 0.25F};
    std::vector<std::vector<float>> gradients{std::vector<float>(5000), std::vector<float>(3), std::vector<float>(800)};
    layer_registry layers;
    std::vector<gradient_view> views;
    testing::tracker<metric> tracker{num_layers{3}};
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        for (auto& g : gradients[i]) {
            g = std::ldexp(std::round(std::ldexp(normal(random), 12)), -12); // sums of these are exact in double
        }
        gradients[i][0] = i == 0 ? NAN : 0.0F;
        gradients[i][1] = i == 2 ? -INFINITY : -0.0F;
        layers.add("layer" + std::to_string(i), gradients[i].size());
        views.emplace_back(gradients[i]);
        tracker.update(values(gradients[i]), groups(std::vector<int>(gradients[i].size(), static_cast<int>(i))));
    }
    host::gradient_monitor<partitioned> monitor{layers};
    monitor.begin_step();
    monitor.observe(views);
    monitor.end_step();
    auto const report = monitor.local();
    auto const expected = tracker.finalize().get();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        CAPTURE(i);
        CHECK(report[i].histogram == expected.layers[i].histogram);
        CHECK(report[i].mean.value() == expected.layers[i].mean.value());
        CHECK(report[i].mean.dropped() == expected.layers[i].mean.dropped());
        CHECK(report[i].mean_magnitude.value() == expected.layers[i].mean_magnitude.value());
        CHECK(report[i].root_mean_square.value() == expected.layers[i].root_mean_square.value());
        CHECK(report[i].largest.value() == expected.layers[i].largest.value());
        CHECK(report[i].zero_share.value() == expected.layers[i].zero_share.value());
    }
    CHECK(expected.steps.steps == 0);
    CHECK(report.steps().steps == 1);
}

} // namespace
