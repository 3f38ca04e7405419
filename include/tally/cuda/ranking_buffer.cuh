// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// cuda::ranking_buffer: keeps samples in device memory, up to a number chosen at construction, for exact AUROC, exact
// average precision and Spearman's rank correlation. It gives the same bits as host::ranking_buffer.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/inputs.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/inputs.hpp>
#include <tally/cuda/memory.hpp>
#include <tally/cuda/profiling.hpp>
#include <tally/cuda/ranking_append.cuh>
#include <tally/cuda/ranking_labels.cuh>
#include <tally/cuda/ranking_memory.hpp>
#include <tally/cuda/ranking_pairs.cuh>
#include <tally/ranking/detail/gather_samples.hpp>
#include <tally/ranking/detail/ranking_inputs.hpp>
#include <tally/ranking/ranked_labels.hpp>
#include <tally/ranking/ranked_pairs.hpp>
#include <tally/ranking/ranking_counts.hpp>
#include <tally/update/input_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace tally::cuda {

namespace detail {

template <class Samples>
struct sorter_for;
template <class T, class Weighting>
struct sorter_for<ranked_labels<T, Weighting>> {
    using type = label_sorter<tally::detail::bits_of<T>, Weighting>;
};
template <class T, class Nan>
struct sorter_for<ranked_pairs<T, Nan>> {
    using type = pair_sorter<tally::detail::bits_of<T>>;
};

} // namespace detail

/// Samples: ranked_labels<T, Weighting> or ranked_pairs<T, Nan>. A buffer belongs to the device that was current at its
/// construction; streams, lifetimes of inputs and threads are as for cuda::tracker: one host thread at a time, also for
/// finalize(), which uses the buffer's workspace.
/// `update` is one kernel: it allocates nothing, never waits, and can be captured in a CUDA graph. Which samples are
/// kept does not depend on scheduling: the first `capacity` valid ones. finalize() waits; it sorts in memory that was
/// allocated at construction. combine() gathers the samples through host memory and allocates for all of them.
template <class Samples>
class ranking_buffer {
    using record = typename Samples::record;
    using key_type = typename record::key_type;
    using payload_type = typename record::payload_type;
    using sorter = typename detail::sorter_for<Samples>::type;

public:
    using samples_type = Samples;
    using values_type = typename Samples::values;

    /// Throws configuration_error unless `capacity` is from 1 to 2^31 - 1; cuda::error.
    explicit ranking_buffer(std::size_t capacity) : ranking_buffer(cudaStream_t{}, capacity) {}
    ranking_buffer(cudaStream_t stream, std::size_t capacity)
        : stream_{stream}, last_stream_{stream}, traits_{device_traits::of(current_device())},
          capacity_{tally::detail::checked_capacity(capacity)},
          most_blocks_{static_cast<std::uint64_t>(traits_.multiprocessors) * 4}, sorter_{capacity, traits_},
          pinned_{sizeof(ranking_counts)} {
        detail::ranking_memory plan;
        auto const ledger = plan.take<detail::ranking_ledger>(1);
        auto const valid_of_block = plan.take<std::uint64_t>(most_blocks_);
        auto const keys = plan.take<key_type>(capacity);
        auto const payloads = plan.take<payload_type>(capacity);
        memory_ = detail::device_buffer(plan.bytes());
        ledger_ = ledger.in(memory_);
        valid_of_block_ = valid_of_block.in(memory_);
        keys_ = keys.in(memory_);
        payloads_ = payloads.in(memory_);
        check(cudaMemsetAsync(valid_of_block_, 0, most_blocks_ * sizeof(std::uint64_t), stream), "cudaMemsetAsync",
              stream);
        reset(stream);
    }
    ranking_buffer(ranking_buffer const&) = delete;
    ranking_buffer& operator=(ranking_buffer const&) = delete;
    ~ranking_buffer() = default;

    /// Takes samples in device memory: predictions(...), targets(...), for weighted samples weights(...), and
    /// optionally mask(...), as vectors of the same size. Zero samples are legal and launch nothing. Throws shape_error
    /// before anything is launched, cuda::error if the launch fails (the buffer is as it was).
    template <class... Source, class... View>
    void update(cudaStream_t stream, given<Source, View> const&... inputs) {
        using pass = tally::detail::ranking_inputs<Samples, given<Source, View>...>;
        auto const n = pass::check(tally::detail::input_set<given<Source, View>...>{inputs...});
        if constexpr (pass::complete) {
            if (n == 0) {
                return;
            }
            detail::profiling_range const range{"tally ranking update"};
            device_guard const guard{traits_.device};
            if (!pointers_checked_) {
                (check_pointer(inputs.view), ...);
                pointers_checked_ = true;
            }
            follow(stream);
            using pack = detail::input_pack<given<Source, View>...>;
            detail::append_arguments<Samples, pack> arguments{};
            assign(arguments.inputs, std::index_sequence_for<Source...>{}, inputs...);
            constexpr std::uint64_t threads = detail::append_threads;
            auto const rounds = (n + threads - 1) / threads;
            auto const rounds_of_block = std::max<std::uint64_t>(smallest_rounds, (rounds - 1) / most_blocks_ + 1);
            arguments.size = n;
            arguments.chunk = rounds_of_block * threads;
            arguments.capacity = capacity_;
            arguments.ledger = ledger_;
            arguments.valid_of_block = valid_of_block_;
            arguments.keys = keys_;
            arguments.payloads = payloads_;
            auto const blocks = static_cast<unsigned>((rounds - 1) / rounds_of_block + 1);
            detail::append_kernel<Samples, pass><<<blocks, detail::append_threads, 0, stream>>>(arguments);
            check(cudaGetLastError(), "launch of the append kernel", stream);
        }
    }
    template <class... Source, class... View>
    void update(given<Source, View> const&... inputs) {
        update(stream_, inputs...);
    }

    /// Values of this replica alone. Waits for the updates so far and for the sort: O(n).
    [[nodiscard]] values_type finalize() const {
        device_guard const guard{traits_.device};
        auto const counted = read_counts();
        return values_of(sorter_, counted, keys_, payloads_);
    }

    /// Values over all replicas; see host::ranking_buffer. Replicas on the host and on devices may be mixed.
    template <tracker_communicator Communicator>
    [[nodiscard]] values_type combine(Communicator& communicator) const {
        return *exchange(communicator, std::nullopt);
    }
    template <tracker_communicator Communicator>
    [[nodiscard]] std::optional<values_type> combine_to(Communicator& communicator, int root) const {
        return exchange(communicator, root);
    }

    /// Back to "never updated". Never waits.
    void reset(cudaStream_t stream) {
        device_guard const guard{traits_.device};
        follow(stream);
        check(cudaMemsetAsync(ledger_, 0, sizeof(detail::ranking_ledger), stream), "cudaMemsetAsync", stream);
    }
    void reset() { reset(stream_); }

    /// Waits for the updates so far.
    [[nodiscard]] ranking_counts counts() const {
        device_guard const guard{traits_.device};
        return read_counts();
    }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] int device() const { return traits_.device; }
    [[nodiscard]] cudaStream_t stream() const { return stream_; }
    /// Bytes of device memory, the workspace of finalize() included.
    [[nodiscard]] std::size_t device_bytes() const { return memory_.size() + sorter_.device_bytes(); }

private:
    /// Fewer samples than these many rounds of a block are not worth another block. A guess.
    static constexpr std::uint64_t smallest_rounds = 4;

    template <class Pack, std::size_t... Index, class... Input>
    static void assign(Pack& pack, std::index_sequence<Index...>, Input const&... input) {
        ((static_cast<detail::view_slot<Index, typename Input::view_type>&>(pack).view = input.view), ...);
    }

    /// Work of this call comes after that of the last one, also on another stream.
    void follow(cudaStream_t stream) const {
        if (stream == last_stream_) {
            return;
        }
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing", stream);
        if (status == cudaStreamCaptureStatusNone) {
            order_.record(last_stream_);
            order_.hold_back(stream);
            last_stream_ = stream;
        }
    }

    template <class View>
    void check_pointer(View const& view) const {
        if (view.data == nullptr || traits_.reads_pageable_memory) {
            return;
        }
        cudaPointerAttributes attributes{};
        check(cudaPointerGetAttributes(&attributes, view.data), "cudaPointerGetAttributes");
        if (attributes.type == cudaMemoryTypeUnregistered) {
            throw shape_error("an input of cuda::ranking_buffer::update lies in host memory, which device " +
                              std::to_string(traits_.device) + " can't read: pass device, managed or pinned memory");
        }
    }

    [[nodiscard]] ranking_counts read_counts() const {
        follow(stream_);
        check(cudaMemcpyAsync(pinned_.data(), ledger_, sizeof(ranking_counts), cudaMemcpyDeviceToHost, stream_),
              "cudaMemcpyAsync", stream_);
        check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize", stream_);
        ranking_counts counted;
        std::memcpy(&counted, pinned_.data(), sizeof(counted));
        return counted;
    }

    [[nodiscard]] values_type values_of(sorter const& sorting, ranking_counts const& counted, key_type const* keys,
                                        payload_type const* payloads) const {
        if (counted.samples == 0) {
            return {counted, typename Samples::summary{}};
        }
        return {counted, sorting.run(stream_, keys, payloads, static_cast<std::size_t>(counted.samples))};
    }

    /// Waits.
    void copy(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) const {
        if (bytes != 0) {
            check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "cudaMemcpyAsync", stream_);
            check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize", stream_);
        }
    }

    template <class Communicator>
    std::optional<values_type> exchange(Communicator& communicator, std::optional<int> root) const {
        device_guard const guard{traits_.device};
        auto const counted = read_counts();
        auto const all = tally::detail::gather_samples<Samples>(
            tally::detail::on_host(communicator), counted, root, [&](std::byte* keys, std::byte* payloads) {
                auto const n = static_cast<std::size_t>(counted.samples);
                copy(keys, keys_, n * sizeof(key_type), cudaMemcpyDeviceToHost);
                copy(payloads, payloads_, n * sizeof(payload_type), cudaMemcpyDeviceToHost);
            });
        if (!all) {
            return std::nullopt;
        }
        auto const n = all->keys.size();
        if (n == 0) {
            return values_type{all->counts, typename Samples::summary{}};
        }
        detail::ranking_memory plan;
        auto const keys = plan.take<key_type>(n);
        auto const payloads = plan.take<payload_type>(n);
        detail::device_buffer const memory(plan.bytes());
        copy(keys.in(memory), all->keys.data(), n * sizeof(key_type), cudaMemcpyHostToDevice);
        copy(payloads.in(memory), all->payloads.data(), n * sizeof(payload_type), cudaMemcpyHostToDevice);
        sorter const sorting{n, traits_};
        return values_of(sorting, all->counts, keys.in(memory), payloads.in(memory));
    }

    cudaStream_t stream_;
    mutable cudaStream_t last_stream_;
    device_traits traits_;
    std::size_t capacity_;
    std::uint64_t most_blocks_;
    sorter sorter_;
    detail::pinned_buffer pinned_;
    detail::event order_;
    detail::device_buffer memory_;
    detail::ranking_ledger* ledger_ = nullptr;
    std::uint64_t* valid_of_block_ = nullptr;
    key_type* keys_ = nullptr;
    payload_type* payloads_ = nullptr;
    bool pointers_checked_ = false;
};

} // namespace tally::cuda
