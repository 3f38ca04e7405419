// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Data-parallel training: every replica holds the whole network, works on its part of each batch, and the gradients are
// added up by one all-reduce, after which all replicas take the same step. The order of the samples comes from the seed
// and the epoch alone, so any number of replicas sees the same batches.
#pragma once

#include "dataset.hpp"
#include "network.hpp"

#include <tally/comm/thread.hpp>

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
    void epoch(tally::thread_communicator& comm, int index, std::function<void(std::size_t)> const& batch_done);

    network<float> const& model() const { return model_; }

private:
    dataset const* training_;
    std::size_t batch_;
    std::uint64_t seed_;
    network<float> model_;
    momentum_descent<float> optimizer_;
    std::vector<float> gradients_;
};

/// A collective: true if all replicas hold the same bits. Compares a checksum of 64 bits.
bool same_on_all_replicas(tally::thread_communicator& comm, std::span<float const> weights);

} // namespace digits
