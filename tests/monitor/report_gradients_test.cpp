// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/monitor/report_gradients.hpp>

#include <tally/comm/replicas.hpp>
#include <tally/monitor/gradient_monitor.hpp>
#include <tally/sink/report.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace {

using namespace tally;

report::content const* find(report const& page, std::string const& tag) {
    auto const& entries = page.entries();
    auto const found = std::find_if(entries.begin(), entries.end(), [&](auto const& e) { return e.tag == tag; });
    return found == entries.end() ? nullptr : &found->content;
}

template <class T>
T number(report const& page, std::string const& tag) {
    auto const* const content = find(page, tag);
    REQUIRE(content != nullptr);
    return std::get<T>(std::get<report::number>(*content));
}

layer_registry layers() {
    layer_registry registry;
    registry.add("dense/kernel", 4);
    registry.add("bias", 2);
    return registry;
}

TEST_CASE("report_gradients: a group for each statistic, a card for each layer, reasons where there is no value") {
    host::gradient_monitor<partitioned> monitor{layers()};
    monitor.begin_step({.loss_scale = 2});
    monitor.observe({std::vector<float>{2, -6, 0, NAN}, gradient_view{}});
    monitor.end_step({.clipped = true});
    report page{3};
    page.add("g", monitor.local());
    CHECK(number<double>(page, "g_mean/dense/kernel") == -2.0 / 3);
    CHECK(number<double>(page, "g_mean_magnitude/dense/kernel") == 4.0 / 3);
    CHECK(number<double>(page, "g_norm/dense/kernel") == std::sqrt(10.0));
    CHECK(number<double>(page, "g_largest/dense/kernel") == 3.0);
    CHECK(number<double>(page, "g_zero_share/dense/kernel") == 0.25);
    CHECK(number<std::uint64_t>(page, "g_nan/dense/kernel") == 1);
    CHECK(number<std::uint64_t>(page, "g_infinite/dense/kernel") == 0);
    CHECK(number<reason>(page, "g_mean/bias") == reason::no_samples);
    CHECK(number<double>(page, "g/global_norm") == std::sqrt(10.0));
    CHECK(number<std::uint64_t>(page, "g/steps_clipped") == 1);
    CHECK(number<double>(page, "g/loss_scale_largest") == 2.0);
    CHECK(find(page, "g_update_to_weight/dense/kernel") == nullptr);

    auto const& rows = std::get<report::histogram>(*find(page, "g_histogram/dense/kernel"));
    CHECK(rows.front() == histogram_row{-3, -3, 1}); // the bin (-3.5, -3] ends at the largest magnitude
    CHECK(rows.back() == histogram_row{1, 1.25, 1});
    auto const& logarithms = std::get<report::histogram>(*find(page, "g_log2_histogram/dense/kernel"));
    CHECK(logarithms.front() == histogram_row{0, std::log2(1.25), 1});
    CHECK(std::get<report::histogram>(*find(page, "g_histogram/bias")).empty());
}

TEST_CASE("report_gradients: updates where they were observed, and replicas that differ as a reason") {
    replicas{2}.run([](thread_communicator& comm) {
        host::gradient_monitor<replicated> monitor{layers()};
        std::vector<float> const kernel{1, 1, 1, 1};
        std::vector<float> const bias{1, comm.rank() == 0 ? 1.0F : 2.0F};
        monitor.begin_step();
        monitor.observe({kernel, bias});
        monitor.observe_update(0, kernel, kernel);
        monitor.end_step();
        report page{0};
        page.add("g", monitor.end_epoch(comm));
        CHECK(number<double>(page, "g_update_to_weight/dense/kernel") == 1.0);
        CHECK(number<reason>(page, "g_norm/bias") == reason::replicas_differ);
        CHECK(number<reason>(page, "g/global_norm") == reason::replicas_differ);
    });
}

} // namespace
