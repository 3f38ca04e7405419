// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Windows of NCCL for the memory of messages: registered once where wanted, given back, and never needed. This program's
// own functions stand before those of NCCL, and count.
#include "nccl/support.hpp"
#include "support/device_array.cuh"

#include <tally/cuda.hpp>
#include <tally/nccl.hpp>

#include <doctest/doctest.h>
#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

using namespace tally::testing;

namespace {

std::atomic<int> registered{0};
std::atomic<int> returned{0};
std::atomic<bool> no_links{false};
std::atomic<ncclResult_t> answer{ncclSuccess};

using metrics = tally::collection<tally::named<"mean", tally::mean<>>, tally::named<"largest", tally::largest<>>,
                                  tally::named<"spread", tally::variance<>>>;

/// The snapshots of two combines, and of a captured one outside of a graph, on each replica.
std::vector<std::vector<std::byte>> combine_all(tally::nccl_communicator& comm) {
    device_array<float> const input({1.0F + static_cast<float>(comm.rank()), 3.0F});
    tally::cuda::tracker<metrics> tracker;
    tracker.update(tally::values(input.data(), input.size()));
    auto const first = tracker.combine(comm);
    auto const second = tracker.combine(comm);
    auto const recorded = tracker.capture_combine(comm);
    recorded.record(tracker.stream());
    return {tally::snapshot(first), tally::snapshot(second), tally::snapshot(recorded.get(tracker.stream()))};
}

} // namespace

extern "C" {
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* memory, std::size_t bytes, ncclWindow_t* window, int flags) {
    ++registered;
    CHECK(flags == NCCL_WIN_COLL_SYMMETRIC);
    if (answer != ncclSuccess) {
        return answer;
    }
    if (no_links) {
        *window = nullptr;
        return ncclSuccess;
    }
    return pncclCommWindowRegister(comm, memory, bytes, window, flags);
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
    ++returned;
    return pncclCommWindowDeregister(comm, window);
}
}

TEST_CASE("nccl windows: the same results with them, without them, and where the devices have no links") {
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        std::vector<std::byte> expected;
        for (bool const wanted : {false, true}) {
            for (bool const links : {true, false}) {
                CAPTURE(wanted);
                CAPTURE(links);
                registered = 0;
                returned = 0;
                no_links = !links;
                {
                    auto group = make_group(size);
                    on_group(group, [&](tally::nccl_communicator& comm) {
                        if (wanted) {
                            CHECK(comm.use_windows());
                        }
                        auto const results = combine_all(comm);
                        if (comm.rank() == 0 && expected.empty()) {
                            expected = results[0];
                        }
                        for (auto const& each : results) {
                            CHECK(each == results[0]);
                        }
                        CHECK(works(comm));
                        if (comm.rank() == 0) {
                            CHECK(results[0] == expected);
                        }
                    });
                }
                // One for the combines of the layout, one for the captured one.
                CHECK(registered == (wanted ? 2 * size : 0));
                CHECK(returned == (wanted && links ? 2 * size : 0));
            }
        }
    }
    no_links = false;
}

TEST_CASE("nccl windows: an error of NCCL is an nccl_error, and local states are intact") {
    auto group = make_group(1);
    on_group(group, [&](tally::nccl_communicator& comm) {
        CHECK(comm.use_windows());
        device_array<float> const input({2.0F});
        tally::cuda::tracker<metrics> tracker;
        tracker.update(tally::values(input.data(), input.size()));
        answer = ncclSystemError;
        auto const text = text_of<tally::nccl_error>([&] { (void)tracker.combine(comm); });
        answer = ncclSuccess;
        CHECK(contains(text, "ncclCommWindowRegister failed on replica 0"));
        CHECK_THROWS_AS((void)tracker.combine(comm), tally::replica_lost);
        CHECK(tracker.finalize().samples() == 1);
    });
}
