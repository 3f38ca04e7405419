// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "training.hpp"

#include <string>

namespace digits {

namespace {

constexpr float momentum = 0.9F;
constexpr auto layers = network<float>::layers();

tally::layer_registry monitored_layers() {
    tally::layer_registry result;
    for (auto const& each : layers) result.add(std::string{each.name}, each.size);
    return result;
}

} // namespace

trainer::trainer(dataset const& training, std::size_t batch, float learning_rate, std::uint64_t seed)
    : training_{&training}, batch_{batch}, seed_{seed}, model_{seed},
      optimizer_{network<float>::num_parameters, learning_rate, momentum}, gradients_(network<float>::num_parameters),
      monitor_{monitored_layers()} {}

void trainer::go_on(std::span<float const> weights, std::span<float const> velocity) {
    std::copy(weights.begin(), weights.end(), model_.parameters().begin());
    std::copy(velocity.begin(), velocity.end(), optimizer_.velocity().begin());
}

void trainer::observe_gradients(std::size_t samples) {
    // A sum over samples is the gradient of so many times the mean loss: the monitor divides by that.
    monitor_.begin_step({.loss_scale = static_cast<float>(samples)});
    for (std::size_t i = 0; i < layers.size(); ++i) {
        monitor_.observe(i, {gradients_.data() + layers[i].begin, layers[i].size});
    }
}

void trainer::observe_updates() {
    for (std::size_t i = 0; i < layers.size(); ++i) {
        monitor_.observe_update(i, {optimizer_.velocity().data() + layers[i].begin, layers[i].size},
                                {model_.parameters().data() + layers[i].begin, layers[i].size});
    }
    monitor_.end_step();
}

} // namespace digits
