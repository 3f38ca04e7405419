// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the device does with gradients: tasks of the multi-tensor kernel that accumulate a step, layer by layer, into
// tables in the device's memory, and the kernel that takes a step into the epoch. A block counts its part of a layer in
// shared memory and sums it in registers, then merges both into the layer's cells by atomics.
#pragma once

#include <tally/core/half_bits.hpp>
#include <tally/cuda/atomics.cuh>
#include <tally/cuda/finish.cuh>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/table_policy.hpp>
#include <tally/cuda/tensor_kernel.cuh>
#include <tally/cuda/thread_state.cuh>
#include <tally/monitor/gradient_statistics.hpp>
#include <tally/monitor/gradient_view.hpp>
#include <tally/monitor/largest_magnitude.hpp>
#include <tally/monitor/layer_sums.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::cuda::detail {

/// The tables of a step or an epoch: stored layer_sums, and stored counts of the bins.
struct layer_tables {
    std::byte* sums;
    std::byte* cells;
};

/// Where layer_sums stores its parts, in the order of its member parts().
template <distribution D>
struct stored_layer_sums {
    static constexpr std::size_t value_bytes = stored_bytes<monitor_sums::values>();
    static constexpr std::size_t square_bytes = stored_bytes<monitor_sums::squares>();
    static constexpr std::size_t values = 0;
    static constexpr std::size_t magnitudes = value_bytes;
    static constexpr std::size_t squares = 2 * value_bytes;
    static constexpr std::size_t updates = squares + square_bytes;
    static constexpr std::size_t weights = updates + square_bytes;
    static constexpr std::size_t largest = weights + square_bytes;
    static constexpr std::size_t size = stored_bytes<layer_sums<D>>();
    static_assert(by_parts<layer_sums<D>> && size == largest + stored_bytes<largest_magnitude>(),
                  "tally: the sums of a monitor must be merged by parts, for atomics");
};

__device__ inline float widen_element(float x) { return x; }
__device__ inline float widen_element(bfloat16_bits x) { return widen_bits(x); }
__device__ inline float widen_element(half_bits x) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
}

template <class F>
__device__ void with_gradient_type(std::uint32_t type, F&& f) {
    switch (static_cast<gradient_type>(type)) {
    case gradient_type::float32: f.template operator()<float>(); break;
    case gradient_type::float16: f.template operator()<half_bits>(); break;
    case gradient_type::bfloat16: f.template operator()<bfloat16_bits>(); break;
    }
}

/// Adds a block's share of a sum, in thread 0.
template <class Acc>
__device__ void merge_stored(std::byte* stored, Acc const& value) {
    if (threadIdx.x == 0) {
        merge_into_cell(stored, nullptr, value);
    }
}

/// Gradients of layers: `target` is the layer.
template <distribution D, class Bins, class Tuning>
class gradient_task {
    using values = field<0, 0, monitor_sums::values, float>;
    using magnitudes = field<0, 1, monitor_sums::values, float>;
    using squares = field<0, 2, monitor_sums::squares, float>;
    using largest = field<0, 3, largest_magnitude, float>;
    using summed = type_list<values, magnitudes, squares>;
    using reduced = type_list<values, magnitudes, squares, largest>;
    using sums_type = thread_state<summed, Tuning>;
    using reduction = block_reduction<reduced, threads_of<Tuning>>;
    using cells = stored_layer_sums<D>;
    using count_type = distributed<D, count>;
    static_assert(stored_bytes<count_type>() == sizeof(std::uint64_t));

    /// Finer bins are counted in place.
    static constexpr bool counts_in_block = Bins::cells * sizeof(std::uint32_t) <= 32 * 1024;

public:
    struct arguments {
        layer_tables step;
        float factor; ///< gradients are multiplied by it first
    };
    struct shared_type {
        std::uint32_t counts[counts_in_block ? Bins::cells : 1];
        table_record<type_list<>> no_tables; // empty
        typename sums_type::shared_type sums;
        typename reduction::storage reduction_storage;
    };

    __device__ gradient_task(arguments const& from_host, shared_type& shared)
        : arguments_{from_host}, shared_{shared}, sums_{shared.no_tables, nullptr, shared.sums} {}

    template <class F>
    __device__ static void with_type(std::uint32_t tag, F&& f) {
        with_gradient_type(tag, f);
    }
    __device__ void begin(std::uint32_t layer) {
        counters_ = reinterpret_cast<unsigned long long*>(arguments_.step.cells) + layer * Bins::cells;
        if constexpr (counts_in_block) {
            for (std::size_t i = threadIdx.x; i < Bins::cells; i += blockDim.x) {
                shared_.counts[i] = 0;
            }
        }
        shared_.sums.clear();
        __syncthreads();
    }
    template <class T, int Count>
    __device__ void take(T const (&raw)[Count]) {
        take_some(raw, all_of_tile<Count>);
    }
    template <class T, int Count>
    __device__ void take_some(T const (&raw)[Count], std::uint32_t valid) {
        float finite[Count];
        float magnitude[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            bool const counts = ((valid >> i) & 1U) != 0U;
            auto const x = __fmul_rn(widen_element(raw[i]), arguments_.factor);
            auto const bits = __float_as_uint(x) & 0x7fff'ffffU;
            bool const summed_too = counts && bits < 0x7f80'0000U;
            finite[i] = summed_too ? x : 0.0F;
            magnitude[i] = summed_too ? __uint_as_float(bits) : 0.0F;
            largest_ = max(largest_, summed_too ? bits + 1U : 0U);
            if (counts) {
                count_one(Bins::index(x));
            }
        }
        sums_.template deposit_all<0, 0>(finite);
        sums_.template deposit_all<0, 1>(magnitude);
        sums_.template deposit_all<0, 2>(finite, finite);
    }
    /// 32-bit counts must not wrap.
    __device__ void end_tile(std::uint32_t) {
        if constexpr (counts_in_block) {
            constexpr auto chosen = Tuning::select(compiled_arch);
            constexpr auto most_of_tile = tensor_tile_bytes(chosen) / sizeof(half_bits);
            if (++tiles_since_flush_ > chosen.samples_before_flush / most_of_tile) {
                tiles_since_flush_ = 0;
                __syncthreads();
                flush_counts();
                __syncthreads();
            }
        }
    }
    __device__ void end(std::uint32_t layer) {
        __syncthreads();
        flush_counts();
        scalar_record<reduced> mine{};
        mine.template of<values>() = sums_.template total<values>();
        mine.template of<magnitudes>() = sums_.template total<magnitudes>();
        mine.template of<squares>() = sums_.template total<squares>();
        mine.template of<largest>().deposit_key(largest_);
        reduction::run(shared_.reduction_storage, mine);
        auto* const stored = arguments_.step.sums + layer * cells::size;
        merge_stored(stored + cells::values, mine.template of<values>());
        merge_stored(stored + cells::magnitudes, mine.template of<magnitudes>());
        merge_stored(stored + cells::squares, mine.template of<squares>());
        merge_stored(stored + cells::largest, mine.template of<largest>());
    }

private:
    __device__ void count_one(std::size_t cell) {
        if constexpr (counts_in_block) {
            atomicAdd(shared_.counts + cell, 1U);
        } else {
            atomicAdd(counters_ + cell, 1ULL);
        }
    }
    __device__ void flush_counts() {
        if constexpr (counts_in_block) {
            for (std::size_t i = threadIdx.x; i < Bins::cells; i += blockDim.x) {
                if (shared_.counts[i] != 0) {
                    atomicAdd(counters_ + i, static_cast<unsigned long long>(shared_.counts[i]));
                    shared_.counts[i] = 0;
                }
            }
        }
    }

    arguments const& arguments_;
    shared_type& shared_;
    sums_type sums_;
    unsigned long long* counters_ = nullptr;
    std::uint64_t tiles_since_flush_ = 0;
    std::uint32_t largest_ = 0;
};

/// Squares of updates and of weights: `target` is twice the layer, one more for weights. NaN stays visible in the sums.
template <distribution D, class Tuning>
class square_task {
    using squares = field<0, 0, monitor_sums::squares, float>;
    using summed = type_list<squares>;
    using sums_type = thread_state<summed, Tuning>;
    using reduction = block_reduction<summed, threads_of<Tuning>>;
    using cells = stored_layer_sums<D>;

public:
    struct arguments {
        layer_tables step;
    };
    struct shared_type {
        table_record<type_list<>> no_tables; // empty
        typename sums_type::shared_type sums;
        typename reduction::storage reduction_storage;
    };

    __device__ square_task(arguments const& from_host, shared_type& shared)
        : arguments_{from_host}, shared_{shared}, sums_{shared.no_tables, nullptr, shared.sums} {}

    template <class F>
    __device__ static void with_type(std::uint32_t tag, F&& f) {
        with_gradient_type(tag, f);
    }
    __device__ void begin(std::uint32_t) {
        shared_.sums.clear();
        __syncthreads();
    }
    template <class T, int Count>
    __device__ void take(T const (&raw)[Count]) {
        take_some(raw, all_of_tile<Count>);
    }
    template <class T, int Count>
    __device__ void take_some(T const (&raw)[Count], std::uint32_t valid) {
        float x[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            x[i] = ((valid >> i) & 1U) != 0U ? widen_element(raw[i]) : 0.0F;
        }
        sums_.template deposit_all<0, 0>(x, x);
    }
    __device__ void end_tile(std::uint32_t) {}
    __device__ void end(std::uint32_t target) {
        __syncthreads();
        scalar_record<summed> mine{};
        mine.template of<squares>() = sums_.template total<squares>();
        reduction::run(shared_.reduction_storage, mine);
        merge_stored(arguments_.step.sums + target / 2 * cells::size +
                         (target % 2 == 0 ? cells::updates : cells::weights),
                     mine.template of<squares>());
    }

private:
    arguments const& arguments_;
    shared_type& shared_;
    sums_type sums_;
};

/// Merges the tables of a step into those of the epoch, if the step counts, and sets them to their identity, if they are
/// to be used again.
template <class Sums, class Cell>
__global__ void turn_step_kernel(layer_tables epoch, layer_tables step, std::uint64_t layers,
                                 std::uint64_t cells_of_layer, bool merges, bool clears) {
    auto const first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    auto const stride = std::uint64_t{gridDim.x} * blockDim.x;
    auto const turn = [&]<class Acc>(std::byte* into, std::byte* from, std::uint64_t n) {
        for (auto i = first; i < n; i += stride) {
            auto const offset = i * stored_bytes<Acc>();
            if (merges) {
                auto value = load<Acc>(into + offset);
                value.merge(load<Acc>(from + offset));
                store<Acc>(into + offset, value);
            }
            if (clears) {
                store<Acc>(from + offset, Acc{});
            }
        }
    };
    turn.template operator()<Sums>(epoch.sums, step.sums, layers);
    turn.template operator()<Cell>(epoch.cells, step.cells, layers * cells_of_layer);
}

} // namespace tally::cuda::detail
