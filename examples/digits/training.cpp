// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "training.hpp"

#include <bit>

namespace digits {

namespace {

constexpr float momentum = 0.9F;

} // namespace

std::uint64_t checksum(std::span<float const> weights) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (float const weight : weights) {
        for (std::uint32_t bits = std::bit_cast<std::uint32_t>(weight), byte = 0; byte < 4; ++byte, bits >>= 8) {
            hash = (hash ^ (bits & 0xffu)) * 0x100000001b3u;
        }
    }
    return hash;
}

trainer::trainer(dataset const& training, std::size_t batch, float learning_rate, std::uint64_t seed)
    : training_{&training}, batch_{batch}, seed_{seed}, model_{seed},
      optimizer_{network<float>::num_parameters, learning_rate, momentum}, gradients_(network<float>::num_parameters) {}

} // namespace digits
