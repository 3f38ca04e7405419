// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// host::gradient_monitor<Distribution>: statistics of the gradients of named layers over an epoch, in host memory.
// A step is taken into the epoch only when it ends, so a skipped step leaves no trace but its count. Combined once over
// any communicator: one message, whatever the number of layers. The epoch and its last step are both offered.
#pragma once

#include <tally/comm/all_reduce.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/core/errors.hpp>
#include <tally/monitor/detail/gradient_block.hpp>
#include <tally/monitor/detail/monitor_frame.hpp>
#include <tally/monitor/distribution.hpp>
#include <tally/monitor/gradient_report.hpp>
#include <tally/monitor/gradient_statistics.hpp>
#include <tally/monitor/gradient_view.hpp>
#include <tally/monitor/layer_registry.hpp>
#include <tally/monitor/step_schedule.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace tally::host {

/// There is no default distribution: whether a gradient is this replica's own, everybody's, or a part is what decides the
/// result, and only the caller knows. Used by one thread at a time. Memory: two states (the epoch and the open step), 9.7
/// KB a layer with the default bins, and a table of 68 KB. Observing allocates nothing. Example: examples/keras_question.
template <distribution D, class Bins = gradient_bins>
class gradient_monitor : public tally::detail::monitor_frame<D, Bins> {
    using frame = tally::detail::monitor_frame<D, Bins>;
    using frame::state;
    using typename frame::storage;

public:
    using typename frame::metric_type;
    using typename frame::report_type;

    /// All replicas register the same layers in the same order. Throws configuration_error for no layer at all.
    explicit gradient_monitor(layer_registry layers, sampling rule = {})
        : frame(std::move(layers), rule), epoch_{this->blank()}, step_{this->blank()}, touched_(layers_.size(), 0) {
        begin_epoch();
    }

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
        this->check_all(gradients);
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
        this->check_index(layer);
        this->check(layer, gradient);
        schedule_.require_open("observe");
        take(layer, gradient);
    }

    /// Averages the gradients over all replicas in a buffer of its own, all layers in one array, and observes the result:
    /// for trainers that do not average them themselves. A layer missing on some replicas counts as zeros there. The
    /// caller's gradients stay as they are. Every replica must call it in the same steps. Allocates at its first call.
    template <tracker_communicator Communicator>
    void observe_averaged(Communicator& communicator, std::span<gradient_view const> gradients) {
        static_assert(std::same_as<D, replicated>,
                      "tally: an averaged gradient is the same everywhere: use gradient_monitor<tally::replicated>");
        this->check_all(gradients);
        schedule_.require_open("observe_averaged");
        if (!schedule_.observing()) {
            return;
        }
        gather_floats(gradients);
        all_reduce(tally::detail::on_host(communicator), std::span<float>(averaged_), op::mean{});
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            take(i, gradient_view(averaged(i)));
        }
    }
    template <tracker_communicator Communicator>
    void observe_averaged(Communicator& communicator, std::initializer_list<gradient_view> gradients) {
        observe_averaged(communicator, std::span<gradient_view const>(gradients.begin(), gradients.size()));
    }
    /// The averaged gradient of a layer, still scaled by the loss scale, until the next observe_averaged.
    [[nodiscard]] std::span<float const> averaged(std::size_t layer) const {
        this->check_index(layer);
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
        this->check_index(layer);
        this->check_update(layer, update, weights);
        schedule_.require_open("observe_update");
        if (schedule_.observing() && enabled_[layer] != 0) {
            touched_[layer] = 1;
            auto& sums = state(step_).sums.data()[layer];
            tally::detail::observe_squares(update, sums.updates());
            tally::detail::observe_squares(weights, sums.weights());
        }
    }

    /// Takes the open step into the epoch.
    void end_step(step_outcome outcome = {}) {
        schedule_.require_open("end_step");
        this->count_end(state(schedule_.observing() ? step_ : epoch_), outcome);
        if (schedule_.observing()) {
            merge_step();
        }
        schedule_.end();
    }

    /// Ends the open step without its gradients, as when they overflowed and the optimiser was not run: it is counted as
    /// skipped, and nothing of it enters a mean. If it was an observed one, there is no last step until another ends.
    void skip_step() {
        schedule_.require_open("skip_step");
        this->count_skip(state(epoch_));
        if (schedule_.observing()) {
            clear_step();
        }
        schedule_.end();
    }

    /// Values of this replica alone, over the epoch so far.
    [[nodiscard]] report_type local() const { return this->report_of(epoch_, 1); }

    /// Values over all replicas and the epoch so far; every replica must call it, also one without a gradient. At most
    /// three collectives, whatever the number of layers. The monitor is not changed. Throws layout_mismatch where
    /// replicas watch other layers or another distribution, replica_lost, deadline_exceeded.
    template <tracker_communicator Communicator>
    [[nodiscard]] report_type combine(Communicator& communicator) const {
        return this->template combined_report<whole_epoch>(tally::detail::on_host(communicator), epoch_);
    }

    /// The same for the last observed step alone: the newest gradient, as one would log it without a monitor.
    template <tracker_communicator Communicator>
    [[nodiscard]] report_type combine_last_step(Communicator& communicator) const {
        schedule_.require_closed("combine_last_step");
        return this->template combined_report<last_step>(tally::detail::on_host(communicator), step_);
    }

    /// combine, then begin_epoch. If combining fails, the epoch is still there.
    template <tracker_communicator Communicator>
    [[nodiscard]] report_type end_epoch(Communicator& communicator) {
        schedule_.require_closed("end_epoch");
        auto report = combine(communicator);
        begin_epoch();
        return report;
    }

    /// The epoch so far of all replicas as one buffer (format: docs/snapshot.md). An open step and the last step are not
    /// part of it. Every replica must call it and gets the buffer.
    template <tracker_communicator Communicator>
    [[nodiscard]] std::vector<std::byte> snapshot(Communicator& communicator) const {
        return this->snapshot_of(tally::detail::on_host(communicator), epoch_);
    }

    /// Continues an epoch from a snapshot, at any number of replicas. Only replica 0's buffer is read. If it is refused,
    /// every replica throws snapshot_error and keeps what it has.
    template <tracker_communicator Communicator>
    void restore(Communicator& communicator, std::span<std::byte const> buffer) {
        auto epoch = this->restored(tally::detail::on_host(communicator), buffer);
        begin_epoch();
        schedule_.restart(epoch.steps);
        epoch_ = std::move(epoch.states);
    }

private:
    using frame::digest_;
    using frame::enabled_;
    using frame::layers_;
    using frame::schedule_;

    void take(std::size_t i, gradient_view const& view) {
        if (!schedule_.observing() || enabled_[i] == 0 || view.size == 0) {
            return;
        }
        touched_[i] = 1;
        auto& into = state(step_);
        tally::detail::observe_gradient<Bins>(view, schedule_.factor(), into.sums.data()[i],
                                              into.cells.data() + i * Bins::cells, table_);
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
        this->merge_counts(into, from);
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
        this->clear_counts(s);
    }

    storage epoch_;
    storage step_;
    tally::detail::table_for<Bins> table_;
    std::vector<unsigned char> touched_; ///< by the step in step_
    std::vector<float> averaged_;
};

} // namespace tally::host
