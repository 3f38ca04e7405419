// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A combine over NCCL inside a CUDA graph: each launch gives the values of that time; it allocates nothing; and a combine
// that can't be captured says so without harm to the capture.
#include "nccl/support.hpp"
#include "support/device_array.cuh"
#include "support/device_counters.hpp"

#include <tally/cuda.hpp>
#include <tally/nccl.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace tally::literals;
using namespace tally::testing;

namespace {

using metrics = tally::collection<tally::named<"mean", tally::mean<>>, tally::named<"largest", tally::largest<>>,
                                  tally::named<"spread", tally::variance<>>>;

class graph_stream {
public:
    graph_stream() { tally::cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
    graph_stream(graph_stream const&) = delete;
    graph_stream& operator=(graph_stream const&) = delete;
    ~graph_stream() {
        if (graph_ != nullptr) {
            (void)cudaGraphExecDestroy(graph_);
        }
        (void)cudaStreamDestroy(stream_);
    }

    template <class Function>
    void capture(Function function) {
        cudaGraph_t captured = nullptr;
        tally::cuda::check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin of the capture");
        function();
        tally::cuda::check(cudaStreamEndCapture(stream_, &captured), "end of the capture");
        tally::cuda::check(cudaGraphInstantiate(&graph_, captured, 0), "cudaGraphInstantiate");
        tally::cuda::check(cudaGraphDestroy(captured), "cudaGraphDestroy");
    }
    void launch() const { tally::cuda::check(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch"); }
    [[nodiscard]] cudaStream_t get() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t graph_ = nullptr;
};

/// A replica whose graph takes its two samples, 1 + rank and 3 + rank, and combines.
struct replica {
    explicit replica(tally::nccl_communicator& comm)
        : input({1.0F + static_cast<float>(comm.rank()), 3.0F + static_cast<float>(comm.rank())}),
          tracker(stream.get()), recorded(tracker.capture_combine(comm)) {
        tracker.update(tally::values(input.data(), 0)); // no samples: what the first update sets up is there
        stream.capture([&] {
            tracker.update(tally::values(input.data(), input.size()));
            recorded.record(stream.get());
        });
    }

    device_array<float> input;
    graph_stream stream;
    tally::cuda::tracker<metrics> tracker;
    tally::cuda::captured_combine<metrics> recorded;
};

} // namespace

TEST_CASE(
    "captured_combine: each launch of the graph combines what the trackers hold then, as an ordinary combine does") {
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        auto group = make_group(size);
        on_group(group, [&](tally::nccl_communicator& comm) {
            replica own(comm);
            for (std::uint64_t launches = 1; launches != 4; ++launches) {
                own.stream.launch();
                auto const all = own.recorded.get(own.stream.get());
                CHECK(all.replicas() == size);
                CHECK(all.samples() == launches * 2 * static_cast<std::uint64_t>(size));
                CHECK(all["mean"_metric].value() == 2.0 + (size - 1) / 2.0);
                CHECK(all["largest"_metric].value() == 2.0F + static_cast<float>(size));
                CHECK(tally::snapshot(own.tracker.combine(comm)) == tally::snapshot(all)); // outside of the graph
            }
            own.tracker.reset();
            own.stream.launch();
            own.stream.launch(); // the result is that of the last one
            CHECK(own.recorded.get(own.stream.get()).samples() == 4 * static_cast<std::uint64_t>(size));
            own.recorded.record(own.stream.get()); // without a graph
            CHECK(own.recorded.get(own.stream.get()).samples() == 4 * static_cast<std::uint64_t>(size));
        });
    }
}

TEST_CASE("captured_combine: a launch allocates nothing and is one kernel more, one group, one copy" *
          doctest::test_suite("plain")) {
    TALLY_NEEDS_COUNTERS();
    auto const size = group_sizes().back();
    auto const replicas = static_cast<unsigned long long>(size);
    auto group = make_group(size);
    std::vector<std::optional<replica>> own(group.size());
    on_group(group, [&](auto& comm) { own[static_cast<std::size_t>(comm.rank())].emplace(comm); });
    count_from_here();
    on_group(group, [&](auto& comm) {
        auto& mine = *own[static_cast<std::size_t>(comm.rank())];
        mine.stream.launch();
        CHECK(mine.recorded.get(mine.stream.get()).samples() == 2 * static_cast<std::uint64_t>(size));
    });
    CHECK(counted("pack_kernel", "launches") == replicas);
    for (auto const* call : {"cudaMalloc", "cudaMallocHost", "cudaStreamSynchronize", "cudaEventCreate"}) {
        CAPTURE(call);
        CHECK(counted(call, "calls") == 0);
    }
}

TEST_CASE(
    "combine over NCCL while its stream is captured: configuration_error that says what to do; the capture goes on") {
    auto const size = group_sizes().back();
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        graph_stream stream;
        device_array<float> const input({5.0F});
        tally::cuda::tracker<metrics> tracker{stream.get()};
        auto const recorded = tracker.capture_combine(comm);
        stream.capture([&] {
            tracker.update(tally::values(input.data(), input.size()));
            for (auto const& text : {text_of<tally::configuration_error>([&] { (void)tracker.combine(comm); }),
                                     text_of<tally::configuration_error>([&] { (void)tracker.combine_async(comm); }),
                                     text_of<tally::configuration_error>([&] { (void)tracker.combine_to(comm, 0); }),
                                     text_of<tally::configuration_error>([&] { (void)recorded.get(stream.get()); })}) {
                CHECK(contains(text, "capture_combine(communicator) before the capture"));
            }
        });
        stream.launch();
        CHECK(tracker.combine(comm).samples() == static_cast<std::uint64_t>(size));
    });
}

TEST_CASE("captured_combine: a replica that never launches its graph; the others end at the deadline, states intact" *
          doctest::test_suite("loss") * doctest::skip()) {
    auto const size = group_sizes().back();
    if (size < 2) {
        MESSAGE("skipped: needs two devices");
        return;
    }
    auto group = make_group(size, 500ms);
    on_group(group, [&](tally::nccl_communicator& comm) {
        replica own(comm);
        if (comm.rank() == 1) {
            std::this_thread::sleep_for(1s);
            return;
        }
        own.stream.launch();
        stopwatch const watch;
        CHECK_THROWS_AS((void)own.recorded.get(own.stream.get()), tally::replica_lost);
        CHECK(watch.elapsed() < 3s);
        CHECK_THROWS_AS(own.recorded.record(own.stream.get()), tally::replica_lost);
    });
}
