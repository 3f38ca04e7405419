// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// host::gradient_monitor<Distribution>: statistics of the gradients of named layers over an epoch, in host memory.
// A step is taken into the epoch only when it ends, so a skipped step leaves no trace but its count. Combined once over
// any communicator: one message, whatever the number of layers. The epoch and its last step are both offered.
#pragma once

#include <tally/comm/all_reduce.hpp>
#include <tally/comm/combine.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/gather_all.hpp>
#include <tally/comm/restore.hpp>
#include <tally/core/errors.hpp>
#include <tally/monitor/detail/gradient_block.hpp>
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

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tally::host {

/// There is no default distribution: whether a gradient is this replica's own, everybody's, or a part is what decides the
/// result, and only the caller knows. Used by one thread at a time. Memory: two states (the epoch and the open step), 8.4
/// KB a layer with the default bins. Observing allocates nothing. Example: examples/keras_question.
template <distribution D, class Bins = gradient_bins>
class gradient_monitor {
public:
    using metric_type = gradient_statistics<D, Bins, whole_epoch>;
    using report_type = gradient_report<Bins>;

    /// All replicas register the same layers in the same order. Throws configuration_error for no layer at all.
    explicit gradient_monitor(layer_registry layers, sampling rule = {})
        : layers_{std::move(layers)}, digest_{layers_.digest()}, schedule_{rule}, epoch_{blank()}, step_{blank()},
          enabled_(layers_.size(), 1), touched_(layers_.size(), 0) {
        begin_epoch();
    }

    [[nodiscard]] layer_registry const& layers() const { return layers_; }

    /// Observes a layer from now on, or not. Replicas may differ: what is not observed adds nothing.
    void enable(std::string_view layer, bool on = true) { enabled_[layers_.index_of(layer)] = on ? 1 : 0; }
    void disable(std::string_view layer) { enable(layer, false); }
    [[nodiscard]] bool enabled(std::string_view layer) const { return enabled_[layers_.index_of(layer)] != 0; }

    /// Forgets everything observed so far, an open step too.
    void begin_epoch() {
        epoch_.reset();
        step_.reset();
        touched_.assign(touched_.size(), 0);
        schedule_.restart(0);
        state(epoch_).names = name_digest{digest_};
        state(step_).names = name_digest{digest_};
    }

    /// Opens a step. Returns whether it is observed; if it is not, the calls until its end do nothing, and the work for
    /// them can be saved. The same on all replicas. Throws configuration_error if a step is open, or for a loss scale
    /// that is not positive and finite.
    bool begin_step(step_options options = {}) {
        schedule_.begin(options);
        if (schedule_.observing()) {
            clear_step();
        }
        return schedule_.observing();
    }

    /// Takes the gradients of a step, one view a layer in the order of the registry; a missing one adds nothing. May be
    /// called several times in a step, as for micro-batches: each call is a gradient then. Everything is checked first:
    /// if it throws shape_error, nothing has been taken. O(elements), one pass.
    void observe(std::span<gradient_view const> gradients) {
        check_count(gradients.size());
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            check(i, gradients[i]);
        }
        schedule_.require_open("observe");
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            take(i, gradients[i]);
        }
    }
    void observe(std::initializer_list<gradient_view> gradients) {
        observe(std::span<gradient_view const>(gradients.begin(), gradients.size()));
    }
    /// The same for one layer, for trainers that get gradients one after the other.
    void observe(std::size_t layer, gradient_view gradient) {
        check_index(layer);
        check(layer, gradient);
        schedule_.require_open("observe");
        take(layer, gradient);
    }

    /// Averages the gradients over all replicas in a buffer of its own, all layers in one array, and observes the result:
    /// for trainers that do not average them themselves. A layer missing on some replicas counts as zeros there. The
    /// caller's gradients stay as they are. Every replica must call it in the same steps. Allocates at its first call.
    template <host_communicator Communicator>
    void observe_averaged(Communicator& communicator, std::span<gradient_view const> gradients) {
        static_assert(std::same_as<D, replicated>,
                      "tally: an averaged gradient is the same everywhere: use gradient_monitor<tally::replicated>");
        check_count(gradients.size());
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            check(i, gradients[i]);
        }
        schedule_.require_open("observe_averaged");
        if (!schedule_.observing()) {
            return;
        }
        gather_floats(gradients);
        all_reduce(communicator, std::span<float>(averaged_), op::mean{});
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            take(i, gradient_view(averaged(i)));
        }
    }
    template <host_communicator Communicator>
    void observe_averaged(Communicator& communicator, std::initializer_list<gradient_view> gradients) {
        observe_averaged(communicator, std::span<gradient_view const>(gradients.begin(), gradients.size()));
    }
    /// The averaged gradient of a layer, still scaled by the loss scale, until the next observe_averaged.
    [[nodiscard]] std::span<float const> averaged(std::size_t layer) const {
        check_index(layer);
        if (averaged_.empty()) {
            throw configuration_error("there are no averaged gradients before observe_averaged");
        }
        std::size_t first = 0;
        for (std::size_t i = 0; i < layer; ++i) {
            first += layers_[i].size;
        }
        return {averaged_.data() + first, layers_[layer].size};
    }

    /// What the optimiser added to a layer's weights in this step, and the weights: their norms give update_to_weight.
    /// Both of the same size, of any element type. Only between begin_step and end_step.
    void observe_update(std::size_t layer, gradient_view update, gradient_view weights) {
        check_index(layer);
        check_size(layer, update);
        if (weights.size != update.size || (weights.data == nullptr && weights.size != 0)) {
            throw shape_error("layer \"" + layers_[layer].name + "\": " + std::to_string(update.size) +
                              " updates for " + std::to_string(weights.size) + " weights");
        }
        schedule_.require_open("observe_update");
        if (schedule_.observing() && enabled_[layer] != 0) {
            touched_[layer] = 1;
            tally::detail::observe_updates(update, weights, state(step_).sums.data()[layer]);
        }
    }

    /// Takes the open step into the epoch.
    void end_step(step_outcome outcome = {}) {
        schedule_.require_open("end_step");
        auto& into = state(schedule_.observing() ? step_ : epoch_);
        into.steps.deposit(one);
        if (outcome.clipped) {
            into.clipped.deposit(one);
        }
        if (schedule_.observing()) {
            into.observed.deposit(one);
            into.smallest_scale.deposit(schedule_.loss_scale());
            into.largest_scale.deposit(schedule_.loss_scale());
            merge_step();
        }
        schedule_.end();
    }

    /// Ends the open step without its gradients, as when they overflowed and the optimiser was not run: it is counted as
    /// skipped, and nothing of it enters a mean. The last step stays the one before.
    void skip_step() {
        schedule_.require_open("skip_step");
        auto& into = state(epoch_);
        into.steps.deposit(one);
        into.skipped.deposit(one);
        into.smallest_scale.deposit(schedule_.loss_scale());
        into.largest_scale.deposit(schedule_.loss_scale());
        if (schedule_.observing()) {
            clear_step();
        }
        schedule_.end();
    }

    /// Values of this replica alone, over the epoch so far.
    [[nodiscard]] report_type local() const { return report_type(layers_, metric_type::finalize(state(epoch_)), 1); }

    /// Values over all replicas and the epoch so far; every replica must call it, also one without a gradient. At most
    /// three collectives, whatever the number of layers. The monitor is not changed. Throws layout_mismatch where
    /// replicas watch other layers or another distribution, replica_lost, deadline_exceeded.
    template <host_communicator Communicator>
    [[nodiscard]] report_type combine(Communicator& communicator) const {
        return report_of<whole_epoch>(communicator, epoch_);
    }

    /// The same for the last observed step alone: the newest gradient, as one would log it without a monitor.
    template <host_communicator Communicator>
    [[nodiscard]] report_type combine_last_step(Communicator& communicator) const {
        schedule_.require_closed("combine_last_step");
        return report_of<last_step>(communicator, step_);
    }

    /// combine, then begin_epoch. If combining fails, the epoch is still there.
    template <host_communicator Communicator>
    [[nodiscard]] report_type end_epoch(Communicator& communicator) {
        schedule_.require_closed("end_epoch");
        auto report = combine(communicator);
        begin_epoch();
        return report;
    }

    /// The epoch so far of all replicas as one buffer (format: docs/snapshot.md). An open step and the last step are not
    /// part of it. Every replica must call it and gets the buffer.
    template <host_communicator Communicator>
    [[nodiscard]] std::vector<std::byte> snapshot(Communicator& communicator) const {
        return tally::snapshot(
            combined<metric_type>(combined_states<whole_epoch>(communicator, epoch_), communicator.size()));
    }

    /// Continues an epoch from a snapshot, at any number of replicas. Only replica 0's buffer is read. If it is refused,
    /// every replica throws snapshot_error and keeps what it has.
    template <host_communicator Communicator>
    void restore(Communicator& communicator, std::span<std::byte const> buffer) {
        auto states = tally::detail::restore_states_of_root<metric_type>(communicator, buffer, blank());
        std::uint64_t const mine[] = {state(states).steps.value(), state(states).names.is(digest_) ? 1U : 0U};
        auto const all = tally::detail::gather_all<std::uint64_t>(communicator, std::span<std::uint64_t const>(mine));
        if (all[1] == 0) {
            throw snapshot_error("snapshot refused: it was written by a monitor of other layers");
        }
        if constexpr (std::same_as<D, replicated>) {
            // What all replicas hold together, all of them must go on from.
            states = combined_states<whole_epoch>(communicator, with_names(std::move(states)));
        }
        begin_epoch();
        schedule_.restart(all[0]);
        epoch_ = with_names(std::move(states));
    }

private:
    using storage = states_of<metric_type>;
    using state_type = typename metric_type::state;

    static state_type& state(storage& s) { return s.template get<1>(); }
    static state_type const& state(storage const& s) { return s.template get<1>(); }

    [[nodiscard]] storage blank() const { return storage(std::tuple<num_layers>(num_layers{layers_.size()})); }
    [[nodiscard]] storage with_names(storage s) const {
        state(s).names = name_digest{digest_};
        return s;
    }

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

    void take(std::size_t i, gradient_view const& view) {
        if (!schedule_.observing() || enabled_[i] == 0 || view.size == 0) {
            return;
        }
        touched_[i] = 1;
        auto& into = state(step_);
        tally::detail::observe_gradient<Bins>(view, schedule_.factor(), into.sums.data()[i],
                                              into.cells.data() + i * Bins::cells);
    }

    /// All layers in `averaged_` as floats, zeros where there is none.
    void gather_floats(std::span<gradient_view const> gradients) {
        std::size_t total = 0;
        for (auto const& each : layers_) {
            total += each.size;
        }
        averaged_.assign(total, 0.0F);
        auto* next = averaged_.data();
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            tally::detail::copy_floats(gradients[i], next);
            next += layers_[i].size;
        }
    }

    /// The rows of layers that the step has touched; the others are at identity.
    void merge_step() {
        auto& into = state(epoch_);
        auto const& from = state(step_);
        for (std::size_t i = 0; i < touched_.size(); ++i) {
            if (touched_[i] != 0) {
                into.sums.data()[i].merge(from.sums.data()[i]);
                for (std::size_t k = i * Bins::cells; k < (i + 1) * Bins::cells; ++k) {
                    into.cells.data()[k].merge(from.cells.data()[k]);
                }
            }
        }
        into.steps.merge(from.steps);
        into.observed.merge(from.observed);
        into.clipped.merge(from.clipped);
        into.smallest_scale.merge(from.smallest_scale);
        into.largest_scale.merge(from.largest_scale);
    }
    void clear_step() {
        auto& s = state(step_);
        for (std::size_t i = 0; i < touched_.size(); ++i) {
            if (touched_[i] != 0) {
                s.sums.data()[i] = {};
                std::fill_n(s.cells.data() + i * Bins::cells, Bins::cells, distributed<D, count>{});
            }
        }
        touched_.assign(touched_.size(), 0);
        s.steps = s.observed = s.clipped = {};
        s.smallest_scale = {};
        s.largest_scale = {};
    }

    template <class Window, host_communicator Communicator>
    [[nodiscard]] storage combined_states(Communicator& communicator, storage const& mine) const {
        auto all = tally::detail::exchange<gradient_statistics<D, Bins, Window>>(communicator, mine, blank(), buffers_,
                                                                                 std::nullopt);
        if (!state(*all).names.is(digest_)) {
            tally::detail::throw_layer_mismatch(communicator, layers_); // on all replicas: all see the same names
        }
        return std::move(*all);
    }
    template <class Window, host_communicator Communicator>
    [[nodiscard]] report_type report_of(Communicator& communicator, storage const& mine) const {
        auto const all = combined_states<Window>(communicator, mine);
        return report_type(layers_, metric_type::finalize(state(all)), communicator.size());
    }

    layer_registry layers_;
    std::uint64_t digest_;
    step_schedule schedule_;
    storage epoch_;
    storage step_;
    std::vector<unsigned char> enabled_;
    std::vector<unsigned char> touched_; ///< by the step in step_
    std::vector<float> averaged_;
    mutable tally::detail::message_buffers buffers_;
};

} // namespace tally::host
