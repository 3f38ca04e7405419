// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What does combining a collection cost over NCCL, next to one bare ncclAllReduce of the same bytes and to other ways?
//
//   bare          one ncclAllReduce of the same bytes, in place, and a wait for the stream
//   combine       tracker.combine(comm) of a device tracker, values on the host
//   in a graph    the same, captured once and launched, values on the host
//   host tracker  tracker.combine(comm) of a host tracker: staged
//   per state     one ncclAllReduce for each piece of state, as is common elsewhere, and a wait; the bytes are the same
//
//     sync_nccl [--quick]
//
// A thread for each GPU of this machine. The plans take turns, call by call; microseconds. --quick makes three calls of
// each: that everything runs, also on vgpu, where times say nothing.
#include "sync.hpp"

#include <tally/cuda.hpp>
#include <tally/nccl.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace gpu = tally::cuda;
namespace bench = tally::bench;

void check_nccl(ncclResult_t result) {
    if (result != ncclSuccess && result != ncclInProgress) {
        throw tally::error(ncclGetErrorString(result));
    }
}

/// A captured combine, ready to be launched.
template <class M>
class graph {
public:
    graph(gpu::tracker<M> const& tracker, tally::nccl_communicator& comm) : recorded_{tracker.capture_combine(comm)} {
        cudaGraph_t captured = nullptr;
        gpu::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        gpu::check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        recorded_.record(stream_);
        gpu::check(cudaStreamEndCapture(stream_, &captured), "cudaStreamEndCapture");
        gpu::check(cudaGraphInstantiate(&launchable_, captured, 0), "cudaGraphInstantiate");
        gpu::check(cudaGraphDestroy(captured), "cudaGraphDestroy");
    }
    graph(graph const&) = delete;
    graph& operator=(graph const&) = delete;
    ~graph() {
        (void)cudaGraphExecDestroy(launchable_);
        (void)cudaStreamDestroy(stream_);
    }

    void run() const {
        gpu::check(cudaGraphLaunch(launchable_, stream_), "cudaGraphLaunch");
        (void)recorded_.get(stream_);
    }

private:
    gpu::captured_combine<M> recorded_;
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t launchable_ = nullptr;
};

/// `bare` is a communicator of its own, for the calls without tally.
template <std::size_t Classes>
void rows(tally::thread_communicator& threads, tally::nccl_communicator& comm, ncclComm_t bare, std::size_t calls) {
    using metrics = bench::evaluation<Classes>;
    tally::host::tracker<metrics> on_host;
    gpu::tracker<metrics> tracker;
    auto const size = bench::message_size::of(on_host.merged());
    auto const bytes = size.words * sizeof(std::uint64_t);
    gpu::detail::device_buffer const memory(bytes);
    auto const stream = comm.stream();
    gpu::check(cudaMemsetAsync(memory.data(), 0, bytes, stream), "cudaMemsetAsync");
    auto const reduce = [&](std::size_t first, std::size_t words) {
        auto* const data = reinterpret_cast<std::uint64_t*>(memory.data()) + first;
        check_nccl(ncclAllReduce(data, data, words, ncclUint64, ncclSum, bare, stream));
    };
    auto const wait = [&] { gpu::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); };
    graph<metrics> const captured{tracker, comm};
    bench::compare(threads, bytes,
                   {{"bare",
                     [&] {
                         reduce(0, size.words);
                         wait();
                     }},
                    {"combine", [&] { (void)tracker.combine(comm); }},
                    {"in a graph", [&] { captured.run(); }},
                    {"host tracker", [&] { (void)on_host.combine(comm); }},
                    {"per state, " + std::to_string(size.pieces.size()),
                     [&] {
                         std::size_t first = 0;
                         for (auto const piece : size.pieces) {
                             reduce(first, piece);
                             first += piece;
                         }
                         wait();
                     }}},
                   calls);
}

} // namespace

int main(int argc, char** argv) {
    std::size_t const calls = argc > 1 && std::string_view(argv[1]) == "--quick" ? 3 : 400;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("no CUDA device here: nothing to measure");
        return 0;
    }
    std::vector<ncclComm_t> bare(static_cast<std::size_t>(devices));
    check_nccl(ncclCommInitAll(bare.data(), devices, nullptr));
    tally::replicas{devices}.run([&](tally::thread_communicator& threads) {
        gpu::check(cudaSetDevice(threads.rank()), "cudaSetDevice");
        auto comm = tally::nccl_over(threads);
        auto const own = bare[static_cast<std::size_t>(threads.rank())];
        rows<10>(threads, comm, own, calls);
        rows<100>(threads, comm, own, calls);
        rows<300>(threads, comm, own, calls);
    });
    for (auto const each : bare) {
        check_nccl(ncclCommDestroy(each));
    }
}
