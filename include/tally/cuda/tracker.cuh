// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// cuda::tracker<M>: a metric or collection that lives in the memory of one device. It takes samples from device memory,
// one kernel an update whatever the number of metrics, and gives the same results as host::tracker<M>.
#pragma once

#include <tally/collection.hpp>
#include <tally/comm/combine.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/restore.hpp>
#include <tally/core/errors.hpp>
#include <tally/cuda/captured_combine.cuh>
#include <tally/cuda/combine.cuh>
#include <tally/cuda/device.hpp>
#include <tally/cuda/grouped_update.cuh>
#include <tally/cuda/memory.hpp>
#include <tally/cuda/pending.cuh>
#include <tally/cuda/profiling.hpp>
#include <tally/cuda/resident.cuh>
#include <tally/cuda/tuning.hpp>
#include <tally/cuda/update.cuh>
#include <tally/results.hpp>
#include <tally/state/snapshot.hpp>
#include <tally/state/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally::cuda {

/// A tracker belongs to the device that was current at its construction. Calls put their work on the stream they are
/// given, else on the tracker's, and leave the caller's current device as it was. Calls on different streams are ordered
/// one after the other by events; the inputs must stay valid until the stream has passed the update. A tracker is used by
/// one host thread at a time; different trackers are independent, also on the same device and stream.
///
/// `update` allocates no device memory, never waits, and can be captured in a CUDA graph; while it is captured no order
/// with work on other streams is added. Memory: the states, one record of accumulators for each block that fits on the
/// device, and pinned blocks for results. Integer states are bit-equal to the host's; floating-point sums are
/// added in an order that depends on the device and the sizes, and in tables on chance.
template <class M, class Tuning = default_tuning>
class tracker {
    using counters = typename tally::detail::plan<M>::counters;

public:
    using metric_type = M;

    /// Run-time extents, if the metrics have any: tracker<M> t{num_classes{17}}. Works on the default stream. Throws
    /// configuration_error, cuda::error.
    template <class... Sizes>
        requires(!std::is_convertible_v<Sizes, cudaStream_t> && ...)
    explicit tracker(Sizes... sizes) : tracker(cudaStream_t{}, sizes...) {}

    template <class... Sizes>
    explicit tracker(cudaStream_t stream, Sizes... sizes)
        : stream_{stream},
          resident_{std::make_shared<detail::resident<M, Tuning>>(stream, std::tuple<Sizes...>(sizes...))} {
        static_assert((tally::detail::takes_extent<M, Sizes> && ...),
                      "tally: a tracker's arguments are a stream and run-time extents of its tables; this metric has "
                      "none of this type");
    }
    tracker(tracker&&) noexcept = default;
    tracker(tracker const&) = delete;
    tracker& operator=(tracker&&) noexcept = default;
    tracker& operator=(tracker const&) = delete;
    ~tracker() = default;

    /// Takes samples in device memory: update(stream, scores(...), targets(...)), the stream may be left out. Inputs are
    /// named as for host::tracker. One kernel; zero samples are legal and launch none. Throws shape_error before anything
    /// is launched, cuda::error if the launch fails (the states are as they were).
    template <class... Source, class... View>
    void update(cudaStream_t stream, given<Source, View> const&... inputs) {
        using updater = detail::updater<M, Tuning, counters, given<Source, View>...>;
        updater const pass{tally::detail::input_set<given<Source, View>...>{inputs...}, inputs...};
        resident_->update(stream, pass, inputs.view...);
    }
    template <class... Source, class... View>
    void update(given<Source, View> const&... inputs) {
        update(stream_, inputs...);
    }
    template <class... X>
        requires(!(tally::detail::is_given_input<X> && ...) && !std::is_convertible_v<X, cudaStream_t> && ...)
    void update(X const&...) {
        static_assert(sizeof...(X) == 0,
                      "tally: update takes named inputs: update(values(v)), or what the metric asks for");
    }

    /// Takes whole tensors, each into the group it names: for a tracker of a grouped metric over values, which becomes
    /// what update(values(...), groups(...)) over all elements would make of it. One kernel for up to 1,000 tensors of any
    /// sizes, for which no groups are read and no atomics done element by element. A group out of range is counted, never
    /// written. Throws shape_error before anything is launched, cuda::error; of more than 1,000 tensors the first ones may
    /// have been taken then.
    /// `tensors` is a contiguous range of grouped_tensor<T>.
    template <class Tensors>
    void update_tensors(cudaStream_t stream, Tensors const& tensors) {
        if constexpr (detail::check_update_tensors<counters>()) {
            using counter = tally::detail::at_t<counters, 0>;
            auto const groups = resident_->blank().template get<1>().cells.cells();
            resident_->update(stream, detail::make_group_pass<counter, Tuning>(std::span(tensors), groups));
        }
    }
    template <class Tensors>
    void update_tensors(Tensors const& tensors) {
        update_tensors(stream_, tensors);
    }

    /// Values of this replica alone. Waits for the updates so far.
    [[nodiscard]] local<M> finalize() const { return finalize_async(stream_).get(); }

    /// The same without waiting: the states as they are at this point of the stream, copied to pinned memory. Later updates
    /// don't change them.
    [[nodiscard]] pending<local<M>> finalize_async(cudaStream_t stream) const {
        return pending<local<M>>(resident_->copy_out(stream),
                                 [](states_of<M> states) { return local<M>(std::move(states)); });
    }
    [[nodiscard]] pending<local<M>> finalize_async() const { return finalize_async(stream_); }

    /// Values over all replicas; see host::tracker::combine. The states are staged through pinned memory.
    template <host_communicator Communicator>
    [[nodiscard]] combined<M> combine(Communicator& communicator) const {
        return *exchange(communicator, merged(), std::nullopt);
    }
    template <host_communicator Communicator>
    [[nodiscard]] std::optional<combined<M>> combine_to(Communicator& communicator, int root) const {
        return exchange(communicator, merged(), root);
    }
    /// The same for the states as they are at this point of the stream, which updates may change at once. The message is
    /// sent by get() of the handle, which every replica must call. The communicator and the tracker must outlive it.
    template <host_communicator Communicator>
    [[nodiscard]] pending<combined<M>> combine_async(cudaStream_t stream, Communicator& communicator) const {
        return pending<combined<M>>(resident_->copy_out(stream), [this, &communicator](states_of<M> states) {
            return *exchange(communicator, std::move(states), std::nullopt);
        });
    }
    template <host_communicator Communicator>
    [[nodiscard]] pending<combined<M>> combine_async(Communicator& communicator) const {
        return combine_async(stream_, communicator);
    }

    /// Over devices: the states are packed on this device, joined on the communicator's stream by one group of at most
    /// three collectives, and arrive in pinned memory; finalize is host code and runs in get(). Device memory for the
    /// message is allocated by the first combine of this layout over this communicator, which also compares the layouts.
    template <device_communicator Communicator>
    [[nodiscard]] combined<M> combine(Communicator& communicator) const {
        return combine_async(stream_, communicator).get();
    }
    template <device_communicator Communicator>
    [[nodiscard]] std::optional<combined<M>> combine_to(Communicator& communicator, int root) const {
        auto const replicas = communicator.size();
        auto states = detail::start_exchange<M>(stream_, resident_, communicator, root).second();
        if (!states) {
            return std::nullopt;
        }
        return combined<M>(std::move(*states), replicas);
    }
    /// The same without waiting, but for the first combine of this layout over this communicator: the states as they are
    /// at this point of the stream, which updates may change at once. The message goes out at once; the tracker may be
    /// gone before the result is there.
    template <device_communicator Communicator>
    [[nodiscard]] pending_combined<M> combine_async(cudaStream_t stream, Communicator& communicator) const {
        detail::profiling_range const range{"tally combine"};
        auto const replicas = communicator.size();
        auto started = detail::start_exchange<M>(stream, resident_, communicator, std::nullopt);
        return {std::move(started.first), std::move(started.second), replicas};
    }
    template <device_communicator Communicator>
    [[nodiscard]] pending_combined<M> combine_async(Communicator& communicator) const {
        return combine_async(stream_, communicator);
    }

    /// A combine to be captured in a CUDA graph; see captured_combine. Every replica must call it: it compares the layouts
    /// and allocates. The tracker may be gone before what it gives.
    template <device_communicator Communicator>
    [[nodiscard]] captured_combine<M> capture_combine(Communicator& communicator) const {
        return detail::make_captured_combine<M>(resident_, communicator);
    }

    /// Everything taken so far by all replicas as one buffer; see host::tracker.
    template <communicator Communicator>
    [[nodiscard]] std::vector<std::byte> snapshot(Communicator& communicator) const {
        return tally::snapshot(combine(communicator));
    }
    /// Replaces everything taken so far by a snapshot. Throws snapshot_error, with the tracker as it was.
    void restore(std::span<std::byte const> buffer) { assign(restore_states<M>(buffer, resident_->blank())); }
    template <tracker_communicator Communicator>
    void restore(Communicator& communicator, std::span<std::byte const> buffer) {
        assign(
            tally::detail::restore_states_of_root<M>(tally::detail::on_host(communicator), buffer, resident_->blank()));
    }

    /// Back to "never updated". One kernel, no wait.
    void reset(cudaStream_t stream) { resident_->reset(stream); }
    void reset() { reset(stream_); }

    /// Everything taken so far, as one set of states in host memory. Waits for the updates so far.
    [[nodiscard]] states_of<M> merged() const { return resident_->copy_out(stream_).get(); }
    /// Replaces everything taken so far. `states` must have the tracker's shapes. Waits until that is done.
    void assign(states_of<M> const& states) { resident_->copy_in(stream_, states); }

    [[nodiscard]] int device() const { return resident_->device(); }
    [[nodiscard]] cudaStream_t stream() const { return stream_; }
    /// Bytes of device memory.
    [[nodiscard]] std::size_t device_bytes() const { return resident_->device_bytes(); }

private:
    template <class Communicator>
    std::optional<combined<M>> exchange(Communicator& communicator, states_of<M> states,
                                        std::optional<int> root) const {
        detail::profiling_range const range{"tally combine"};
        auto all = tally::detail::exchange<M>(communicator, states, resident_->blank(), buffers_, root);
        if (!all) {
            return std::nullopt;
        }
        return combined<M>(std::move(*all), communicator.size());
    }

    cudaStream_t stream_;
    std::shared_ptr<detail::resident<M, Tuning>> resident_; // with the collectives that are in flight
    mutable tally::detail::message_buffers buffers_;
};

} // namespace tally::cuda
