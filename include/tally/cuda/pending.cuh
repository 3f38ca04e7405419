// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A result that is on its way from the device: the states were copied to pinned memory in stream order; get() waits for
// the copy and makes the values of it.
#pragma once

#include <tally/cuda/memory.hpp>
#include <tally/cuda/state_layout.hpp>
#include <tally/state/store.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace tally::cuda {

namespace detail {

/// Pinned memory for one copy of the states, and the event after the copy.
struct result_block {
    pinned_buffer memory;
    event copied;
    int device;
};

/// States that are on their way. Keeps its block until it is gone, then the tracker may use the block again.
template <class M>
class states_in_flight {
public:
    states_in_flight(std::shared_ptr<result_block> block, states_of<M> const& blank)
        : block_{std::move(block)}, blank_{blank} {}

    [[nodiscard]] bool ready() const {
        device_guard const guard{block_->device};
        return block_->copied.ready();
    }
    [[nodiscard]] states_of<M> get() const {
        device_guard const guard{block_->device};
        block_->copied.wait();
        auto states = blank_;
        state_layout<M>::unpack(block_->memory.data(), states);
        return states;
    }

private:
    std::shared_ptr<result_block> block_;
    states_of<M> blank_;
};

} // namespace detail

/// A handle like a future. Dropping it waits for nothing: the copy goes on into memory that stays owned by the tracker
/// or, if that is gone, is released by the last handle.
template <class Result>
class pending;

template <template <class> class Results, class M>
class pending<Results<M>> {
public:
    pending(detail::states_in_flight<M> states, std::function<Results<M>(states_of<M>)> make)
        : states_{std::move(states)}, make_{std::move(make)} {}

    /// Whether get() would not have to wait for the device.
    [[nodiscard]] bool ready() const { return states_.ready(); }
    /// Waits for the copy. May be called again.
    [[nodiscard]] Results<M> get() const { return make_(states_.get()); }

private:
    detail::states_in_flight<M> states_;
    std::function<Results<M>(states_of<M>)> make_;
};

} // namespace tally::cuda
