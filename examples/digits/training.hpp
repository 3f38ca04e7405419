// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Data-parallel training: every replica holds the whole network, works on its part of each batch, and the gradients are
// added up by one all-reduce, after which all replicas take the same step. The order of the samples comes from the seed
// and the epoch alone, so any number of replicas sees the same batches.
#pragma once

#include "checksum.hpp"
#include "dataset.hpp"
#include "network.hpp"
#include "random.hpp"

#include <tally/comm/all_reduce.hpp>
#include <tally/monitor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace digits {

/// One replica's copy of the network and what it needs to train it.
class trainer {
public:
    /// `training` must outlive the trainer.
    trainer(dataset const& training, std::size_t batch, float learning_rate, std::uint64_t seed);

    std::size_t batches() const { return (training_->size() + batch_ - 1) / batch_; }

    /// A collective: one pass over the training samples; `batch_done` gets the number of batches done so far.
    /// The last batch may be smaller.
    template <class Communicator>
    void epoch(Communicator& comm, int index, std::function<void(std::size_t)> const& batch_done);

    /// A collective: what the monitor saw since the last call, over all replicas. Its gradients are those that the
    /// optimiser applies, of the mean loss of a batch: the same on all replicas, so each counts once.
    template <class Communicator>
    auto end_epoch(Communicator& comm) {
        return monitor_.end_epoch(comm);
    }

    network<float> const& model() const { return model_; }
    std::span<float const> velocity() const { return optimizer_.velocity(); }

    /// Takes over what another trainer had between two epochs.
    void go_on(std::span<float const> weights, std::span<float const> velocity);

private:
    void observe_gradients(std::size_t samples);
    void observe_updates();

    dataset const* training_;
    std::size_t batch_;
    std::uint64_t seed_;
    network<float> model_;
    momentum_descent<float> optimizer_;
    std::vector<float> gradients_;
    tally::host::gradient_monitor<tally::replicated> monitor_;
};

/// A collective: true if all replicas hold the same bits. Compares a checksum of 64 bits.
template <class Communicator>
bool same_on_all_replicas(Communicator& comm, std::span<float const> weights) {
    std::uint64_t const mine = checksum(std::as_bytes(weights));
    std::vector<std::uint64_t> all(static_cast<std::size_t>(comm.size()));
    comm.all_gather(std::as_bytes(std::span{&mine, 1}), std::as_writable_bytes(std::span{all}));
    return std::all_of(all.begin(), all.end(), [mine](std::uint64_t other) { return other == mine; });
}

template <class Communicator>
void trainer::epoch(Communicator& comm, int index, std::function<void(std::size_t)> const& batch_done) {
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
        observe_gradients(whole.size());
        optimizer_.step(model_.parameters(), gradients_, whole.size());
        observe_updates();
        batch_done(done + 1);
    }
}

} // namespace digits
