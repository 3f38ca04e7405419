// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernel that device benchmarks are held against: a hand-written sum in float, which is about the fastest read that
// there is.
#pragma once

#include "memory.cuh"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bench {

inline constexpr unsigned sum_threads = 256;

inline unsigned blocks_for_sum(std::size_t elements) {
    auto const wanted = (elements + 4095) / 4096;
    return static_cast<unsigned>(wanted == 0 ? 1 : wanted < 2048 ? wanted : 2048);
}

/// Adds the sum of `size` elements to *to. `from` is aligned to 16 bytes. Four loads of 16 bytes in flight, warp shuffles,
/// one atomic a block: what one writes by hand when only a float is needed.
template <class T>
__global__ void float_sum(T const* from, std::size_t size, float* to) {
    constexpr std::size_t width = 16 / sizeof(T);
    constexpr int in_flight = 4;
    auto const step = static_cast<std::size_t>(gridDim.x) * sum_threads;
    auto const first = static_cast<std::size_t>(blockIdx.x) * sum_threads + threadIdx.x;
    auto const* const packs = reinterpret_cast<uint4 const*>(from);
    auto const count = size / width;
    float sums[width] = {};
    auto const take = [&](uint4 const& pack) {
        T values[width];
        std::memcpy(values, &pack, sizeof pack);
#pragma unroll
        for (std::size_t k = 0; k < width; ++k) {
            sums[k] += static_cast<float>(values[k]);
        }
    };
    auto i = first;
    for (; i + (in_flight - 1) * step < count; i += in_flight * step) {
        uint4 held[in_flight];
#pragma unroll
        for (int u = 0; u < in_flight; ++u) {
            held[u] = packs[i + u * step];
        }
#pragma unroll
        for (int u = 0; u < in_flight; ++u) {
            take(held[u]);
        }
    }
    for (; i < count; i += step) {
        take(packs[i]);
    }
    float sum = 0.0F;
    for (auto const s : sums) {
        sum += s;
    }
    for (auto k = count * width + first; k < size; k += step) {
        sum += static_cast<float>(from[k]);
    }
    __shared__ float of_warps[sum_threads / 32];
    for (int offset = 16; offset != 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffU, sum, static_cast<unsigned>(offset));
    }
    if (threadIdx.x % 32 == 0) {
        of_warps[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < sum_threads / 32 ? of_warps[threadIdx.x] : 0.0F;
        for (int offset = 4; offset != 0; offset /= 2) {
            sum += __shfl_down_sync(0xffffffffU, sum, static_cast<unsigned>(offset));
        }
        if (threadIdx.x == 0) {
            atomicAdd(to, sum);
        }
    }
}

} // namespace bench
