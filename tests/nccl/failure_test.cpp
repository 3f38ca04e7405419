// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What remains over NCCL when a replica never joins, never comes, throws, or when NCCL fails: an error on every replica
// that is there, within the deadline; nothing waits in a destructor; a new communicator works. Run by themselves, as vgpu
// reports each loss.
#include "nccl/support.hpp"

#include <tally/comm/self.hpp>
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>
#include <tally/nccl.hpp>

#include <doctest/doctest.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tally::testing;

namespace {

/// A tracker with the sample 1 + rank.
struct host_state {
    explicit host_state(int own_rank) : rank(own_rank) {
        tracker.update(tally::values(std::vector{1.0F + static_cast<float>(own_rank)}));
    }
    [[nodiscard]] bool intact() const {
        auto const own = tracker.finalize();
        return own.samples() == 1 && own.value() == 1.0 + rank;
    }
    /// Whether all of a fresh group combine.
    [[nodiscard]] bool combines(tally::nccl_communicator& comm) const {
        return tracker.combine(comm).samples() == static_cast<std::uint64_t>(comm.size());
    }

    int rank;
    tally::host::tracker<tally::mean<>> tracker;
};

/// All replicas of a fresh group can combine.
void check_anew(int size) {
    auto fresh = make_group(size);
    on_group(fresh, [](tally::nccl_communicator& comm) { CHECK(host_state(comm.rank()).combines(comm)); });
}

} // namespace

TEST_SUITE_BEGIN("loss");

TEST_CASE("nccl failures: a replica that never joins ends the making of a communicator at the deadline" *
          doctest::skip()) {
    ncclUniqueId id;
    REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
    stopwatch const watch;
    auto const text = text_of<tally::deadline_exceeded>([&] { tally::nccl_communicator{id, 0, 2, 300ms}; });
    CHECK(contains(text, "replica 0 waited longer than 300 ms for the others to make an NCCL communicator"));
    CHECK(watch.elapsed() >= 300ms);
    CHECK(watch.elapsed() < 2s);
}

TEST_CASE("nccl failures: a replica that never comes ends a collective at the deadline; later calls throw at once" *
          doctest::skip()) {
    auto const size = group_sizes().back();
    REQUIRE(size > 1);
    auto group = make_group(size);
    std::atomic<int> by_deadline{0};
    on_group(group, [&](tally::nccl_communicator& comm) {
        host_state const own(comm.rank());
        CHECK(own.combines(comm));
        if (comm.rank() == size - 1) {
            return;
        }
        comm.set_deadline(400ms);
        stopwatch const watch;
        try {
            (void)own.tracker.combine(comm);
            CHECK_MESSAGE(false, "combined without a replica");
        } catch (tally::deadline_exceeded const& late) {
            ++by_deadline;
            CHECK(contains(late.what(), "waited longer than 400 ms in all_reduce_sum of "));
            CHECK(watch.elapsed() >= 400ms);
        } catch (tally::nccl_error const& told) { // by NCCL, as another one gave up first
            CHECK(told.result() == ncclRemoteError);
            CHECK(told.rank() == comm.rank());
            CHECK(told.device() == comm.rank());
        }
        CHECK(watch.elapsed() < 2s);
        CHECK(own.intact());
        stopwatch const again;
        CHECK_THROWS_AS((void)own.tracker.combine(comm), tally::replica_lost);
        law_buffer<tally::device_space, std::uint64_t> words{{1}};
        CHECK_THROWS_AS(comm.all_reduce_sum(words.span()), tally::replica_lost);
        CHECK_THROWS_AS((void)comm.split(0), tally::replica_lost);
        CHECK(again.elapsed() < 300ms);
        tally::self_communicator self;
        CHECK(own.tracker.combine(self).value() == 1.0 + comm.rank());
    });
    CHECK(by_deadline >= 1);
    check_anew(size);
}

TEST_CASE("nccl failures: a replica that throws before it combines leaves, and the others need not wait" *
          doctest::skip()) {
    auto const size = group_sizes().back();
    REQUIRE(size > 1);
    auto group = make_group(size, 30s);
    on_group(group, [&](tally::nccl_communicator& given) {
        auto const rank = given.rank();
        host_state const own(rank);
        CHECK(own.combines(given));
        stopwatch const watch;
        try {
            auto comm = std::move(given);
            if (rank == 0) {
                std::this_thread::sleep_for(50ms);
                throw std::runtime_error("in update");
            }
            CHECK_THROWS_AS((void)own.tracker.combine(comm), tally::replica_lost);
        } catch (std::runtime_error const&) {
            CHECK(rank == 0);
        }
        CHECK(watch.elapsed() < 5s);
        CHECK(own.intact());
    });
    check_anew(size);
}

TEST_CASE("nccl failures: a user's communicator is not freed when its use has failed" * doctest::skip()) {
    std::vector<ncclComm_t> comms(2);
    REQUIRE(ncclCommInitAll(comms.data(), 2, nullptr) == ncclSuccess);
    on_devices(2, [&](int rank) {
        if (rank == 1) {
            return;
        }
        {
            tally::nccl_communicator comm{comms[0], 300ms};
            law_buffer<tally::device_space, std::uint64_t> words{{1}};
            CHECK_THROWS_AS(comm.all_reduce_sum(words.span()), tally::deadline_exceeded);
        }
        stopwatch const watch;
        cudaStream_t stream = nullptr; // the device is free again
        tally::cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
        tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        tally::cuda::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
        CHECK(watch.elapsed() < 2s);
    });
    for (auto const comm : comms) {
        int rank = -1;
        CHECK(ncclCommUserRank(comm, &rank) == ncclSuccess); // a freed one would be an invalid argument
        CHECK(ncclCommAbort(comm) == ncclSuccess);
    }
}

TEST_SUITE_END();

TEST_CASE("fault: a call of NCCL fails on one replica: it throws nccl_error, the others lose it" * doctest::skip()) {
    auto const size = group_sizes().back();
    REQUIRE(size > 1);
    auto group = make_group(size, 3s);
    std::atomic<int> failed{0};
    on_group(group, [&](tally::nccl_communicator& comm) {
        host_state const own(comm.rank());
        stopwatch const watch;
        try {
            (void)own.tracker.combine(comm);
            CHECK_MESSAGE(false, "combined without a replica");
        } catch (tally::nccl_error const& error) {
            if (error.result() == ncclSystemError) {
                ++failed;
                CHECK(comm.rank() == 1);
                CHECK(error.rank() == 1);
                CHECK(contains(error.what(), "ncclAllReduce failed on replica 1, device 1: "));
            }
        } catch (tally::replica_lost const&) {
            CHECK(comm.rank() != 1);
        }
        CHECK(watch.elapsed() < 5s);
        CHECK(own.intact());
    });
    CHECK(failed == 1);
    check_anew(size);
}

TEST_CASE("fault: a communicator that can't be made is an nccl_error, and the next one can" * doctest::skip()) {
    try {
        (void)make_group(2);
        CHECK_MESSAGE(false, "made although NCCL failed");
    } catch (tally::nccl_error const& error) {
        CHECK(error.result() == ncclSystemError);
    }
    check_anew(2);
}
