// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams, devices and host threads: results as of a point of a stream, order between streams, several trackers at once,
// and the caller's current device left alone.
#include "support/device_array.cuh"

#include <doctest/doctest.h>

#include <tally/cuda.hpp>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

using tally::cuda::check;
using tally::testing::device_array;

namespace {

class stream {
public:
    stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
    stream(stream const&) = delete;
    stream& operator=(stream const&) = delete;
    ~stream() { (void)cudaStreamDestroy(stream_); }
    [[nodiscard]] cudaStream_t get() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

int devices() {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    return count;
}

std::size_t const n = 20000;

} // namespace

TEST_CASE("a handle holds the values of its moment, whatever comes later") {
    device_array<float> const ones(std::vector<float>(n, 1.0F));
    device_array<float> const threes(std::vector<float>(n, 3.0F));
    stream const work;
    tally::cuda::tracker<tally::mean<>> tracker{work.get()};
    tracker.update(tally::values(ones.data(), n));
    auto const early = tracker.finalize_async();
    tracker.update(tally::values(threes.data(), n));
    auto const late = tracker.finalize_async();
    CHECK(late.get().value() == 2.0);
    CHECK(early.get().value() == 1.0);
    CHECK(early.ready());
    CHECK(early.get().samples() == n);
}

TEST_CASE("a handle outlives its tracker; dropping one waits for nothing") {
    device_array<float> const ones(std::vector<float>(n, 1.0F));
    auto tracker = std::make_unique<tally::cuda::tracker<tally::mean<>>>();
    tracker->update(tally::values(ones.data(), n));
    auto const result = tracker->finalize_async();
    { auto const dropped = tracker->finalize_async(); }
    tracker.reset();
    CHECK(result.get().value() == 1.0);
}

TEST_CASE("updates on different streams of one tracker come one after the other") {
    stream const first;
    stream const second;
    device_array<float> const input(std::vector<float>(n, 0.5F));
    tally::cuda::tracker<tally::collection<tally::named<"mean", tally::mean<>>,
                                           tally::named<"bins", tally::histogram<tally::linear_bins<4>>>>>
        tracker{first.get()};
    for (int k = 0; k < 4; ++k) {
        tracker.update(k % 2 == 0 ? first.get() : second.get(), tally::values(input.data(), n));
    }
    auto const result = tracker.finalize_async(first.get()).get();
    CHECK(result.samples() == 4 * n);
    CHECK(result[tally::metric_name<"mean">{}].value() == 0.5);
}

TEST_CASE("combine_async takes the states as they are; updates may go on") {
    device_array<float> const ones(std::vector<float>(n, 1.0F));
    tally::cuda::tracker<tally::mean<>> tracker;
    tally::self_communicator alone;
    tracker.update(tally::values(ones.data(), n));
    auto const result = tracker.combine_async(alone);
    tracker.update(tally::values(ones.data(), n));
    CHECK(result.get().samples() == n);
    CHECK(tracker.combine(alone).samples() == 2 * n);
}

TEST_CASE("a tracker stays on its device, and the caller's device stays current") {
    if (devices() < 2) {
        MESSAGE("skipped: needs two devices");
        return;
    }
    check(cudaSetDevice(1), "cudaSetDevice");
    device_array<float> const there(std::vector<float>(n, 2.0F));
    tally::cuda::tracker<tally::mean<>> tracker;
    check(cudaSetDevice(0), "cudaSetDevice");
    CHECK(tracker.device() == 1);
    tracker.update(tally::values(there.data(), n));
    CHECK(tally::cuda::current_device() == 0);
    auto const pending = tracker.finalize_async();
    CHECK(pending.get().value() == 2.0);
    tracker.reset();
    CHECK(tracker.finalize().samples() == 0);
    CHECK(tally::cuda::current_device() == 0);
}

TEST_CASE("trackers of several host threads on one device are independent") {
    std::vector<double> means(4);
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < means.size(); ++k) {
        threads.emplace_back([&means, k] {
            stream const mine;
            device_array<float> const input(std::vector<float>(n, static_cast<float>(k)));
            tally::cuda::tracker<tally::mean<>> tracker{mine.get()};
            for (int step = 0; step < 5; ++step) {
                tracker.update(tally::values(input.data(), n));
            }
            means[k] = tracker.finalize().value();
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(means == std::vector<double>{0.0, 1.0, 2.0, 3.0});
}
