// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "training.hpp"

#include "random.hpp"

#include <tally/comm/all_reduce.hpp>

#include <algorithm>
#include <bit>

namespace digits {

namespace {

constexpr float momentum = 0.9F;

// FNV-1a over the bits of the weights.
std::uint64_t checksum(std::span<float const> weights) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (float const weight : weights) {
        for (std::uint32_t bits = std::bit_cast<std::uint32_t>(weight), byte = 0; byte < 4; ++byte, bits >>= 8) {
            hash = (hash ^ (bits & 0xffu)) * 0x100000001b3u;
        }
    }
    return hash;
}

} // namespace

trainer::trainer(dataset const& training, std::size_t batch, float learning_rate, std::uint64_t seed)
    : training_{&training}, batch_{batch}, seed_{seed}, model_{seed},
      optimizer_{network<float>::num_parameters, learning_rate, momentum}, gradients_(network<float>::num_parameters) {}

void trainer::epoch(tally::thread_communicator& comm, int index, std::function<void(std::size_t)> const& batch_done) {
    auto const order =
        permutation(training_->size(), {seed_, purpose::sample_order, static_cast<std::uint64_t>(index)});
    dataset mine;
    for (std::size_t done = 0; done < batches(); ++done) {
        range const whole{done * batch_, std::min((done + 1) * batch_, order.size())};
        range const own = part(whole, comm.size(), comm.rank());
        mine.pixels.clear();
        mine.labels.clear();
        for (std::size_t i = own.begin; i < own.end; ++i) mine.append(*training_, order[i]);

        // The sum, not the mean, of the own part: parts differ in size, and a mean of means would weight them wrongly.
        model_.loss_gradients(mine.pixels, mine.labels, gradients_);
        tally::all_reduce(comm, std::span<float>{gradients_}, tally::op::sum{});
        optimizer_.step(model_.parameters(), gradients_, whole.size());
        batch_done(done + 1);
    }
}

bool same_on_all_replicas(tally::thread_communicator& comm, std::span<float const> weights) {
    std::uint64_t const mine = checksum(weights);
    std::vector<std::uint64_t> all(static_cast<std::size_t>(comm.size()));
    comm.all_gather(std::as_bytes(std::span{&mine, 1}), std::as_writable_bytes(std::span{all}));
    return std::all_of(all.begin(), all.end(), [mine](std::uint64_t other) { return other == mine; });
}

} // namespace digits
