// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Replicas compare the layout of what they are about to combine before the first real message: a fixed-size message,
// once for each (communicator, layout). On a difference all of them throw the same layout_mismatch.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/comm/gather_all.hpp>
#include <tally/core/errors.hpp>
#include <tally/state/fingerprint.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace tally::detail {

struct layout_digest {
    std::uint64_t version;
    std::uint64_t hash;
    std::uint64_t metrics;
};

/// One metric in the second, equally fixed-size message, which is sent only after a difference was seen by all.
struct layout_line {
    std::uint64_t hash;
    char name[56];
};
inline constexpr std::size_t layout_lines = 64;

/// Replica 0's text on every replica, by a message of fixed size; longer texts are cut.
template <communicator Communicator>
std::string text_of_root(Communicator& communicator, std::string const& text) {
    constexpr std::size_t room = 512;
    char mine[room] = {};
    std::memcpy(mine, text.data(), std::min(text.size(), room - 1));
    return gather_all<char>(communicator, std::span<char const>(mine)).data();
}

/// Names both sides' first differing metric. Every replica holds the same lines, so every replica throws the same text.
[[noreturn]] inline void throw_layout_mismatch(std::vector<layout_digest> const& digests,
                                               std::vector<layout_line> const& lines) {
    std::size_t other = 1;
    while (other + 1 < digests.size() && digests[other].hash == digests[0].hash) {
        ++other;
    }
    auto const differing = "replicas 0 and " + std::to_string(other) + " combine different layouts: ";
    if (digests[other].version != digests[0].version) {
        throw layout_mismatch(differing + "wire versions " + std::to_string(digests[0].version) + " and " +
                              std::to_string(digests[other].version) +
                              "; build all replicas with the same version of tally");
    }
    auto const* const mine = lines.data();
    auto const* const theirs = lines.data() + other * layout_lines;
    for (std::size_t i = 0; i < layout_lines; ++i) {
        if (mine[i].hash != theirs[i].hash) {
            auto const describe = [](layout_line const& line) {
                return line.name[0] != '\0' ? "\"" + std::string(line.name) + "\"" : std::string("no further metric");
            };
            throw layout_mismatch(differing + "metric " + std::to_string(i) + " is " + describe(mine[i]) +
                                  " on replica 0 and " + describe(theirs[i]) + " on replica " + std::to_string(other) +
                                  " (or has another type, policy or shape)");
        }
    }
    throw layout_mismatch(differing + std::to_string(digests[0].metrics) + " and " +
                          std::to_string(digests[other].metrics) + " metrics, differing after the first " +
                          std::to_string(layout_lines));
}

/// Throws layout_mismatch on all replicas unless all have the same layout. One small all-gather the first time, none
/// after that.
template <class M, communicator Communicator>
void agree(Communicator& communicator, states_of<M> const& states, std::uint64_t hash) {
    if (communicator.agreements().contains(hash)) {
        return;
    }
    auto const fingerprints = metric_fingerprints<M>(states);
    layout_digest const digest{wire_version, hash, fingerprints.size()};
    auto const digests = gather_all<layout_digest>(communicator, std::span<layout_digest const>(&digest, 1));
    auto const same = [&](layout_digest const& other) { return other.hash == digests[0].hash; };
    if (std::all_of(digests.begin(), digests.end(), same)) {
        communicator.agreements().insert(hash);
        return;
    }
    std::vector<layout_line> mine(layout_lines);
    for (std::size_t i = 0; i < std::min(fingerprints.size(), layout_lines); ++i) {
        mine[i].hash = fingerprints[i].hash;
        auto const name = fingerprints[i].name.substr(0, sizeof(mine[i].name) - 1);
        std::memcpy(mine[i].name, name.data(), name.size());
    }
    throw_layout_mismatch(digests, gather_all<layout_line>(communicator, std::span<layout_line const>(mine)));
}

} // namespace tally::detail
