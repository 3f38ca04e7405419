// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Trackers combined over NCCL: the same bits as over threads, for trackers on the host and on devices; how many calls
// and bytes that takes; and what happens when replicas differ or one never comes.
#include "nccl/support.hpp"
#include "support/device_array.cuh"
#include "support/device_counters.hpp"

#include <tally/cuda.hpp>
#include <tally/nccl.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace tally::literals;
using namespace tally::testing;

namespace {

using evaluation =
    tally::collection<tally::named<"mse", tally::mean_squared_error<>>, tally::named<"largest", tally::max_error<>>,
                      tally::named<"pearson", tally::pearson_correlation<>>,
                      tally::named<"exact", tally::mean_squared_error<float, tally::exact_sum<float>>>>;

std::vector<float> numbers_of(int rank, unsigned seed) {
    std::vector<float> x(static_cast<std::size_t>(700 * rank)); // replica 0 has none
    unsigned state = seed + static_cast<unsigned>(rank);
    for (auto& each : x) {
        state = state * 1664525U + 1013904223U;
        each = static_cast<float>(state >> 8) * 0x1p-22F;
    }
    return x;
}

template <class Results>
std::vector<double> values_of(Results const& results) {
    std::vector<double> values;
    results.for_each([&](auto, auto const& value) { values.push_back(static_cast<double>(value.as_double())); });
    values.push_back(static_cast<double>(results.samples()));
    return values;
}

} // namespace

TEST_CASE("host trackers combined over NCCL: the bits that threads give") {
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        auto const expected = tally::replicas{size}.run([](tally::thread_communicator& comm) {
            tally::host::tracker<evaluation> tracker;
            tracker.update(tally::predictions(numbers_of(comm.rank(), 1)), tally::targets(numbers_of(comm.rank(), 9)));
            return values_of(tracker.combine(comm));
        });
        auto group = make_group(size);
        on_group(group, [&](tally::nccl_communicator& comm) {
            tally::host::tracker<evaluation> tracker;
            tracker.update(tally::predictions(numbers_of(comm.rank(), 1)), tally::targets(numbers_of(comm.rank(), 9)));
            for (int twice = 0; twice < 2; ++twice) {
                auto const all = tracker.combine(comm.staged());
                CHECK(all.replicas() == size);
                CHECK(std::memcmp(values_of(all).data(), expected[0].data(),
                                  expected[0].size() * sizeof(double)) == 0); // NaN too
            }
        });
    }
}

TEST_CASE("device trackers combined over NCCL: the bits that threads give") {
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        auto const on_each = [](auto& comm) {
            auto const p = numbers_of(comm.rank(), 1);
            auto const t = numbers_of(comm.rank(), 9);
            device_array<float> const predictions(p);
            device_array<float> const targets(t);
            tally::cuda::tracker<evaluation> tracker;
            tracker.update(tally::predictions(predictions.data(), p.size()), tally::targets(targets.data(), t.size()));
            return values_of(tracker.combine(comm));
        };
        auto const expected =
            tally::replicas{size}.run([&](tally::thread_communicator& comm) { return on_each(comm); });
        auto group = make_group(size);
        on_group(group, [&](tally::nccl_communicator& comm) {
            auto const all = on_each(comm.staged());
            CHECK(std::memcmp(all.data(), expected[0].data(), all.size() * sizeof(double)) == 0);
        });
    }
}

TEST_CASE("a combine over NCCL is one group of at most three calls" * doctest::test_suite("plain")) {
    TALLY_NEEDS_COUNTERS();
    auto const size = group_sizes().back();
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) { // compares the layouts, once
        tally::host::tracker<tally::confusion_matrix<100>> tracker;
        (void)tracker.combine(comm.staged());
    });
    count_from_here();
    on_group(group, [&](tally::nccl_communicator& comm) {
        tally::host::tracker<tally::confusion_matrix<100>> tracker;
        (void)tracker.combine(comm.staged());
    });
    auto const calls = counted("allreduce", "nccl_calls") + counted("allgather", "nccl_calls") +
                       counted("AllReduce", "nccl_calls") + counted("AllGather", "nccl_calls") +
                       counted("ncclAllReduce", "nccl_calls") + counted("ncclAllGather", "nccl_calls");
    CHECK(calls > 0);
    CHECK(calls <= 3 * static_cast<unsigned long long>(size));
}

TEST_CASE("replicas with different collections all get layout_mismatch, and go on") {
    auto const size = group_sizes().back();
    if (size < 2) {
        MESSAGE("skipped: needs two devices");
        return;
    }
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        if (comm.rank() == 1) {
            tally::host::tracker<tally::variance<>> other;
            CHECK_THROWS_AS((void)other.combine(comm.staged()), tally::layout_mismatch);
        } else {
            tally::host::tracker<tally::mean<>> tracker;
            CHECK_THROWS_AS((void)tracker.combine(comm.staged()), tally::layout_mismatch);
        }
        CHECK(works(comm));
    });
}

TEST_CASE("a replica that never comes ends a combine at the deadline; the local state is intact" *
          doctest::test_suite("plain")) {
    auto const size = group_sizes().back();
    if (size < 2) {
        MESSAGE("skipped: needs two devices");
        return;
    }
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        comm.set_deadline(std::chrono::milliseconds{700});
        if (comm.rank() == 1) {
            return; // never combines
        }
        std::vector<float> const values{1.0F, 3.0F};
        device_array<float> const input(values);
        tally::cuda::tracker<tally::mean<>> tracker;
        tracker.update(tally::values(input.data(), values.size()));
        stopwatch const watch;
        CHECK_THROWS_AS((void)tracker.combine(comm.staged()), tally::replica_lost);
        CHECK(watch.elapsed() < std::chrono::seconds{30});
        CHECK(tracker.finalize().value() == 2.0);
        tally::self_communicator alone;
        CHECK(tracker.combine(alone).value() == 2.0);
    });
}
