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

std::atomic<int> failed_allocations{0};

} // namespace

TEST_CASE("cuda::tracker over NCCL: the bits of the same states combined by threads, twice, and to each root") {
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        auto const expected = combined_by_threads(size);
        auto group = make_group(size);
        on_group(group, [&](tally::nccl_communicator& comm) {
            tally::cuda::tracker<thirty> tracker;
            tracker.assign(samples_of(comm.rank()));
            for (int twice = 0; twice != 2; ++twice) {
                auto all = tracker.combine(comm); // not const: nvcc 13.0 does not come to an end with that
                CHECK(all.replicas() == size);
                CHECK(bytes_of(all) == expected);
            }
            for (int root = 0; root != size; ++root) {
                auto at_root = tracker.combine_to(comm, root);
                CHECK(at_root.has_value() == (comm.rank() == root));
                CHECK((!at_root || bytes_of(*at_root) == expected));
            }
            CHECK_THROWS_AS((void)tracker.combine_to(comm, size), tally::configuration_error);
            CHECK(bytes_of(tracker.combine(comm.staged())) == expected);

            tally::cuda::tracker<thirty> restored;
            restored.restore(comm, tracker.snapshot(comm));
            auto const again = restored.snapshot(comm);
            CHECK(again == expected);
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

TEST_CASE("cuda::tracker over NCCL: made and destroyed between combines, while other replicas wait in the next one") {
    auto const size = group_sizes().back();
    auto group = make_group(size, 10s);
    on_group(group, [&](tally::nccl_communicator& comm) {
        for (int epoch = 0; epoch != 10; ++epoch) {
            updated own(comm.rank());
            CHECK(own.intact(comm.rank())); // takes pinned memory, which goes with the tracker
            CHECK(own.tracker.combine(comm).samples() == static_cast<std::uint64_t>(2 * size));
        }
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
          doctest::test_suite("loss") * doctest::skip()) {
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
        CHECK(contains(text, "combine: all_reduce_sum of ")); // the first to give up, or one that NCCL told
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
          doctest::test_suite("loss") * doctest::skip()) {
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

TEST_CASE("combine over NCCL: the replicas that remain leave a lost one out, with a combine in flight, and go on" *
          doctest::test_suite("loss") * doctest::skip()) {
    auto const size = group_sizes().back();
    if (size < 3) {
        MESSAGE("skipped: needs three devices");
        return;
    }
    auto group = make_group(size, 10s);
    on_group(group, [&](tally::nccl_communicator& comm) {
        updated own(comm.rank());
        (void)own.tracker.combine(comm);
        if (comm.rank() == 1) {
            return; // is lost
        }
        auto const handle = own.tracker.combine_async(comm);
        stopwatch const watch;
        auto rest = comm.without({1});
        CHECK_THROWS_AS((void)handle.get(), tally::replica_lost);
        CHECK_THROWS_AS((void)own.tracker.combine(comm), tally::replica_lost);
        CHECK_THROWS_AS((void)comm.without({1}), tally::replica_lost);
        auto const all = own.tracker.combine(rest);
        CHECK(watch.elapsed() < 5s); // long before the deadline
        CHECK(all.replicas() == size - 1);
        CHECK(all.samples() == static_cast<std::uint64_t>(2 * (size - 1)));
        CHECK(own.intact(comm.rank()));
    });
}

TEST_CASE("combine over NCCL: two communicators in flight are given up in any order, by deadline or by abort" *
          doctest::test_suite("loss") * doctest::skip()) {
    for (bool const by_deadline : {true, false}) {
        for (bool const first_one_first : {true, false}) {
            CAPTURE(by_deadline);
            CAPTURE(first_one_first);
            auto one = make_group(2);
            auto other = make_group(2);
            on_devices(2, [&](int rank) {
                auto const at = static_cast<std::size_t>(rank);
                updated own(rank);
                (void)own.tracker.combine(one[at]);
                (void)own.tracker.combine(other[at]);
                if (rank == 1) {
                    return; // goes on to nothing
                }
                one[at].set_deadline(300ms);
                other[at].set_deadline(300ms);
                auto const in_one = own.tracker.combine_async(one[at]);
                auto const in_other = own.tracker.combine_async(other[at]);
                auto const& sooner = first_one_first ? in_one : in_other;
                auto const& later = first_one_first ? in_other : in_one;
                stopwatch const watch;
                if (by_deadline) {
                    CHECK_THROWS_AS((void)sooner.get(), tally::deadline_exceeded);
                    CHECK_THROWS_AS((void)later.get(), tally::deadline_exceeded);
                } else {
                    (first_one_first ? one : other)[at].abort("enough");
                    (first_one_first ? other : one)[at].abort("enough");
                    CHECK(contains(text_of<tally::replica_lost>([&] { (void)later.get(); }), "enough"));
                    CHECK(contains(text_of<tally::replica_lost>([&] { (void)sooner.get(); }), "enough"));
                }
                CHECK(watch.elapsed() < 2s);
                CHECK(own.intact(rank));
            });
        }
    }
}

TEST_CASE("fault: memory for a message over NCCL: the replica without it throws, and combines when it calls again" *
          doctest::skip()) {
    auto group = make_group(2);
    on_group(group, [&](tally::nccl_communicator& comm) {
        CHECK(works(comm)); // the staged buffers are there
        updated own(comm.rank());
        CHECK(works(comm)); // both have what comes before a message: the next allocation is that of one
        auto const last = own.tracker.finalize()["mean"_metric].value();
        int failures = 0;
        for (bool done = false; !done;) {
            try {
                done = own.tracker.combine(comm).samples() == 4;
                CHECK(done);
            } catch (tally::cuda::error const& error) {
                CHECK(error.code() == cudaErrorMemoryAllocation);
                ++failures;
            }
        }
        failed_allocations += failures;
        CHECK(own.tracker.finalize()["mean"_metric].value() == last);
    });
    CHECK(failed_allocations == 1);
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
