// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What gradient monitors of all engines have in common: the layers and which of them are watched, the checks of what is
// observed, the counting of steps, and all that is said between replicas. Works on states in host memory; where gradients
// are read and states are accumulated is the engine's business.
#pragma once

#include <tally/comm/combine.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/gather_all.hpp>
#include <tally/comm/restore.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/errors.hpp>
#include <tally/monitor/detail/layer_agreement.hpp>
#include <tally/monitor/distribution.hpp>
#include <tally/monitor/gradient_report.hpp>
#include <tally/monitor/gradient_statistics.hpp>
#include <tally/monitor/gradient_view.hpp>
#include <tally/monitor/layer_registry.hpp>
#include <tally/monitor/step_schedule.hpp>
#include <tally/results.hpp>
#include <tally/state/snapshot.hpp>
#include <tally/state/store.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tally::detail {

/// Base of the monitors. Its public part is part of their interface.
template <distribution D, class Bins>
class monitor_frame {
public:
    using metric_type = gradient_statistics<D, Bins, whole_epoch>;
    using report_type = gradient_report<Bins>;

    [[nodiscard]] layer_registry const& layers() const { return layers_; }

    /// Observes a layer from now on, or not. Replicas may differ: what is not observed adds nothing.
    void enable(std::string_view layer, bool on = true) { enabled_[layers_.index_of(layer)] = on ? 1 : 0; }
    void disable(std::string_view layer) { enable(layer, false); }
    [[nodiscard]] bool enabled(std::string_view layer) const { return enabled_[layers_.index_of(layer)] != 0; }

protected:
    using storage = states_of<metric_type>;
    using state_type = typename metric_type::state;

    monitor_frame(layer_registry layers, sampling rule)
        : layers_{std::move(layers)}, digest_{layers_.digest()}, schedule_{rule}, enabled_(layers_.size(), 1) {}

    static state_type& state(storage& s) { return s.template get<1>(); }
    static state_type const& state(storage const& s) { return s.template get<1>(); }

    [[nodiscard]] storage blank() const { return storage(std::tuple<num_layers>(num_layers{layers_.size()})); }
    [[nodiscard]] storage with_names(storage s) const {
        state(s).names = name_digest{digest_};
        return s;
    }

    // ---- checks ----
    void check_count(std::size_t given) const {
        if (given != layers_.size()) {
            throw shape_error("a monitor of " + std::to_string(layers_.size()) + " layers was given " +
                              std::to_string(given) +
                              " gradients: pass one for each, gradient_view{} if there is none");
        }
    }
    void check_index(std::size_t layer) const {
        if (layer >= layers_.size()) {
            throw shape_error("layer " + std::to_string(layer) + " was given to a monitor of " +
                              std::to_string(layers_.size()) + " layers");
        }
    }
    void check_size(std::size_t i, gradient_view const& view) const {
        if (view.missing()) {
            return;
        }
        bool const fits = std::same_as<D, sharded> ? view.size <= layers_[i].size : view.size == layers_[i].size;
        if (!fits || view.data == nullptr) {
            throw shape_error("layer \"" + layers_[i].name + "\" was registered with " +
                              std::to_string(layers_[i].size) + " elements and given " + std::to_string(view.size) +
                              (view.data == nullptr ? " at a null pointer" : ""));
        }
    }
    void check(std::size_t i, gradient_view const& view) const {
        check_size(i, view);
        if (!view.missing() && view.type != layers_[i].type) {
            throw shape_error("layer \"" + layers_[i].name + "\" was registered as " + to_string(layers_[i].type) +
                              " and given " + to_string(view.type));
        }
    }
    void check_all(std::span<gradient_view const> gradients) const {
        check_count(gradients.size());
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            check(i, gradients[i]);
        }
    }
    void check_update(std::size_t layer, gradient_view const& update, gradient_view const& weights) const {
        check_size(layer, update);
        if (weights.size != update.size || (weights.data == nullptr && weights.size != 0)) {
            throw shape_error("layer \"" + layers_[layer].name + "\": " + std::to_string(update.size) +
                              " updates for " + std::to_string(weights.size) + " weights");
        }
    }

    // ---- steps: of a state, everything but the tables ----
    static void clear_counts(state_type& s) {
        s.steps = s.observed = s.clipped = s.skipped = {};
        s.smallest_scale = {};
        s.largest_scale = {};
    }
    static void copy_counts(state_type const& from, state_type& to) {
        to.steps = from.steps;
        to.observed = from.observed;
        to.clipped = from.clipped;
        to.skipped = from.skipped;
        to.smallest_scale = from.smallest_scale;
        to.largest_scale = from.largest_scale;
    }
    static void merge_counts(state_type& into, state_type const& from) {
        into.steps.merge(from.steps);
        into.observed.merge(from.observed);
        into.clipped.merge(from.clipped);
        into.skipped.merge(from.skipped);
        into.smallest_scale.merge(from.smallest_scale);
        into.largest_scale.merge(from.largest_scale);
    }
    void count_end(state_type& into, step_outcome outcome) const {
        into.steps.deposit(one);
        if (outcome.clipped) {
            into.clipped.deposit(one);
        }
        if (schedule_.observing()) {
            into.observed.deposit(one);
            count_scale(into);
        }
    }
    void count_skip(state_type& into) const {
        into.steps.deposit(one);
        into.skipped.deposit(one);
        count_scale(into);
    }

    // ---- replicas ----
    template <class Window, host_communicator Communicator>
    [[nodiscard]] storage combined_states(Communicator& communicator, storage const& mine) const {
        auto all = exchange<gradient_statistics<D, Bins, Window>>(communicator, mine, blank(), buffers_, std::nullopt);
        if (!state(*all).names.is(digest_)) {
            throw_layer_mismatch(communicator, layers_); // on all replicas: all see the same names
        }
        return std::move(*all);
    }
    [[nodiscard]] report_type report_of(storage const& states, int replicas) const {
        return report_type(layers_, metric_type::finalize(state(states)), replicas);
    }
    template <class Window, host_communicator Communicator>
    [[nodiscard]] report_type combined_report(Communicator& communicator, storage const& mine) const {
        return report_of(combined_states<Window>(communicator, mine), communicator.size());
    }
    template <host_communicator Communicator>
    [[nodiscard]] std::vector<std::byte> snapshot_of(Communicator& communicator, storage const& mine) const {
        return tally::snapshot(
            combined<metric_type>(combined_states<whole_epoch>(communicator, mine), communicator.size()));
    }

    /// This replica's part of an epoch, and the steps that the epoch has had.
    struct restored_epoch {
        storage states;
        std::uint64_t steps;
    };
    /// Reads replica 0's buffer. Changes nothing of the monitor; if it throws snapshot_error, it does so on all replicas.
    template <host_communicator Communicator>
    [[nodiscard]] restored_epoch restored(Communicator& communicator, std::span<std::byte const> buffer) const {
        auto states = restore_states_of_root<metric_type>(communicator, buffer, blank());
        std::uint64_t const mine[] = {state(states).steps.value(), state(states).names.is(digest_) ? 1U : 0U};
        auto const all = gather_all<std::uint64_t>(communicator, std::span<std::uint64_t const>(mine));
        if (all[1] == 0) {
            throw snapshot_error("snapshot refused: it was written by a monitor of other layers");
        }
        if constexpr (std::same_as<D, replicated>) {
            // What all replicas hold together, all of them must go on from.
            states = combined_states<whole_epoch>(communicator, with_names(std::move(states)));
        }
        return {with_names(std::move(states)), all[0]};
    }

    layer_registry layers_;
    std::uint64_t digest_;
    step_schedule schedule_;
    std::vector<unsigned char> enabled_;
    mutable message_buffers buffers_;

private:
    void count_scale(state_type& into) const {
        into.smallest_scale.deposit(schedule_.loss_scale());
        into.largest_scale.deposit(schedule_.loss_scale());
    }
};

} // namespace tally::detail
