// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// host::tracker<M>: a metric or collection that lives in host memory. It is updated by one pass over the inputs,
// combined over any communicator, reset, saved and restored.
#pragma once

#include <tally/collection.hpp>
#include <tally/comm/combine.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/restore.hpp>
#include <tally/host/execution.hpp>
#include <tally/host/update.hpp>
#include <tally/results.hpp>
#include <tally/state/snapshot.hpp>
#include <tally/state/store.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally::host {

/// A tracker is used by one thread at a time; different trackers are independent.
/// Memory: the states, once for each thread of the execution policy. `update` allocates nothing after the first call
/// with the same shapes and never fails half-way: inputs are checked before anything is deposited.
template <class M, execution Execution = serial>
class tracker {
public:
    using metric_type = M;

    /// Run-time extents, if the metrics have any: tracker<M> t{num_classes{17}}. Throws configuration_error.
    template <class... Sizes>
        requires(!execution<Sizes> && ...)
    explicit tracker(Sizes... sizes) : tracker(Execution{}, sizes...) {}

    template <class... Sizes>
    explicit tracker(Execution execution, Sizes... sizes)
        : execution_{std::move(execution)}, blank_{std::tuple<Sizes...>(sizes...)} {
        static_assert((tally::detail::takes_extent<M, Sizes> && ...),
                      "tally: a tracker's arguments are run-time extents of its tables; this metric has none of this "
                      "type");
        auto const parts = std::max<std::size_t>(execution_.concurrency(), 1);
        parts_.assign(parts, part{blank_, {}});
    }

    /// Takes samples. Inputs are named by what they are, in any order: update(scores(...), targets(...)).
    /// All must have the same number of samples, else shape_error; zero samples are legal. O(bytes of the inputs).
    template <class... Source, class... View>
    void update(given<Source, View> const&... inputs) {
        using updater = detail::updater<M, typename tally::detail::plan<M>::counters, given<Source, View>...>;
        updater const pass{detail::input_set<given<Source, View>...>{inputs...}};
        auto const n = pass.samples();
        // A part is worth a thread only from some thousand elements on; no part without a sample.
        auto const worth = n / std::max<std::size_t>(smallest_part / pass.width(), 1);
        auto const parts = std::clamp<std::size_t>(std::min(worth, n), 1, parts_.size());
        for (std::size_t p = 0; p < parts; ++p) {
            pass.reserve(parts_[p].memory);
        }
        if (parts == 1) {
            pass.run(parts_[0].states, parts_[0].memory, 0, n);
            return;
        }
        execution_.for_each_part(parts, [&](std::size_t p) {
            pass.run(parts_[p].states, parts_[p].memory, n / parts * p + std::min(p, n % parts),
                     n / parts * (p + 1) + std::min(p + 1, n % parts));
        });
    }

    template <class... X>
        requires(!(tally::detail::is_given_input<X> && ...))
    void update(X const&...) {
        static_assert(sizeof...(X) == 0,
                      "tally: update takes named inputs: update(values(v)), or what the metric asks for");
    }

    /// Values of this replica alone.
    [[nodiscard]] local<M> finalize() const { return local<M>(merged()); }

    /// Values over all replicas; every replica of the communicator must call it, also one without data. At most three
    /// collectives, whatever M is; over devices they are staged. The tracker is not changed. Throws layout_mismatch,
    /// replica_lost, deadline_exceeded.
    template <tracker_communicator Communicator>
    [[nodiscard]] combined<M> combine(Communicator& communicator) const {
        auto states = exchange(tally::detail::on_host(communicator), std::nullopt);
        return combined<M>(std::move(*states), communicator.size());
    }

    /// The same where only `root` needs the values; empty on the other replicas. Throws configuration_error on all of
    /// them if `root` is not a rank of the communicator.
    template <tracker_communicator Communicator>
    [[nodiscard]] std::optional<combined<M>> combine_to(Communicator& communicator, int root) const {
        auto states = exchange(tally::detail::on_host(communicator), root);
        if (!states) {
            return std::nullopt;
        }
        return combined<M>(std::move(*states), communicator.size());
    }

    /// Everything taken so far by all replicas as one buffer; every replica must call it and gets the buffer.
    template <tracker_communicator Communicator>
    [[nodiscard]] std::vector<std::byte> snapshot(Communicator& communicator) const {
        return tally::snapshot(combine(communicator));
    }

    /// Replaces everything taken so far by a snapshot. Throws snapshot_error, with the tracker as it was.
    void restore(std::span<std::byte const> buffer) { assign(restore_states<M>(buffer, blank_)); }

    /// The same over replicas, whose number may differ from the one at the time of the snapshot: replica 0 takes over the
    /// state, the others start from identity, so that combining counts it once. Only replica 0's buffer is read. If it is
    /// refused, every replica throws snapshot_error with the reason and keeps its state.
    template <tracker_communicator Communicator>
    void restore(Communicator& communicator, std::span<std::byte const> buffer) {
        assign(tally::detail::restore_states_of_root<M>(tally::detail::on_host(communicator), buffer, blank_));
    }

    /// Back to "never updated".
    void reset() {
        for (auto& each : parts_) {
            each.states.reset();
        }
    }

    /// Everything taken so far, as one set of states; for results and snapshots.
    [[nodiscard]] states_of<M> merged() const {
        auto states = parts_[0].states;
        for (std::size_t p = 1; p < parts_.size(); ++p) {
            states.merge(parts_[p].states);
        }
        return states;
    }

    /// Replaces everything taken so far. `states` must have the tracker's shapes.
    void assign(states_of<M> const& states) {
        reset();
        parts_[0].states.merge(states);
    }

private:
    static constexpr std::size_t smallest_part = 1024;

    template <class Communicator>
    std::optional<states_of<M>> exchange(Communicator& communicator, std::optional<int> root) const {
        if (parts_.size() == 1) { // no copy of what is only sent
            return tally::detail::exchange<M>(communicator, parts_[0].states, blank_, buffers_, root);
        }
        return tally::detail::exchange<M>(communicator, merged(), blank_, buffers_, root);
    }

    struct part {
        states_of<M> states;
        workspace memory;
    };

    Execution execution_;
    states_of<M> blank_; // shapes, at identity
    std::vector<part> parts_;
    mutable tally::detail::message_buffers buffers_;
};

} // namespace tally::host
