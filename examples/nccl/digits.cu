// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// The main example with a GPU for each replica, all of them in this process: everything but this file is that of
// examples/digits, and so are the numbers that it prints. The metrics of each replica live on its GPU and are combined
// over NCCL; the network is trained by the host, whose gradients go the same way. --replicas says how many GPUs to use.

#include "digits/evaluation.hpp"
#include "digits/one_replica.hpp"
#include "digits/options.hpp"
#include "digits/training_run.hpp"

#include "cuda/device.hpp"

#include <tally/cuda.hpp>
#include <tally/nccl.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace digits {

namespace {

/// Metrics on the current device.
class device_metrics {
public:
    void update(std::span<float const> logits, std::span<std::int32_t const> labels) {
        on_device<float> const scores{{logits.begin(), logits.end()}};
        on_device<std::int32_t> const truth{{labels.begin(), labels.end()}};
        metrics_.update({scores.data(), scores.size()}, {truth.data(), truth.size()});
        tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); // before the memory goes
    }
    tally::combined<evaluation> combine(tally::nccl_communicator& comm) const { return metrics_.combine(comm); }

private:
    basic_evaluator<tally::cuda::engine<>> metrics_;
};

void run_replica(tally::nccl_communicator& comm, options const& chosen) {
    tally::cuda::check(cudaSetDevice(comm.device()), "cudaSetDevice");
    auto const evaluate = [&comm](tally::nccl_staged&, network<float> const& model, dataset const& samples) {
        return evaluate_with<device_metrics>(comm, model, samples);
    };
    run_as_replica(comm.staged(), chosen, evaluate); // staged: what the host has, over the same GPUs
}

/// Runs all replicas; returns once all have ended, with the first failure that is not the loss of another replica.
void run_all(std::vector<tally::nccl_communicator>& group, options const& chosen) {
    std::mutex guard;
    std::exception_ptr cause;
    std::exception_ptr consequence;
    std::vector<std::thread> replicas;
    for (auto& comm : group) {
        replicas.emplace_back([&] {
            try {
                run_replica(comm, chosen);
            } catch (tally::replica_lost const&) {
                std::lock_guard const lock{guard};
                consequence = std::current_exception();
            } catch (...) {
                std::lock_guard const lock{guard};
                if (!cause) cause = std::current_exception();
                comm.abort("a replica has failed");
            }
        });
    }
    for (auto& each : replicas) each.join();
    if (cause || consequence) std::rethrow_exception(cause ? cause : consequence);
}

int run(options const& chosen) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < chosen.replicas) {
        std::cerr << "digits: this machine has " << devices << (devices == 1 ? " GPU" : " GPUs") << ", and "
                  << chosen.replicas
                  << " replicas need as many; choose --replicas, or run examples/digits, which needs "
                  << "none\n";
        return exit_failure;
    }
    std::vector<int> used(static_cast<std::size_t>(chosen.replicas));
    std::iota(used.begin(), used.end(), 0);
    auto group = tally::nccl_communicators(used);
    run_all(group, chosen);
    return 0;
}

} // namespace

} // namespace digits

int main(int argc, char** argv) {
    try {
        auto const parsed = digits::parse_options(argc, argv);
        if (int const* const status = std::get_if<int>(&parsed)) return *status;
        return digits::run(std::get<digits::options>(parsed));
    } catch (std::exception const& error) {
        std::cerr << "digits: " << error.what() << '\n';
        return digits::exit_failure;
    }
}
