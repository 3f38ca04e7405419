// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Device trackers combined over NCCL without a way through host memory: the words that the host would send, one group of
// at most three calls, no wait before get; and what is left when a combine can't end.
#include "nccl/support.hpp"
#include "nccl/thirty_metrics.hpp"
#include "support/device_array.cuh"

#include <tally/cuda.hpp>
#include <tally/nccl.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tally::literals;
using namespace tally::testing;

namespace {

template <class M>
std::vector<std::byte> bytes_of(tally::combined<M> const& all) {
    return tally::snapshot(all);
}

using small = tally::collection<tally::named<"mean", tally::mean<>>, tally::named<"variance", tally::variance<>>>;

/// A device tracker of `small` that was updated with 1 + rank, 3 + rank.
struct updated {
    explicit updated(int rank) : input({1.0F + static_cast<float>(rank), 3.0F + static_cast<float>(rank)}) {
        tracker.update(tally::values(input.data(), input.size()));
    }
    [[nodiscard]] bool intact(int rank) const {
        return tracker.finalize()["mean"_metric].value() == 2.0 + rank && tracker.finalize().samples() == 2;
    }

    device_array<float> input;
    tally::cuda::tracker<small> tracker;
};

} // namespace

TEST_CASE("cuda::tracker over NCCL: the bits of the same states combined by threads, twice, and to each root") {
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        auto const expected = tally::replicas{size, 60s}.run(
            [](tally::thread_communicator& comm) { return bytes_of(samples_of(comm.rank()).combine(comm)); });
        auto group = make_group(size);
        on_group(group, [&](tally::nccl_communicator& comm) {
            tally::cuda::tracker<thirty> tracker;
            tracker.assign(samples_of(comm.rank()).merged());
            for (int twice = 0; twice != 2; ++twice) {
                auto const all = tracker.combine(comm);
                CHECK(all.replicas() == size);
                CHECK(bytes_of(all) == expected[0]);
            }
            for (int root = 0; root != size; ++root) {
                auto const at_root = tracker.combine_to(comm, root);
                CHECK(at_root.has_value() == (comm.rank() == root));
                CHECK((!at_root || bytes_of(*at_root) == expected[0]));
            }
            CHECK_THROWS_AS((void)tracker.combine_to(comm, size), tally::configuration_error);
            CHECK(bytes_of(tracker.combine(comm.staged())) == expected[0]);

            tally::cuda::tracker<thirty> restored;
            restored.restore(comm, tracker.snapshot(comm));
            auto const again = restored.snapshot(comm);
            CHECK(again == expected[0]);
            CHECK(restored.finalize().samples() == (comm.rank() == 0 ? tracker.combine(comm).samples() : 0));
            if (comm.rank() != 0) {
                (void)tracker.combine(comm);
            }
        });
    }
}

TEST_CASE("combine_async over NCCL: takes the states of its point of the stream and does not wait for replicas") {
    auto const size = group_sizes().back();
    auto group = make_group(size);
    std::atomic<int> started{0};
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto const rank = comm.rank();
        updated own(rank);
        (void)own.tracker.combine(comm); // from here on nothing is compared or allocated
        std::optional<tally::cuda::pending_combined<small>> first;
        std::optional<tally::cuda::pending_combined<small>> second;
        auto const start = [&] {
            first.emplace(own.tracker.combine_async(comm));
            own.tracker.update(tally::values(own.input.data(), own.input.size()));
            second.emplace(own.tracker.combine_async(comm));
            own.tracker.reset();
        };
        if (rank == 0) { // while nobody else has come
            start();
            CHECK((size == 1 || !first->ready()));
            started = 1;
        } else {
            while (started == 0) {
                std::this_thread::yield();
            }
            start();
        }
        auto const later = second->get(); // in the other order
        auto const earlier = first->get();
        CHECK(earlier.samples() == static_cast<std::uint64_t>(2 * size));
        CHECK(later.samples() == static_cast<std::uint64_t>(4 * size));
        CHECK(earlier["mean"_metric].value() == 2.0 + (size - 1) / 2.0);
        CHECK(later["mean"_metric].value() == 2.0 + (size - 1) / 2.0);
        CHECK(first->ready());
        CHECK(first->get().samples() == earlier.samples()); // again
        CHECK(own.tracker.finalize().samples() == 0);
    });
}

TEST_CASE("cuda::tracker over NCCL: other collections, and other numbers of classes, are layout_mismatch everywhere") {
    auto const size = group_sizes().back();
    if (size < 2) {
        MESSAGE("skipped: needs two devices");
        return;
    }
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto const last = comm.rank() + 1 == size;
        tally::cuda::tracker<tally::confusion_matrix<>> counts{
            tally::num_classes{last ? std::size_t{7} : std::size_t{5}}};
        auto const classes = text_of<tally::layout_mismatch>([&] { (void)counts.combine(comm); });
        CHECK(contains(classes, ("replica " + std::to_string(size - 1)).c_str()));
        updated own(comm.rank());
        auto const differs = text_of<tally::layout_mismatch>([&] {
            if (last) {
                (void)counts.combine(comm);
            } else {
                (void)own.tracker.combine(comm);
            }
        });
        CHECK(contains(differs, "\"mean\""));
        CHECK(own.intact(comm.rank()));
        CHECK(own.tracker.combine(comm).samples() == static_cast<std::uint64_t>(2 * size)); // and go on

        // Both layouts agreed on, but called in different orders.
        tally::cuda::tracker<tally::mean<>> means;
        tally::cuda::tracker<tally::mean<float, tally::sum<double>>> others;
        CHECK(means.combine(comm).samples() == others.combine(comm).samples());
    });
}

TEST_CASE("cuda::tracker over NCCL: a communicator of another device is refused, before anything is sent") {
    if (devices_here() < 2) {
        MESSAGE("skipped: needs two devices");
        return;
    }
    auto group = make_group(1);
    tally::cuda::check(cudaSetDevice(1), "cudaSetDevice");
    {
        updated own(0);
        CHECK_THROWS_AS((void)own.tracker.combine(group[0]), tally::configuration_error);
    }
    tally::cuda::check(cudaSetDevice(0), "cudaSetDevice");
    CHECK(works(group[0]));
}

TEST_CASE("combine over NCCL: a replica that never comes; the others end at the deadline and keep their states" *
          doctest::test_suite("plain")) {
    auto const size = group_sizes().back();
    if (size < 2) {
        MESSAGE("skipped: needs two devices");
        return;
    }
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto const rank = comm.rank();
        updated own(rank);
        (void)own.tracker.combine(comm);
        comm.set_deadline(500ms);
        if (rank == 1) {
            std::this_thread::sleep_for(1s);
            return;
        }
        stopwatch const watch;
        auto const text = text_of<tally::replica_lost>([&] { (void)own.tracker.combine(comm); });
        CHECK((contains(text, "waited longer than 500 ms in combine") || contains(text, "combine: ")));
        CHECK(watch.elapsed() < 3s);
        CHECK(own.intact(rank));
        CHECK_THROWS_AS((void)own.tracker.combine(comm), tally::replica_lost);
        tally::self_communicator self;
        CHECK(own.tracker.combine(self).samples() == 2);
    });
    auto fresh = make_group(size);
    on_group(fresh, [&](tally::nccl_communicator& comm) {
        updated own(comm.rank());
        CHECK(own.tracker.combine(comm).samples() == static_cast<std::uint64_t>(2 * size));
    });
}

TEST_CASE("combine over NCCL: a tracker or a communicator destroyed with a combine in flight waits for nobody" *
          doctest::test_suite("plain")) {
    auto const size = group_sizes().back();
    if (size < 2) {
        MESSAGE("skipped: needs two devices");
        return;
    }
    for (bool const tracker_first : {true, false}) {
        CAPTURE(tracker_first);
        auto group = make_group(size, 5s);
        std::atomic<int> gone{0};
        on_group(group, [&](tally::nccl_communicator& given) {
            std::optional comm{std::move(given)};
            auto const rank = comm->rank();
            std::optional<updated> own{rank};
            (void)own->tracker.combine(*comm);
            if (rank == 1) { // comes when the others' trackers or communicators are gone
                while (gone != size - 1) {
                    std::this_thread::sleep_for(1ms);
                }
                if (tracker_first) {
                    CHECK(own->tracker.combine(*comm).samples() == static_cast<std::uint64_t>(2 * size));
                } else {
                    CHECK_THROWS_AS((void)own->tracker.combine(*comm), tally::replica_lost);
                }
                CHECK(own->intact(rank));
                return;
            }
            auto const handle = own->tracker.combine_async(*comm);
            stopwatch const watch;
            if (tracker_first) {
                {
                    auto const moved = std::move(own->tracker);
                }
                CHECK(watch.elapsed() < 2s);
                ++gone;
                CHECK(handle.get().samples() == static_cast<std::uint64_t>(2 * size));
            } else {
                comm.reset();
                CHECK(watch.elapsed() < 2s);
                ++gone;
                CHECK_THROWS_AS((void)handle.get(), tally::replica_lost);
                CHECK(own->intact(rank));
            }
        });
    }
}

TEST_CASE("fault: memory for a message over NCCL: the replica without it throws and may call again" * doctest::skip()) {
    // The first allocations: one for the tracker on each device. The next is that of a message.
    auto const size = 2;
    auto group = make_group(size, 20s);
    std::vector<std::optional<updated>> own(2);
    std::vector<std::optional<updated>> spare(2);
    on_group(group,
             [&](tally::nccl_communicator& comm) { own[static_cast<std::size_t>(comm.rank())].emplace(comm.rank()); });
    int failures = 0;
    on_devices(1, [&](int) { // alone, so that the failing call is known to be this replica's
        try {
            (void)own[0]->tracker.combine_async(group[0]);
        } catch (tally::cuda::error const& error) {
            CHECK(error.code() == cudaErrorMemoryAllocation);
            ++failures;
        }
    });
    CHECK(failures == 1);
    CHECK(own[0]->intact(0));
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto const rank = comm.rank();
        CHECK(own[static_cast<std::size_t>(rank)]->tracker.combine(comm).samples() == 4);
        CHECK(own[static_cast<std::size_t>(rank)]->intact(rank));
    });
}

TEST_CASE("fault: a replica that dies in a combine over NCCL ends it for the others, with their states as they were" *
          doctest::skip()) {
    auto const size = group_sizes().back();
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        auto const rank = comm.rank();
        updated own(rank);
        comm.set_deadline(1s);
        stopwatch const watch;
        CHECK_THROWS_AS((void)own.tracker.combine(comm), tally::replica_lost);
        CHECK(watch.elapsed() < 4s);
        CHECK(own.intact(rank));
    });
    auto fresh = make_group(size);
    on_group(fresh, [&](tally::nccl_communicator& comm) {
        updated own(comm.rank());
        CHECK(own.tracker.combine(comm).samples() == static_cast<std::uint64_t>(2 * size));
    });
}
