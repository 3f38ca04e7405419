// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// cuda::gradient_monitor<Distribution>: host::gradient_monitor for gradients in the memory of a device. All layers of a
// step, of mixed sizes and element types, are observed by one kernel, which reads each gradient once.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/core/errors.hpp>
#include <tally/cuda/averaged_gradients.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/gradient_kernel.cuh>
#include <tally/cuda/resident.cuh>
#include <tally/cuda/tensor_launch.cuh>
#include <tally/cuda/tuning.hpp>
#include <tally/monitor/detail/monitor_frame.hpp>
#include <tally/monitor/distribution.hpp>
#include <tally/monitor/gradient_statistics.hpp>
#include <tally/monitor/gradient_view.hpp>
#include <tally/monitor/layer_registry.hpp>
#include <tally/monitor/step_schedule.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace tally::cuda {

namespace detail {

/// A pass of a `resident` that reads no inputs.
template <class F>
struct launch_pass {
    F f;
    [[nodiscard]] static std::size_t samples() { return 0; }
    template <class Target>
    void launch(Target const& target, cudaStream_t stream) const {
        f(target, stream);
    }
};

} // namespace detail

/// Calls mean what they mean for host::gradient_monitor; views hold device addresses. Streams, lifetimes of inputs and
/// threads are as for cuda::tracker: work goes to the stream given to the call, else to the monitor's; inputs must stay
/// valid until the stream has passed the call.
///
/// A step costs two launches: one in begin_step, which takes the step before into the epoch and clears, and one in
/// observe for up to 1,000 layers. Neither allocates, copies or waits. Results wait for the stream.
/// Device memory: two states, 9.7 KB a layer with the default bins. All values are those of the host bit for bit.
template <distribution D, class Bins = gradient_bins, class Tuning = default_tuning>
class gradient_monitor : public tally::detail::monitor_frame<D, Bins> {
    using frame = tally::detail::monitor_frame<D, Bins>;
    using typename frame::state_type;
    using typename frame::storage;

public:
    using typename frame::metric_type;
    using typename frame::report_type;

    /// All replicas register the same layers in the same order. Works on the default stream, or on the one given. Throws
    /// configuration_error for no layer at all, cuda::error.
    explicit gradient_monitor(layer_registry layers, sampling rule = {})
        : gradient_monitor(cudaStream_t{}, std::move(layers), rule) {}
    explicit gradient_monitor(cudaStream_t stream, layer_registry layers, sampling rule = {})
        : frame(std::move(layers), rule), stream_{stream}, epoch_{make_resident()}, step_{make_resident()} {}

    /// Forgets everything observed so far, an open step too. One kernel, no wait.
    void begin_epoch() {
        epoch_->reset(stream_);
        forget_steps(0);
        this->clear_counts(epoch_counts_);
        differing_.clear();
    }

    /// Opens a step; returns whether it is observed. At most one kernel, no wait.
    bool begin_step(step_options options = {}) {
        auto next = schedule_;
        next.begin(options);
        if (next.observing()) {
            if (used_) {
                turn_step(pending_, true);
                pending_ = used_ = false;
            }
            this->clear_counts(step_counts_);
            step_ended_ = false;
        }
        schedule_ = next;
        return schedule_.observing();
    }

    /// Takes the gradients of a step, one view a layer in the order of the registry; a missing one adds nothing. One
    /// kernel for up to 1,000 layers. If a shape_error is thrown, nothing has been taken. After a cuda::error the
    /// layers of another launch may have been: skip the step.
    void observe(cudaStream_t stream, std::span<gradient_view const> gradients) {
        this->check_all(gradients);
        schedule_.require_open("observe");
        take(stream, 0, gradients);
    }
    void observe(std::span<gradient_view const> gradients) { observe(stream_, gradients); }
    void observe(cudaStream_t stream, std::initializer_list<gradient_view> gradients) {
        observe(stream, std::span<gradient_view const>(gradients.begin(), gradients.size()));
    }
    void observe(std::initializer_list<gradient_view> gradients) { observe(stream_, gradients); }
    /// The same for one layer: a kernel each.
    void observe(cudaStream_t stream, std::size_t layer, gradient_view gradient) {
        this->check_index(layer);
        this->check(layer, gradient);
        schedule_.require_open("observe");
        take(stream, layer, std::span<gradient_view const>(&gradient, 1));
    }
    void observe(std::size_t layer, gradient_view gradient) { observe(stream_, layer, gradient); }

    /// Averages the gradients over all replicas and observes the result; see host::gradient_monitor. Staged through pinned
    /// host memory: it waits for the stream, and allocates at its first call. A trainer that averages its gradients
    /// itself, on the device, observes them instead.
    template <tracker_communicator Communicator>
    void observe_averaged(Communicator& communicator, std::span<gradient_view const> gradients) {
        static_assert(std::same_as<D, replicated>,
                      "tally: an averaged gradient is the same everywhere: use gradient_monitor<tally::replicated>");
        this->check_all(gradients);
        schedule_.require_open("observe_averaged");
        if (!schedule_.observing()) {
            return;
        }
        device_guard const guard{epoch_->device()};
        if (!averaged_) {
            averaged_.emplace(layers_);
        }
        averaged_->average(tally::detail::on_host(communicator), gradients, stream_);
        std::vector<gradient_view> averages;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            averages.emplace_back(averaged_->layer(i));
        }
        take(stream_, 0, averages);
    }
    template <tracker_communicator Communicator>
    void observe_averaged(Communicator& communicator, std::initializer_list<gradient_view> gradients) {
        observe_averaged(communicator, std::span<gradient_view const>(gradients.begin(), gradients.size()));
    }
    /// The averaged gradient of a layer in device memory, still scaled by the loss scale, in the order of the monitor's
    /// stream, until the next observe_averaged.
    [[nodiscard]] std::span<float const> averaged(std::size_t layer) const {
        this->check_index(layer);
        if (!averaged_) {
            throw configuration_error("there are no averaged gradients before observe_averaged");
        }
        return averaged_->layer(layer);
    }

    /// What the optimiser added to each layer's weights in this step, and the weights: all layers by one kernel. Missing
    /// ones, in both lists, add nothing.
    void observe_updates(cudaStream_t stream, std::span<gradient_view const> updates,
                         std::span<gradient_view const> weights) {
        this->check_count(updates.size());
        this->check_count(weights.size());
        for (std::size_t i = 0; i < updates.size(); ++i) {
            this->check_update(i, updates[i], weights[i]);
        }
        schedule_.require_open("observe_updates");
        take_updates(stream, 0, updates, weights);
    }
    void observe_updates(std::span<gradient_view const> updates, std::span<gradient_view const> weights) {
        observe_updates(stream_, updates, weights);
    }
    /// The same for one layer: a kernel each.
    void observe_update(cudaStream_t stream, std::size_t layer, gradient_view update, gradient_view weights) {
        this->check_index(layer);
        this->check_update(layer, update, weights);
        schedule_.require_open("observe_update");
        take_updates(stream, layer, std::span<gradient_view const>(&update, 1),
                     std::span<gradient_view const>(&weights, 1));
    }
    void observe_update(std::size_t layer, gradient_view update, gradient_view weights) {
        observe_update(stream_, layer, update, weights);
    }

    /// Takes the open step into the epoch. Nothing is launched: the step before is merged when the next one begins or when
    /// somebody asks.
    void end_step(step_outcome outcome = {}) {
        schedule_.require_open("end_step");
        if (schedule_.observing()) {
            this->count_end(step_counts_, outcome);
            this->merge_counts(epoch_counts_, step_counts_);
            pending_ = used_;
            step_ended_ = true;
        } else {
            this->count_end(epoch_counts_, outcome);
        }
        schedule_.end();
    }

    /// Ends the open step without its gradients; it is counted as skipped. See host::gradient_monitor.
    void skip_step() {
        schedule_.require_open("skip_step");
        this->count_skip(epoch_counts_);
        schedule_.end();
    }

    /// Values of this replica alone, over the epoch so far. Waits.
    [[nodiscard]] report_type local() const { return this->report_of(epoch_states(), 1); }

    /// Values over all replicas and the epoch so far; every replica must call it. The states are staged through pinned
    /// memory; collectives and errors are those of host::gradient_monitor::combine. Waits.
    template <tracker_communicator Communicator>
    [[nodiscard]] report_type combine(Communicator& communicator) const {
        return this->template combined_report<whole_epoch>(tally::detail::on_host(communicator), epoch_states());
    }
    /// The same for the last observed step alone.
    template <tracker_communicator Communicator>
    [[nodiscard]] report_type combine_last_step(Communicator& communicator) const {
        schedule_.require_closed("combine_last_step");
        return this->template combined_report<last_step>(tally::detail::on_host(communicator), last_step_states());
    }
    /// combine, then begin_epoch. If combining fails, the epoch is still there.
    template <tracker_communicator Communicator>
    [[nodiscard]] report_type end_epoch(Communicator& communicator) {
        schedule_.require_closed("end_epoch");
        auto report = combine(communicator);
        begin_epoch();
        return report;
    }

    /// The epoch so far of all replicas as one buffer, which a monitor of any engine restores.
    template <tracker_communicator Communicator>
    [[nodiscard]] std::vector<std::byte> snapshot(Communicator& communicator) const {
        return this->snapshot_of(tally::detail::on_host(communicator), epoch_states());
    }
    template <tracker_communicator Communicator>
    void restore(Communicator& communicator, std::span<std::byte const> buffer) {
        auto epoch = this->restored(tally::detail::on_host(communicator), buffer);
        auto& sums = this->state(epoch.states).sums;
        std::vector<kept_sums> differing;
        for (std::size_t i = 0; i < sums.cells(); ++i) {
            if (sums.data()[i].conflict()) {
                differing.push_back({i, std::exchange(sums.data()[i], layer_sums<D>{})});
            }
        }
        epoch_->copy_in(stream_, epoch.states);
        forget_steps(epoch.steps);
        this->copy_counts(this->state(epoch.states), epoch_counts_);
        differing_ = std::move(differing);
    }

    [[nodiscard]] int device() const { return epoch_->device(); }
    [[nodiscard]] cudaStream_t stream() const { return stream_; }
    /// Bytes of device memory, without those of averaged gradients.
    [[nodiscard]] std::size_t device_bytes() const { return epoch_->device_bytes() + step_->device_bytes(); }

private:
    using frame::enabled_;
    using frame::layers_;
    using frame::schedule_;
    using resident = detail::resident<metric_type, Tuning>;
    using fields = detail::fields_of<typename detail::state_layout<metric_type>::counters>;
    using gradient_task = detail::gradient_task<D, Bins, Tuning>;
    using square_task = detail::square_task<D, Tuning>;

    /// Sums out of a snapshot that says that replicas differed. The parts that the device stores have no room for that.
    struct kept_sums {
        std::size_t layer;
        layer_sums<D> sums;
    };

    [[nodiscard]] std::unique_ptr<resident> make_resident() const {
        return std::make_unique<resident>(stream_, std::tuple<num_layers>(num_layers{layers_.size()}));
    }
    static detail::layer_tables tables_of(detail::launch_target<fields> const& target) {
        auto const& tables = target.states.tables;
        return {tables.template of<detail::find_field<fields, 1, 0>>().cells,
                tables.template of<detail::find_field<fields, 1, 1>>().cells};
    }
    static detail::tensor_item item_of(gradient_view const& view, bool taken, std::size_t target) {
        return {view.data, taken ? view.size : 0, view.type == gradient_type::float32 ? 4U : 2U,
                static_cast<std::uint32_t>(target), static_cast<std::uint32_t>(view.type)};
    }

    /// Gradients of the layers from number `first` on.
    void take(cudaStream_t stream, std::size_t first, std::span<gradient_view const> gradients) {
        if (!schedule_.observing()) {
            return;
        }
        used_ = true;
        step_->update(stream,
                      detail::make_tensor_pass<gradient_task, Tuning>(
                          gradients.size(),
                          [&](std::size_t i) { return item_of(gradients[i], enabled_[first + i] != 0, first + i); },
                          [&](auto const& target) {
                              return typename gradient_task::arguments{tables_of(target), schedule_.factor()};
                          }));
    }
    void take_updates(cudaStream_t stream, std::size_t first, std::span<gradient_view const> updates,
                      std::span<gradient_view const> weights) {
        if (!schedule_.observing()) {
            return;
        }
        used_ = true;
        step_->update(stream,
                      detail::make_tensor_pass<square_task, Tuning>(
                          2 * updates.size(),
                          [&](std::size_t i) {
                              auto const& view = i % 2 == 0 ? updates[i / 2] : weights[i / 2];
                              return item_of(view, enabled_[first + i / 2] != 0, 2 * first + i);
                          },
                          [&](auto const& target) { return typename square_task::arguments{tables_of(target)}; }));
    }

    /// One kernel, ordered after the work on both states.
    void turn_step(bool merges, bool clears) const {
        auto const layers = static_cast<std::uint64_t>(layers_.size());
        auto const with_step = [&](auto const& of_step, cudaStream_t stream) {
            auto const with_both = [&](auto const& of_epoch, cudaStream_t same_stream) {
                constexpr unsigned threads = 256;
                auto const blocks = std::clamp<std::uint64_t>(layers * Bins::cells / threads, 1, 4096);
                detail::turn_step_kernel<D><<<static_cast<unsigned>(blocks), threads, 0, same_stream>>>(
                    tables_of(of_epoch), tables_of(of_step), layers, Bins::cells, merges, clears);
                check(cudaGetLastError(), "launch of the kernel between two steps", same_stream);
            };
            epoch_->update(stream, detail::launch_pass<decltype(with_both)>{with_both});
        };
        step_->update(stream_, detail::launch_pass<decltype(with_step)>{with_step});
    }
    void forget_steps(std::uint64_t steps) {
        pending_ = step_ended_ = false;
        this->clear_counts(step_counts_);
        schedule_.restart(steps);
    }
    [[nodiscard]] storage states_of_device(resident& from, state_type const& counts) const {
        auto states = from.copy_out(stream_).get();
        this->copy_counts(counts, this->state(states));
        return this->with_names(std::move(states));
    }
    [[nodiscard]] storage epoch_states() const {
        if (pending_) {
            turn_step(true, false);
            pending_ = false;
        }
        auto states = states_of_device(*epoch_, epoch_counts_);
        for (auto const& each : differing_) {
            this->state(states).sums.data()[each.layer].merge(each.sums);
        }
        return states;
    }
    [[nodiscard]] storage last_step_states() const {
        return step_ended_ && used_ ? states_of_device(*step_, step_counts_) : blank_with(step_counts_);
    }
    [[nodiscard]] storage blank_with(state_type const& counts) const {
        auto states = this->with_names(this->blank());
        this->copy_counts(counts, this->state(states));
        return states;
    }

    cudaStream_t stream_;
    std::unique_ptr<resident> epoch_;
    std::unique_ptr<resident> step_;
    state_type epoch_counts_{}; ///< of the steps; the tables are on the device
    state_type step_counts_{};
    bool used_ = false;            ///< the step's tables may hold something
    mutable bool pending_ = false; ///< and it belongs to the epoch, where it is not yet
    bool step_ended_ = false;      ///< step_ is the last step
    std::vector<kept_sums> differing_;
    std::optional<detail::averaged_gradients> averaged_;
};

} // namespace tally::cuda
