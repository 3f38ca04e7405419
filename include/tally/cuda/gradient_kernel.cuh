// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the device does with gradients: tasks of the multi-tensor kernel that accumulate a step, layer by layer, into
// tables in the device's memory, and the kernel that takes a step into the epoch. A block counts its part of a layer in
// shared memory, and sums it in the windows of its threads, which end as integers in shared memory; then it adds all of
// them to the layer's words by atomics. Integers only, so nothing depends on an order.
#pragma once

#include <tally/core/digits.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/cuda/element_kernel.cuh>
#include <tally/cuda/exact_part.cuh>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/table_policy.hpp>
#include <tally/cuda/tensor_kernel.cuh>
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
    static constexpr unsigned parts = 6; ///< five sums and the largest magnitude

    __device__ static std::size_t offset_of(std::uint64_t part) {
        return part < 2 ? part * value_bytes : squares + (part - 2) * square_bytes;
    }
    /// Of a sum, without its three counts of what is not finite.
    __device__ static std::size_t digits_of(std::uint64_t part) {
        return (part < 2 ? value_bytes : square_bytes) / sizeof(std::uint64_t) - 3;
    }
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

/// Adds what a block has of a sum to the layer's words. All threads of the block.
template <class T>
__device__ void add_digits(std::byte* stored, shared_digits<T> const& shared) {
    auto* const words = reinterpret_cast<unsigned long long*>(stored);
    for (auto i = threadIdx.x; i < shared_digits<T>::words; i += blockDim.x) {
        if (shared.word[i] != 0) {
            atomicAdd(words + i, shared.word[i]);
        }
    }
}

/// Gradients of layers: `target` is the layer.
template <distribution D, class Bins, class Tuning>
class gradient_task {
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
        std::uint32_t largest;
        shared_digits<float> values;
        shared_digits<float> magnitudes;
        shared_digits<product<float>> squares;
    };

    __device__ gradient_task(arguments const& from_host, shared_type& shared)
        : arguments_{from_host}, shared_{shared} {}

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
        if (threadIdx.x == 0) {
            shared_.largest = 0;
        }
        shared_.values.clear();
        shared_.magnitudes.clear();
        shared_.squares.clear();
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
        double square[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            bool const counts = ((valid >> i) & 1U) != 0U;
            auto const x = __fmul_rn(widen_element(raw[i]), arguments_.factor);
            auto const bits = __float_as_uint(x) & 0x7fff'ffffU;
            bool const summed_too = counts && bits < 0x7f80'0000U;
            finite[i] = summed_too ? x : 0.0F;
            magnitude[i] = summed_too ? __uint_as_float(bits) : 0.0F;
            square[i] = static_cast<double>(finite[i]) * static_cast<double>(finite[i]); // exact
            largest_ = max(largest_, summed_too ? bits + 1U : 0U);
            if (counts) {
                count_one(Bins::index(x));
            }
        }
        values_.add(finite, shared_.values);
        magnitudes_.add(magnitude, shared_.magnitudes);
        squares_.add(square, shared_.squares);
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
        values_.flush_warp(shared_.values);
        magnitudes_.flush_warp(shared_.magnitudes);
        squares_.flush_warp(shared_.squares);
        for (int distance = 16; distance > 0; distance /= 2) {
            largest_ = max(largest_, __shfl_xor_sync(0xffff'ffffU, largest_, distance));
        }
        if (threadIdx.x % 32 == 0) {
            atomicMax(&shared_.largest, largest_);
        }
        __syncthreads();
        flush_counts();
        auto* const stored = arguments_.step.sums + layer * cells::size;
        add_digits(stored + cells::values, shared_.values);
        add_digits(stored + cells::magnitudes, shared_.magnitudes);
        add_digits(stored + cells::squares, shared_.squares);
        if (threadIdx.x == 0) {
            atomicMax(reinterpret_cast<unsigned long long*>(stored + cells::largest),
                      static_cast<unsigned long long>(shared_.largest));
        }
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
    exact_window<float, float> values_;
    exact_window<float, float> magnitudes_;
    exact_window<product<float>, double> squares_;
    unsigned long long* counters_ = nullptr;
    std::uint64_t tiles_since_flush_ = 0;
    std::uint32_t largest_ = 0;
};

/// Squares of updates and of weights: `target` is twice the layer, one more for weights. NaN stays visible in the sums.
template <distribution D, class Tuning>
class square_task {
    using cells = stored_layer_sums<D>;

public:
    struct arguments {
        layer_tables step;
    };
    struct shared_type {
        shared_digits<product<float>> squares;
    };

    __device__ square_task(arguments const& from_host, shared_type& shared) : arguments_{from_host}, shared_{shared} {}

    template <class F>
    __device__ static void with_type(std::uint32_t tag, F&& f) {
        with_gradient_type(tag, f);
    }
    __device__ void begin(std::uint32_t) {
        shared_.squares.clear();
        __syncthreads();
    }
    template <class T, int Count>
    __device__ void take(T const (&raw)[Count]) {
        take_some(raw, all_of_tile<Count>);
    }
    template <class T, int Count>
    __device__ void take_some(T const (&raw)[Count], std::uint32_t valid) {
        double square[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            auto const x = static_cast<double>(((valid >> i) & 1U) != 0U ? widen_element(raw[i]) : 0.0F);
            square[i] = x * x;
        }
        squares_.add(square, shared_.squares);
    }
    __device__ void end_tile(std::uint32_t) {}
    __device__ void end(std::uint32_t target) {
        squares_.flush_warp(shared_.squares);
        __syncthreads();
        add_digits(arguments_.step.sums + target / 2 * cells::size +
                       (target % 2 == 0 ? cells::updates : cells::weights),
                   shared_.squares);
    }

private:
    arguments const& arguments_;
    shared_type& shared_;
    exact_window<product<float>, double> squares_;
};

/// The words of an exact sum, of a step and of the epoch: digits, which leave with their carries taken, and counts.
__device__ inline void turn_sum(std::byte* epoch, std::byte* step, std::size_t digits, bool merges, bool clears) {
    auto* const into = reinterpret_cast<std::uint64_t*>(epoch);
    auto* const from = reinterpret_cast<std::uint64_t*>(step);
    for (std::size_t i = 0; i < digits + 3; ++i) {
        if (merges) {
            into[i] += from[i];
        }
        if (clears) {
            from[i] = 0;
        }
    }
    if (merges) {
        tally::detail::normalise_digits(into, digits);
    }
}

/// Merges the tables of a step into those of the epoch, if the step counts, and sets them to their identity, if they are
/// to be used again.
template <distribution D>
__global__ void turn_step_kernel(layer_tables epoch, layer_tables step, std::uint64_t layers,
                                 std::uint64_t cells_of_layer, bool merges, bool clears) {
    using sums = stored_layer_sums<D>;
    auto const first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    auto const stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (auto i = first; i < layers * sums::parts; i += stride) {
        auto const part = i % sums::parts;
        auto const offset = i / sums::parts * sums::size + sums::offset_of(part);
        if (part + 1 < sums::parts) {
            turn_sum(epoch.sums + offset, step.sums + offset, sums::digits_of(part), merges, clears);
        } else {
            auto& into = *reinterpret_cast<std::uint64_t*>(epoch.sums + offset);
            auto& from = *reinterpret_cast<std::uint64_t*>(step.sums + offset);
            into = merges && from > into ? from : into;
            from = clears ? 0 : from;
        }
    }
    auto* const into = reinterpret_cast<std::uint64_t*>(epoch.cells);
    auto* const from = reinterpret_cast<std::uint64_t*>(step.cells);
    for (auto i = first; i < layers * cells_of_layer; i += stride) {
        if (merges) {
            into[i] += from[i];
        }
        if (clears) {
            from[i] = 0;
        }
    }
}

} // namespace tally::cuda::detail
