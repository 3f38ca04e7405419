// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradient monitors of both engines, and sinks of the main replica, over NCCL: what they give over threads, by the same
// calls.
#include "nccl/support.hpp"
#include "support/device_array.cuh"

#include <tally/comm/replicas.hpp>
#include <tally/cuda/gradient_monitor.cuh>
#include <tally/monitor/gradient_monitor.hpp>
#include <tally/nccl.hpp>
#include <tally/sink/json_lines.hpp>
#include <tally/sink/main_replica_only.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

using namespace tally::testing;

namespace {

std::vector<float> gradient_of(int rank) {
    std::vector<float> x(300);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(static_cast<int>(i) - 100 * rank) * 0x1.23456p-9F;
    }
    return x;
}

template <class Monitor>
Monitor make() {
    tally::layer_registry layers;
    layers.add("only", 300);
    return Monitor{layers};
}

/// A step of replica `rank`, observed as it is or averaged over the replicas first; then all that is said of the epoch.
template <class Monitor, class Observe, class Communicator>
std::vector<std::byte> epoch_of(Communicator& comm, Observe observe) {
    auto monitor = make<Monitor>();
    monitor.begin_step();
    observe(monitor);
    monitor.end_step();
    auto const saved = monitor.snapshot(comm);
    auto again = make<Monitor>();
    again.restore(comm, saved);
    auto const all = monitor.combine(comm);
    CHECK(all.replicas() == comm.size());
    CHECK(again.combine(comm)[0].mean.value() == all[0].mean.value());
    CHECK(monitor.combine_last_step(comm).replicas() == comm.size());
    CHECK(monitor.end_epoch(comm).replicas() == comm.size());
    return saved;
}

template <class Communicator>
std::vector<std::byte> epoch_on_host(Communicator& comm) {
    auto const gradient = gradient_of(comm.rank());
    return epoch_of<tally::host::gradient_monitor<tally::partitioned>>(
        comm, [&](auto& monitor) { monitor.observe(0, tally::gradient_view(std::span<float const>(gradient))); });
}
template <class Monitor, class Communicator>
std::vector<std::byte> averaged_epoch(Communicator& comm, std::span<float const> gradient) {
    return epoch_of<Monitor>(comm,
                             [&](auto& monitor) { monitor.observe_averaged(comm, {tally::gradient_view(gradient)}); });
}

} // namespace

TEST_CASE("gradient monitors over NCCL: what they give over threads, bit by bit") {
    using host_average = tally::host::gradient_monitor<tally::replicated>;
    using device_average = tally::cuda::gradient_monitor<tally::replicated>;
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        auto const expected =
            tally::replicas{size}.run([](tally::thread_communicator& comm) { return epoch_on_host(comm); });
        auto const averaged = tally::replicas{size}.run([](tally::thread_communicator& comm) {
            return averaged_epoch<host_average>(comm, gradient_of(comm.rank()));
        });
        auto group = make_group(size);
        on_group(group, [&](tally::nccl_communicator& comm) {
            CHECK(epoch_on_host(comm) == expected[0]);
            auto const gradient = gradient_of(comm.rank());
            CHECK(averaged_epoch<host_average>(comm, gradient) == averaged[0]);
            device_array<float> const there(gradient);
            CHECK(averaged_epoch<device_average>(comm, {there.data(), there.size()}) == averaged[0]);
            auto const on_device =
                epoch_of<tally::cuda::gradient_monitor<tally::partitioned>>(comm, [&](auto& monitor) {
                    monitor.observe(0, tally::gradient_view(std::span<float const>(there.data(), there.size())));
                });
            CHECK(on_device == expected[0]);
        });
    }
}

TEST_CASE("open_on_main over NCCL: a sink that the main replica can't open is an error of all") {
    auto group = make_group(group_sizes().back());
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto const text = text_of<tally::sink_error>(
            [&] { (void)tally::open_on_main<tally::json_lines>(comm, "/proc/no such folder/log.jsonl"); });
        CHECK(contains(text, "/proc/no such folder"));
        auto const log = tally::open_on_main<tally::json_lines>(comm, "/dev/null");
        CHECK(log.is_main() == (comm.rank() == 0));
    });
}
