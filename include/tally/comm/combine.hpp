// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Combining states over a communicator: a fixed sequence of at most three collectives in one group, whatever the
// number of metrics and whatever the data. The states given are not changed; the result is new. One word of the sum
// lane is the layout hash: it tells, in the same message, whether all replicas combined the same thing in this call.
#pragma once

#include <tally/comm/agreement.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/detail/call_batch.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/wire.hpp>
#include <tally/results.hpp>
#include <tally/state/fingerprint.hpp>
#include <tally/state/message.hpp>
#include <tally/state/store.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tally::detail {

/// What a tracker keeps for its messages, so that repeated combines allocate nothing but their result.
struct message_buffers {
    std::optional<std::uint64_t> hash; // of the layout, which a tracker never changes
    std::vector<std::uint64_t> sums;
    std::vector<std::uint64_t> maxes;
    std::vector<std::byte> mine;
    std::vector<std::byte> all;
};

/// A communicator with memory to write messages to and to read results from: no copy of its own. Optional.
template <class C>
concept lending_communicator = host_communicator<C> && requires(C& c, lane_sizes const& lanes, std::optional<int> root,
                                                                void (*visit)(message_place const&)) {
    { c.lends(lanes) } -> std::same_as<bool>;
    c.exchange(lanes, root, visit, visit);
};

[[noreturn]] inline void throw_different_combines() {
    throw layout_mismatch("replicas combined different metrics in this call of combine, though all of these were "
                          "agreed on before: all must make the same calls in the same order");
}

/// The collectives of one message, by way of the tracker's buffers. `write` and `read` as in mpi_communicator::exchange.
template <communicator Communicator, class Write, class Read>
void exchange_by_buffers(Communicator& communicator, lane_sizes const& lanes, message_buffers& buffers,
                         std::optional<int> root, Write write, Read read) {
    bool const receives = !root || *root == communicator.rank();
    buffers.sums.resize(lanes.sums);
    buffers.maxes.resize(lanes.maxes);
    buffers.mine.resize(lanes.bytes);
    buffers.all.resize(receives ? lanes.bytes * static_cast<std::size_t>(communicator.size()) : 0);
    write(message_place{buffers.sums.data(), buffers.maxes.data(), buffers.mine.data(), lanes.bytes});

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
    if (receives) {
        read(message_place{buffers.sums.data(), buffers.maxes.data(), buffers.all.data(), lanes.bytes});
    }
}

/// Sends the states to all replicas, or only to `root` if there is one. Returns the combined states where they arrive.
/// `blank` are states of the same shape at their identity. Two layouts that were both agreed on before may meet here,
/// if replicas make their calls in different orders: replicas that receive the mixture throw layout_mismatch.
template <class M, communicator Communicator>
std::optional<states_of<M>> exchange(Communicator& communicator, states_of<M> const& states, states_of<M> const& blank,
                                     message_buffers& buffers, std::optional<int> root) {
    auto const hash = buffers.hash ? *buffers.hash : layout_hash<M>(states);
    buffers.hash = hash;
    agree<M>(communicator, states, hash);
    auto const replicas = communicator.size();
    auto lanes = lanes_of_states(states);
    auto const last = lanes.sums++; // one more word, for the hash
    std::optional<states_of<M>> result;
    if (!root || *root == communicator.rank()) {
        result.emplace(blank); // may run out of memory, so not once others rely on this replica
    }
    auto const write = [&](message_place const& to) {
        pack(states, to.sums, to.maxes, to.bytes);
        to.sums[last] = hash;
    };
    auto const read = [&](message_place const& from) {
        // Modulo 2^64, as the lane is. Each receiver compares with its own hash, so all of them see the difference.
        if (from.sums[last] != hash * static_cast<std::uint64_t>(replicas)) {
            throw_different_combines();
        }
        unpack(*result, from.sums, from.maxes, from.bytes, from.stride, replicas);
    };
    if constexpr (lending_communicator<Communicator>) {
        if (communicator.lends(lanes)) {
            communicator.exchange(lanes, root, write, read);
            return result;
        }
    }
    exchange_by_buffers(communicator, lanes, buffers, root, write, read);
    return result;
}

} // namespace tally::detail
