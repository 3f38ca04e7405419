// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Combining states over a communicator: a fixed sequence of at most three collectives in one group, whatever the
// number of metrics and whatever the data. The states given are not changed; the result is new.
#pragma once

#include <tally/comm/agreement.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/results.hpp>
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

/// Sends the states to all replicas, or to `root` only if it is not negative. Returns the combined states where they
/// arrive. `blank` are states of the same shape at their identity.
template <class M, communicator Communicator>
std::optional<states_of<M>> exchange(Communicator& communicator, states_of<M> const& states, states_of<M> blank,
                                     message_buffers& buffers, int root) {
    agree<M>(communicator, states, layout_hash<M>(states));
    auto const replicas = communicator.size();
    auto const lanes = lanes_of_states(states);
    bool const receives = root < 0 || root == communicator.rank();
    buffers.sums.resize(lanes.sums);
    buffers.maxes.resize(lanes.maxes);
    buffers.mine.resize(lanes.bytes);
    buffers.all.resize(receives ? lanes.bytes * static_cast<std::size_t>(replicas) : 0);
    pack(states, buffers.sums.data(), buffers.maxes.data(), buffers.mine.data());

    communicator.grouped([&] {
        if (root < 0) {
            if (lanes.sums != 0) {
                communicator.all_reduce_sum(std::span<std::uint64_t>(buffers.sums));
            }
            if (lanes.maxes != 0) {
                communicator.all_reduce_max(std::span<std::uint64_t>(buffers.maxes));
            }
            if (lanes.bytes != 0) {
                communicator.all_gather(std::span<std::byte const>(buffers.mine), std::span<std::byte>(buffers.all));
            }
        } else {
            if (lanes.sums != 0) {
                communicator.reduce_sum(std::span<std::uint64_t>(buffers.sums), root);
            }
            if (lanes.maxes != 0) {
                communicator.reduce_max(std::span<std::uint64_t>(buffers.maxes), root);
            }
            if (lanes.bytes != 0) {
                communicator.gather(std::span<std::byte const>(buffers.mine), std::span<std::byte>(buffers.all), root);
            }
        }
    });
    if (!receives) {
        return std::nullopt;
    }
    unpack(blank, buffers.sums.data(), buffers.maxes.data(), buffers.all.data(), lanes.bytes, replicas);
    return std::optional<states_of<M>>(std::move(blank));
}

} // namespace tally::detail
