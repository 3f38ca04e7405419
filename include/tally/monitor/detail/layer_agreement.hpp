// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Says which layer differs, after replicas have seen that they do not watch the same ones. All replicas call it, and all
// throw the same text.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/comm/gather_all.hpp>
#include <tally/core/errors.hpp>
#include <tally/monitor/layer_registry.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace tally::detail {

struct layer_line {
    std::uint64_t digest;
    std::uint64_t size;
    gradient_type type;
    char name[63]; ///< longer names are cut

    [[nodiscard]] std::string text() const {
        return std::string(1, '"').append(name).append("\" (") + std::to_string(size) + " x " + to_string(type) + ")";
    }
};

/// The number of layers is the same everywhere: it is part of the layout that was compared before.
template <communicator Communicator>
[[noreturn]] void throw_layer_mismatch(Communicator& communicator, layer_registry const& layers) {
    std::vector<layer_line> mine(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
        mine[i] = {layer_registry::digest_of(layers[i]), layers[i].size, layers[i].type, {}};
        std::memcpy(mine[i].name, layers[i].name.data(), std::min(layers[i].name.size(), sizeof(mine[i].name) - 1));
    }
    auto const all = gather_all<layer_line>(communicator, std::span<layer_line const>(mine));
    for (std::size_t other = 1; other * layers.size() < all.size(); ++other) {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            auto const& first = all[i];
            auto const& theirs = all[other * layers.size() + i];
            if (theirs.digest != first.digest) {
                throw layout_mismatch("replicas 0 and " + std::to_string(other) + " monitor different layers: layer " +
                                      std::to_string(i) + " is " + first.text() + " on replica 0 and " + theirs.text() +
                                      " on replica " + std::to_string(other) +
                                      "; register all layers of the model on all replicas, in the same order");
            }
        }
    }
    throw layout_mismatch("replicas combined different monitors, or one of them never began an epoch");
}

} // namespace tally::detail
