// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// One process and all GPUs of the machine, a thread for each: every replica takes its own samples, and each of them gets
// the values of all.
#include "../cuda/device.hpp"

#include <tally/cuda.hpp>
#include <tally/nccl.hpp>

#include <cstdio>
#include <exception>
#include <numeric>
#include <thread>
#include <vector>

using namespace tally::literals;

// listing-begin
using evaluation = tally::collection<tally::named<"loss", tally::mean<>>, tally::named<"spread", tally::variance<>>>;

/// One replica. `losses` of n samples lie on its device.
double evaluate(tally::nccl_communicator& comm, float const* losses, std::size_t n) {
    tally::cuda::tracker<evaluation> tracker{comm.stream()};
    tracker.update(tally::values(losses, n));
    auto const pending = tracker.combine_async(comm); // on its way; the next updates may go on
    auto const result = pending.get();                // waits for the other replicas, until the deadline
    if (comm.rank() == 0) {
        std::printf("loss %.2f, variance %.3f, %llu samples of %d replicas\n", result["loss"_metric].value(),
                    result["spread"_metric].value(), static_cast<unsigned long long>(result.samples()),
                    result.replicas());
    }
    return result["loss"_metric].value();
}
// listing-end

int main() {
    if (!device_present()) {
        return 0;
    }
    int count = 0;
    tally::cuda::check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    std::vector<int> devices(static_cast<std::size_t>(count));
    std::iota(devices.begin(), devices.end(), 0);
    auto group = tally::nccl_communicators(devices);

    std::vector<double> losses(devices.size());
    std::vector<std::exception_ptr> failures(devices.size());
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k != group.size(); ++k) {
        threads.emplace_back([&, k] {
            try {
                tally::cuda::check(cudaSetDevice(group[k].device()), "cudaSetDevice");
                on_device<float> const own(std::vector<float>(100 + k, static_cast<float>(k))); // uneven parts
                losses[k] = evaluate(group[k], own.data(), own.size());
            } catch (...) {
                failures[k] = std::current_exception();
                group[k].abort("another replica has failed");
            }
        });
    }
    for (auto& each : threads) {
        each.join();
    }
    double weighted = 0;
    double samples = 0;
    for (std::size_t k = 0; k != group.size(); ++k) {
        if (failures[k]) {
            std::rethrow_exception(failures[k]);
        }
        weighted += static_cast<double>(k * (100 + k));
        samples += static_cast<double>(100 + k);
    }
    for (auto const loss : losses) {
        if (loss != weighted / samples) {
            return 1;
        }
    }
    return 0;
}
