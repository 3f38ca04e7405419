// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The layers that a monitor watches: name, number of elements, element type, in an order that all replicas share. Every
// replica registers all layers of the model, also those it does not hold: the slots of a message are the same for all.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/core/type_name.hpp>
#include <tally/monitor/gradient_view.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally {

struct layer {
    std::string name;
    std::size_t size; ///< elements of the whole gradient; of all shards together, where it is sharded
    gradient_type type;
};

/// Adding is O(layers), looking up by name too; loops use the index.
class layer_registry {
public:
    /// Returns the index of the layer. Names are unique and not empty, sizes at least 1, else configuration_error.
    std::size_t add(std::string name, std::size_t size, gradient_type type = gradient_type::float32) {
        if (name.empty()) {
            throw configuration_error("a monitored layer needs a name");
        }
        if (size == 0) {
            throw configuration_error("layer \"" + name + "\" must have at least one element");
        }
        for (auto const& other : layers_) {
            if (other.name == name) {
                throw configuration_error("layer \"" + name + "\" is registered twice");
            }
        }
        layers_.push_back({std::move(name), size, type});
        return layers_.size() - 1;
    }

    [[nodiscard]] std::size_t size() const { return layers_.size(); }
    [[nodiscard]] layer const& operator[](std::size_t index) const { return layers_[index]; }
    [[nodiscard]] auto begin() const { return layers_.begin(); }
    [[nodiscard]] auto end() const { return layers_.end(); }

    /// The index of a name. Throws configuration_error if there is none.
    [[nodiscard]] std::size_t index_of(std::string_view name) const {
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            if (layers_[i].name == name) {
                return i;
            }
        }
        throw configuration_error("no layer \"" + std::string(name) + "\" is registered");
    }

    /// The same exactly for the same layers in the same order.
    [[nodiscard]] std::uint64_t digest() const {
        detail::hasher hash;
        for (auto const& each : layers_) {
            hash.add(digest_of(each));
        }
        return hash.value();
    }
    [[nodiscard]] static std::uint64_t digest_of(layer const& each) {
        return detail::hasher{}
            .add(each.name)
            .add(static_cast<std::uint64_t>(each.size))
            .add(static_cast<std::uint64_t>(each.type))
            .value();
    }

private:
    std::vector<layer> layers_;
};

} // namespace tally
