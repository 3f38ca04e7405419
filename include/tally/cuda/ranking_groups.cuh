// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Pieces of the ranking kernels: where a group of equal keys begins and ends in sorted order, and sums of 128 bits over
// all threads of a grid. Integers: the same bits whatever the order.
#pragma once

#include <tally/config.hpp>
#include <tally/ranking/detail/uint128.hpp>

#include <cub/block/block_reduce.cuh>

#include <cstddef>
#include <cstdint>

namespace tally::cuda::detail {

using tally::detail::uint128;

inline constexpr int ranking_threads = 256;

/// First place of the key at place i. O(log of the distance).
template <class Key>
__device__ std::uint32_t begin_of_group(Key const* sorted, std::uint32_t i) {
    auto const key = sorted[i];
    auto high = i;
    std::uint32_t step = 1;
    while (high >= step && sorted[high - step] == key) {
        high -= step;
        step *= 2;
    }
    auto low = high >= step ? high - step + 1 : 0;
    while (low < high) {
        auto const middle = low + (high - low) / 2;
        if (sorted[middle] == key) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return high;
}

/// One past the last place of the key at place i of n. O(log of the distance).
template <class Key>
__device__ std::uint32_t end_of_group(Key const* sorted, std::uint32_t i, std::uint32_t n) {
    auto const key = sorted[i];
    auto low = i + 1; // places before it hold the key
    std::uint32_t step = 1;
    while (step <= n - low && sorted[low + step - 1] == key) {
        low += step;
        step *= 2;
    }
    auto high = step <= n - low ? low + step - 1 : n;
    while (low < high) {
        auto const middle = low + (high - low) / 2;
        if (sorted[middle] == key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/// A sum modulo 2^128 that threads add to: digits of 32 bits, with 32 bits of room for carries.
struct wide_sum {
    std::uint64_t digit[4];

    __device__ void add(uint128 x) {
        std::uint64_t const parts[4] = {x.low & 0xffff'ffffU, x.low >> 32, x.high & 0xffff'ffffU, x.high >> 32};
        for (int k = 0; k < 4; ++k) {
            atomicAdd(reinterpret_cast<unsigned long long*>(digit + k), static_cast<unsigned long long>(parts[k]));
        }
    }
    [[nodiscard]] uint128 value() const {
        uint128 sum;
        for (int k = 0; k < 4; ++k) {
            sum += uint128{digit[k], 0}.shifted(32 * k);
        }
        return sum;
    }
};

struct add_wide {
    TALLY_HD uint128 operator()(uint128 const& a, uint128 const& b) const { return a + b; }
};

/// Adds what the threads of the block hold. All of them must call it; storage may be used again after a barrier.
using reduce_wide = cub::BlockReduce<uint128, ranking_threads>;
__device__ inline void add_of_block(wide_sum& to, uint128 const& mine, typename reduce_wide::TempStorage& storage) {
    auto const sum = reduce_wide(storage).Reduce(mine, add_wide{});
    if (threadIdx.x == 0 && !sum.is_zero()) {
        to.add(sum);
    }
    __syncthreads();
}

/// Blocks of a kernel in which a thread takes one sample after the other.
inline unsigned blocks_for(std::uint64_t n, int multiprocessors) {
    auto const wanted = (n + ranking_threads - 1) / ranking_threads;
    auto const most = static_cast<std::uint64_t>(multiprocessors) * 8;
    return static_cast<unsigned>(wanted < most ? wanted : most);
}

} // namespace tally::cuda::detail
