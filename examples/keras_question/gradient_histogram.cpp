// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// "How do I log the mean and the histogram of a layer's gradients once per epoch in distributed training?" The answer
// given for Keras: in the last step of an epoch, average the gradients over the replicas, then write their mean and
// histogram, on one replica only.
//
// What was wrong before: each replica logged its own gradient in each step; bins that follow the data can't be merged
// over steps or replicas; the collective ran on the replica that writes only, so training hung; or the averaged gradient,
// which is the same everywhere, was counted once a replica. Usage: gradient_histogram [folder for the log]
#include <tally/comm/replicas.hpp>
#include <tally/monitor.hpp>
#include <tally/sinks.hpp>

#include <cstdio>
#include <filesystem>
#include <random>
#include <vector>

int main(int argc, char** argv) {
    auto const folder = std::filesystem::path(argc > 1 ? argv[1] : "keras_question_log");
    std::filesystem::remove_all(folder); // a log can be continued, but this one starts afresh
    tally::layer_registry layers;
    layers.add("dense/kernel", 4096);
    layers.add("dense/bias", 64);
    constexpr int epochs = 3, steps = 20;

    auto const norms = tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        auto log = tally::open_on_main<tally::tensorboard::writer>(comm, folder); // writes nothing on replica 1
        tally::host::gradient_monitor<tally::replicated> averaged{layers, tally::sampling{0}}; // the last step only
        tally::host::gradient_monitor<tally::partitioned> own{layers}; // every step, as it comes
        std::mt19937 random{static_cast<unsigned>(comm.rank())};
        double norm = 0.0;
        for (int epoch = 0; epoch < epochs; ++epoch) {
            for (int step = 0; step < steps; ++step) {
                std::normal_distribution<float> normal{1e-3F, 1e-2F / static_cast<float>(epoch + 1)};
                std::vector<float> kernel(4096), bias(64); // stand for what backpropagation gives
                for (auto& g : kernel) g = normal(random);
                for (auto& g : bias) g = normal(random);
                averaged.begin_step({.always = step + 1 == steps});
                averaged.observe_averaged(comm, {kernel, bias}); // all replicas; nothing happens in other steps
                averaged.end_step();
                own.begin_step();
                own.observe({kernel, bias});
                own.end_step();
            }
            auto const of_last_step = averaged.end_epoch(comm); // one message each, on all replicas
            auto const of_epoch = own.end_epoch(comm);
            log.write(tally::report{epoch}.add("averaged", of_last_step).add("every_replica", of_epoch));
            norm = of_epoch.global_norm().value();
        }
        return norm;
    });
    std::printf("tensorboard --logdir %s\n", folder.string().c_str());
    return norms[0] == norms[1] && norms[0] > 0.0 ? 0 : 1;
}
