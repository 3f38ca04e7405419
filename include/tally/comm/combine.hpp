// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Combining states over a communicator: a fixed sequence of at most three collectives in one group, whatever the
// number of metrics and whatever the data. The states given are not changed; the result is new. One word of the sum
// lane is the layout hash: it tells, in the same message, whether all replicas combined the same thing in this call.
#pragma once

#include <tally/comm/agreement.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/core/errors.hpp>
#include <tally/results.hpp>
#include <tally/state/fingerprint.hpp>
#include <tally/state/message.hpp>
#include <tally/state/store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tally::detail {

/// Buffers of a message; kept by the tracker so that repeated combines do not allocate them again.
struct message_buffers {
    std::vector<std::uint64_t> sums;
    std::vector<std::uint64_t> maxes;
    std::vector<std::byte> mine;
    std::vector<std::byte> all;
};

[[noreturn]] inline void throw_different_combines() {
    throw layout_mismatch("replicas combined different metrics in this call of combine, though all of these were "
                          "agreed on before: all must make the same calls in the same order");
}

/// Sends the states to all replicas, or only to `root` if there is one. Returns the combined states where they arrive.
/// `blank` are states of the same shape at their identity. Two layouts that were both agreed on before may meet here,
/// if replicas make their calls in different orders: replicas that receive the mixture throw layout_mismatch.
template <class M, communicator Communicator>
std::optional<states_of<M>> exchange(Communicator& communicator, states_of<M> const& states, states_of<M> blank,
                                     message_buffers& buffers, std::optional<int> root) {
    auto const hash = layout_hash<M>(states);
    agree<M>(communicator, states, hash);
    auto const replicas = communicator.size();
    auto const lanes = lanes_of_states(states);
    bool const receives = !root || *root == communicator.rank();
    buffers.sums.resize(lanes.sums + 1);
    buffers.maxes.resize(lanes.maxes);
    buffers.mine.resize(lanes.bytes);
    buffers.all.resize(receives ? lanes.bytes * static_cast<std::size_t>(replicas) : 0);
    pack(states, buffers.sums.data(), buffers.maxes.data(), buffers.mine.data());
    buffers.sums[lanes.sums] = hash;

    communicator.grouped([&] {
        if (!root) {
            communicator.all_reduce_sum(std::span<std::uint64_t>(buffers.sums));
            if (lanes.maxes != 0) {
                communicator.all_reduce_max(std::span<std::uint64_t>(buffers.maxes));
            }
            if (lanes.bytes != 0) {
                communicator.all_gather(std::span<std::byte const>(buffers.mine), std::span<std::byte>(buffers.all));
            }
        } else {
            communicator.reduce_sum(std::span<std::uint64_t>(buffers.sums), *root);
            if (lanes.maxes != 0) {
                communicator.reduce_max(std::span<std::uint64_t>(buffers.maxes), *root);
            }
            if (lanes.bytes != 0) {
                communicator.gather(std::span<std::byte const>(buffers.mine), std::span<std::byte>(buffers.all), *root);
            }
        }
    });
    if (!receives) {
        return std::nullopt;
    }
    // Modulo 2^64, as the lane is. Each receiver compares with its own hash, so all of them see the difference.
    if (buffers.sums[lanes.sums] != hash * static_cast<std::uint64_t>(replicas)) {
        throw_different_combines();
    }
    unpack(blank, buffers.sums.data(), buffers.maxes.data(), buffers.all.data(), lanes.bytes, replicas);
    return std::optional<states_of<M>>(std::move(blank));
}

} // namespace tally::detail
