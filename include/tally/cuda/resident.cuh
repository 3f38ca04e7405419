// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The states of a tracker on its device, with everything that updates need: allocated at construction, in one piece.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/memory.hpp>
#include <tally/cuda/pack.cuh>
#include <tally/cuda/pending.cuh>
#include <tally/cuda/profiling.hpp>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/tuning.hpp>
#include <tally/cuda/update.cuh>
#include <tally/state/fingerprint.hpp>
#include <tally/state/store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tally::cuda::detail {

template <class... R>
consteval bool has_row_role(type_list<R...>) {
    return ((R::kind == tally::detail::role_kind::row) || ...);
}

/// Sets the record and all cells to their identity.
template <class... Id>
__global__ void reset_kernel(__grid_constant__ state_access<type_list<Id...>> const states) {
    auto const first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    if (first == 0) {
        (store<scalar_of<Id>>(states.resident->template of<Id>(), scalar_of<Id>{}), ...);
    }
    auto const clear = [&]<class Wanted>() {
        if constexpr (Wanted::is_table) {
            using cell_type = typename Wanted::type::cell_type;
            auto const& slot = states.tables.template of<Wanted>();
            auto const cells = slot.shape.cells();
            for (auto i = first; i < cells; i += step) {
                store<cell_type>(slot.cells + i * stored_bytes<cell_type>(), cell_type{});
            }
        }
    };
    (clear.template operator()<Id>(), ...);
}

template <class M, class Tuning>
class resident {
    using layout = state_layout<M>;
    using fields = typename layout::fields;
    using scalars = typename layout::scalars;

public:
    template <class... Sizes>
    resident(cudaStream_t stream, std::tuple<Sizes...> const& sizes)
        : traits_{device_traits::of(current_device())}, blank_{sizes}, hash_{layout_hash<M>(blank_)},
          last_stream_{stream} {
        auto const image = layout::bytes(blank_);
        partials_ = static_cast<std::uint64_t>(traits_.multiprocessors) *
                    static_cast<std::uint64_t>(Tuning::select(traits_.compute_capability).blocks_per_multiprocessor);
        auto const locks = layout::padded(layout::locks(blank_) * sizeof(unsigned));
        auto const ticket = layout::padded(sizeof(unsigned));
        auto const records = layout::padded(partials_ * sizeof(*states_.partials));
        auto const rows = takes_rows ? row_workspace::parts * (row_workspace::part_bytes + sizeof(unsigned)) : 0;
        memory_ = device_buffer(image + locks + ticket + records + rows);
        image_bytes_ = image;

        auto* next = memory_.data();
        states_.resident = reinterpret_cast<scalars*>(next);
        states_.ticket = reinterpret_cast<unsigned*>(next + image + locks);
        states_.partials = reinterpret_cast<decltype(states_.partials)>(next + image + locks + ticket);
        states_.samples_before_flush = Tuning::select(traits_.compute_capability).samples_before_flush;
        place_tables(next + layout::padded(sizeof(scalars)), reinterpret_cast<unsigned*>(next + image));
        check(cudaMemsetAsync(next + image, 0, locks + ticket, stream), "cudaMemsetAsync", stream);
        if (takes_rows) {
            auto* const after_records = next + image + locks + ticket + records;
            rows_.done = reinterpret_cast<unsigned*>(after_records);
            rows_.found = after_records + row_workspace::parts * sizeof(unsigned);
            check(cudaMemsetAsync(rows_.done, 0, row_workspace::parts * sizeof(unsigned), stream), "cudaMemsetAsync",
                  stream);
        }
        reset(stream);
    }
    resident(resident const&) = delete;
    resident& operator=(resident const&) = delete;
    ~resident() = default;

    template <class Pass, class... View>
    void update(cudaStream_t stream, Pass const& pass, View const&... views) {
        profiling_range const range{"tally update"};
        device_guard const guard{traits_.device};
        constexpr auto checks = Tuning::select(0).pointers;
        bool const wanted =
            checks == pointer_check::every_update || (checks == pointer_check::first_update && !pointers_checked_);
        if (wanted && pass.samples() != 0) { // without a sample nothing is read
            (check_pointer(views), ...);
            if constexpr (requires { pass.for_each_pointer([](void const*) {}); }) {
                pass.for_each_pointer([this](void const* data) { require_readable(data); });
            }
            pointers_checked_ = true;
        }
        follow(stream);
        pass.launch(launch_target<fields>{traits_, cache_, states_, partials_, rows_}, stream);
    }

    void reset(cudaStream_t stream) {
        device_guard const guard{traits_.device};
        follow(stream);
        constexpr unsigned threads = 256;
        auto const blocks = std::clamp<std::size_t>(image_bytes_ / (threads * sizeof(std::uint64_t)), 1, 1024);
        launch_reset(fields{}, static_cast<unsigned>(blocks), threads, stream);
        check(cudaGetLastError(), "launch of the reset kernel", stream);
    }

    /// Packs the states as a message, in stream order.
    void pack(cudaStream_t stream, message_lanes const& to) {
        device_guard const guard{traits_.device};
        follow(stream);
        constexpr unsigned threads = 256;
        constexpr std::size_t fewest = (fields::size * warp_size + threads - 1) / threads;
        auto const blocks =
            std::clamp<std::size_t>(image_bytes_ / (threads * sizeof(std::uint64_t)), fewest, 1024 + fewest);
        launch_pack(fields{}, static_cast<unsigned>(blocks), threads, stream, to);
        check(cudaGetLastError(), "launch of the packing kernel", stream);
    }

    /// Copies the states to pinned memory, in stream order.
    states_in_flight<M> copy_out(cudaStream_t stream) {
        device_guard const guard{traits_.device};
        follow(stream);
        auto block = free_block();
        check(cudaMemcpyAsync(block->memory.data(), memory_.data(), image_bytes_, cudaMemcpyDeviceToHost, stream),
              "cudaMemcpyAsync", stream);
        block->copied.record(stream);
        return states_in_flight<M>(std::move(block), blank_);
    }

    /// Replaces the states. Waits until it is done.
    void copy_in(cudaStream_t stream, states_of<M> const& states) {
        device_guard const guard{traits_.device};
        follow(stream);
        auto const block = free_block();
        layout::pack(states, block->memory.data());
        check(cudaMemcpyAsync(memory_.data(), block->memory.data(), image_bytes_, cudaMemcpyHostToDevice, stream),
              "cudaMemcpyAsync", stream);
        block->copied.record(stream);
        block->copied.wait();
    }

    [[nodiscard]] states_of<M> const& blank() const { return blank_; }
    [[nodiscard]] std::uint64_t hash() const { return hash_; }
    [[nodiscard]] int device() const { return traits_.device; }
    [[nodiscard]] std::size_t device_bytes() const { return memory_.size(); }

private:
    void place_tables(std::byte* cells, unsigned* locks) {
        auto const chosen = Tuning::select(traits_.compute_capability);
        std::size_t shared = 0;
        auto const limit = std::min(chosen.shared_table_bytes, traits_.shared_bytes - shared_for_reduction);
        tally::detail::for_each_type(typename layout::tables{}, [&]<class Id>() {
            using cell_type = typename Id::type::cell_type;
            auto const& shape = layout::template field_of<Id>(blank_).shape();
            auto& slot = states_.tables.template of<Id>();
            slot.shape = shape;
            slot.cells = cells;
            slot.lock = locks;
            slot.shared_offset = -1;
            slot.diagonal_offset = -1;
            cells += layout::padded(shape.cells() * stored_bytes<cell_type>());
            if (!by_parts<cell_type>) {
                locks += shape.cells();
            }
            constexpr auto bytes = private_cell_bytes<Id>();
            if constexpr (bytes != 0) {
                auto const wanted = (shape.cells() * bytes + 15) / 16 * 16;
                if (chosen.tables != table_strategy::global && shape.cells() <= limit / bytes &&
                    shared + wanted <= limit) {
                    slot.shared_offset = static_cast<std::int32_t>(shared);
                    shared += wanted;
                }
            }
            if constexpr (may_be_square<Id>) {
                auto const side = (shape.size[0] * sizeof(std::uint32_t) + 15) / 16 * 16;
                if (slot.shared_offset < 0 && shape.size[0] == shape.size[1] && shared + side <= limit) {
                    slot.diagonal_offset = static_cast<std::int32_t>(shared);
                    shared += side;
                }
            }
        });
        states_.private_bytes = static_cast<std::int32_t>(shared);
    }

    template <class... Id>
    void launch_reset(type_list<Id...>, unsigned blocks, unsigned threads, cudaStream_t stream) {
        reset_kernel<Id...><<<blocks, threads, 0, stream>>>(states_);
    }

    template <class... Id>
    void launch_pack(type_list<Id...>, unsigned blocks, unsigned threads, cudaStream_t stream,
                     message_lanes const& to) {
        pack_kernel<Id...><<<blocks, threads, 0, stream>>>(states_, to);
    }

    /// Work of this call comes after that of the last one, also on another stream.
    void follow(cudaStream_t stream) {
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

    std::shared_ptr<result_block> free_block() {
        for (auto const& block : blocks_) {
            if (block.use_count() == 1 && block->copied.ready()) {
                return block;
            }
        }
        blocks_.push_back(
            std::make_shared<result_block>(result_block{pinned_buffer(image_bytes_), {}, traits_.device}));
        return blocks_.back();
    }

    template <class View>
    void check_pointer(View const& view) const {
        if constexpr (requires { view.data; }) {
            require_readable(view.data);
        }
    }
    void require_readable(void const* data) const {
        if (data == nullptr || traits_.reads_pageable_memory) {
            return;
        }
        cudaPointerAttributes attributes{};
        auto const code = cudaPointerGetAttributes(&attributes, data);
        check(code, "cudaPointerGetAttributes");
        if (attributes.type == cudaMemoryTypeUnregistered) {
            throw shape_error("an input lies in host memory, which device " + std::to_string(traits_.device) +
                              " can't read: pass device, managed or pinned memory");
        }
    }

    /// Whether some counters ask for features of rows.
    static constexpr bool takes_rows = []<class... C>(type_list<C...>) {
        return (has_row_role(roles_of<C>{}) || ...);
    }(typename layout::counters{});

    /// Static shared memory of the kernels, at most; the rest may be used for copies of tables.
    static constexpr std::size_t shared_for_reduction = 16 * 1024;

    device_traits traits_;
    states_of<M> blank_; // shapes, at identity
    std::uint64_t hash_; // of the layout
    device_buffer memory_;
    std::size_t image_bytes_ = 0;
    state_access<fields> states_{};
    std::uint64_t partials_ = 0;
    row_workspace rows_{};
    launch_cache cache_;
    event order_;
    cudaStream_t last_stream_;
    std::vector<std::shared_ptr<result_block>> blocks_;
    bool pointers_checked_ = false;
};

} // namespace tally::cuda::detail
