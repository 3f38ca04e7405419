// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a combine of 30 metrics over NCCL costs, counted: collectives, bytes, calls of the runtime. Beside it what it
// would be state by state.
#include "nccl/support.hpp"
#include "nccl/thirty_metrics.hpp"
#include "support/device_counters.hpp"

#include <tally/cuda.hpp>
#include <tally/nccl.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

using namespace tally::testing;

namespace {

/// One collective for each field of each state and each lane of it, as libraries do that combine state by state.
/// Returns how many that were.
int combine_state_by_state(tally::nccl_communicator& comm, tally::states_of<thirty> const& states) {
    int calls = 0;
    auto& staged = comm.staged();
    states.visit([&](auto const& field) {
        auto const lanes = tally::detail::lanes_of_field(field);
        std::vector<std::uint64_t> sums(lanes.sums);
        std::vector<std::uint64_t> maxes(lanes.maxes);
        std::vector<std::byte> mine(lanes.bytes);
        std::vector<std::byte> all(lanes.bytes * static_cast<std::size_t>(comm.size()));
        if (lanes.sums != 0) {
            staged.all_reduce_sum(sums);
            ++calls;
        }
        if (lanes.maxes != 0) {
            staged.all_reduce_max(maxes);
            ++calls;
        }
        if (lanes.bytes != 0) {
            staged.all_gather(mine, all);
            ++calls;
        }
    });
    return calls;
}

unsigned long long collectives(char const* counter) {
    return counted("AllReduce", counter) + counted("AllGather", counter) + counted("Reduce", counter) +
           counted("Send", counter) + counted("Recv", counter) + counted("Broadcast", counter);
}

} // namespace

TEST_CASE("cuda::tracker over NCCL: 30 metrics are one group of three calls; state by state they would be many" *
          doctest::test_suite("plain")) {
    TALLY_NEEDS_COUNTERS();
    auto const size = group_sizes().back();
    auto const replicas = static_cast<unsigned long long>(size);
    auto group = make_group(size);
    std::vector<std::optional<tally::cuda::tracker<thirty>>> trackers(group.size());
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto& tracker = trackers[static_cast<std::size_t>(comm.rank())];
        tracker.emplace();
        tracker->assign(samples_of(comm.rank()));
        (void)tracker->combine(comm); // compares the layouts and allocates
    });
    count_from_here();
    on_group(group, [&](tally::nccl_communicator& comm) {
        (void)trackers[static_cast<std::size_t>(comm.rank())]->combine(comm);
    });
    CHECK(counted("group", "nccl_calls") == replicas);
    CHECK(collectives("nccl_calls") == 3 * replicas);
    CHECK(counted("pack_kernel", "launches") == replicas);
    // Not what is freed: threads may still free what earlier cases had.
    for (auto const* call : {"cudaMalloc", "cudaMallocHost", "cudaMemset", "cudaMemsetAsync", "cudaStreamSynchronize",
                             "cudaEventSynchronize", "cudaEventCreate"}) {
        CAPTURE(call);
        CHECK(counted(call, "calls") == 0);
    }
    CHECK(counted("cudaMemcpyAsync", "calls") == replicas);

    auto states = samples_of(0); // not const: nvcc 13.0 does not come to an end with that
    auto const lanes = tally::detail::lanes_of_states(states);
    auto const packed = 8 * lanes.sums + 8 * lanes.maxes + lanes.bytes;
    auto const sent = collectives("nccl_bytes") / replicas;
    CHECK(packed > 80000);
    CHECK(sent >= packed);
    CHECK(sent <= packed + packed / 20);

    std::atomic<int> calls{0};
    on_group(group, [&](tally::nccl_communicator& comm) { calls = combine_state_by_state(comm, states); });
    MESSAGE("collectives of a combine of 30 metrics: 3; state by state: ", calls.load(), "; bytes sent: ", sent,
            ", of the packed state: ", packed);
    CHECK(calls.load() > 30);
}
