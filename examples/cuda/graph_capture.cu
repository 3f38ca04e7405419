// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// An update inside a CUDA graph: captured once, replayed for every batch that is put into the same memory.
#include "device.hpp"

#include <tally/cuda.hpp>

#include <cstdio>
#include <vector>

using tally::cuda::check;

// listing-begin
/// `losses` is a buffer of n numbers that every step writes anew.
tally::result<double> mean_of_steps(cudaStream_t stream, float* losses, std::size_t n, int steps) {
    tally::cuda::tracker<tally::mean<>> tracker{stream};
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    tracker.update(tally::values(losses, n)); // and, in earnest, the step that writes them
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    cudaGraphExec_t step = nullptr;
    check(cudaGraphInstantiate(&step, graph, 0), "cudaGraphInstantiate");
    for (int k = 0; k < steps; ++k) {
        check(cudaMemsetAsync(losses, 0, n / 2 * sizeof(float), stream), "cudaMemsetAsync"); // stands for a step
        check(cudaGraphLaunch(step, stream), "cudaGraphLaunch");
    }
    auto const mean = tracker.finalize(); // waits; the tracker must outlive the graph's launches
    check(cudaGraphExecDestroy(step), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return mean.get();
}
// listing-end

int main() {
    if (!device_present()) {
        return 0;
    }
    on_device<float> const losses(std::vector<float>(1000, 1.0F));
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    auto const mean = mean_of_steps(stream, losses.data(), losses.size(), 3);
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    std::printf("mean of 3 replayed steps: %.2f\n", mean.value());
    return mean.value() == 0.5 ? 0 : 1;
}
