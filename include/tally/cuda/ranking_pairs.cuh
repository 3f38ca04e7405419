// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// From pairs in device memory to the sums behind Spearman's rank correlation: sort by prediction, rank, sort the ranks
// by target, and take the groups of equal targets.
#pragma once

#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/memory.hpp>
#include <tally/cuda/ranking_groups.cuh>
#include <tally/cuda/ranking_memory.hpp>
#include <tally/ranking/detail/summarise.hpp>
#include <tally/ranking/ranked_pairs.hpp>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace tally::cuda::detail {

/// What the kernels leave behind.
struct pair_result {
    wide_sum products;
    wide_sum predictions;
    wide_sum targets;
};

/// Ranks, as the scan reads them: as wide as their sum.
struct rank_input {
    using value_type = std::int64_t;
    using reference = value_type;
    using pointer = value_type const*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::random_access_iterator_tag;

    std::int32_t const* ranks;

    TALLY_HD value_type operator[](difference_type i) const { return ranks[i]; }
    TALLY_HD value_type operator*() const { return ranks[0]; }
    TALLY_HD rank_input operator+(difference_type by) const { return {ranks + by}; }
};
struct add_ranks {
    TALLY_HD std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};

/// Ranks of the sorted keys, and the sum of their squares.
template <class Key>
__global__ void __launch_bounds__(ranking_threads)
    rank_kernel(Key const* keys, std::uint32_t n, std::int32_t* ranks, pair_result* result) {
    __shared__ typename reduce_wide::TempStorage storage;
    uint128 squares;
    for (auto i = std::uint64_t{blockIdx.x} * ranking_threads + threadIdx.x; i < n;
         i += std::uint64_t{gridDim.x} * ranking_threads) {
        auto const place = static_cast<std::uint32_t>(i);
        auto const rank = tally::detail::centred_rank(begin_of_group(keys, place), end_of_group(keys, place, n), n);
        ranks[place] = static_cast<std::int32_t>(rank); // below n < 2^31 in size
        squares += uint128{static_cast<std::uint64_t>(rank * rank), 0};
    }
    add_of_block(result->predictions, squares, storage);
}

/// Each group of equal targets is taken by the thread at its last place. `sums` are those of the predictions' ranks.
template <class Key>
__global__ void __launch_bounds__(ranking_threads)
    pair_terms_kernel(Key const* keys, std::int64_t const* sums, std::uint32_t n, pair_result* result) {
    __shared__ typename reduce_wide::TempStorage storage;
    uint128 products;
    uint128 squares;
    for (auto i = std::uint64_t{blockIdx.x} * ranking_threads + threadIdx.x; i < n;
         i += std::uint64_t{gridDim.x} * ranking_threads) {
        auto const place = static_cast<std::uint32_t>(i);
        if (place + 1 == n || keys[place] != keys[place + 1]) {
            auto const begin = begin_of_group(keys, place);
            auto const rank = tally::detail::centred_rank(begin, std::uint64_t{place} + 1, n);
            products += uint128::signed_product(rank, sums[place] - (begin == 0 ? 0 : sums[begin - 1]));
            squares += uint128::product(static_cast<std::uint64_t>(rank * rank), place + 1 - begin);
        }
    }
    add_of_block(result->products, products, storage);
    add_of_block(result->targets, squares, storage);
}

/// Memory for rankings of up to `capacity` samples, allocated once.
template <class Key>
class pair_sorter {
public:
    pair_sorter(std::size_t capacity, device_traits const& traits)
        : multiprocessors_{traits.multiprocessors}, pinned_{sizeof(pair_result)} {
        std::size_t by_key = 0;
        std::size_t by_rank = 0;
        std::size_t scan = 0;
        check(sort_pairs(nullptr, by_key, nullptr, nullptr, capacity, nullptr), "cub::DeviceRadixSort::SortPairs");
        check(sort_ranks(nullptr, by_rank, capacity, nullptr), "cub::DeviceRadixSort::SortPairs");
        check(scan_ranks(nullptr, scan, capacity, nullptr), "cub::DeviceScan::InclusiveScan");
        temporary_bytes_ = std::max({by_key, by_rank, scan});
        ranking_memory plan;
        auto const keys = plan.take<Key>(capacity);
        auto const targets = plan.take<Key>(capacity);
        auto const ranks = plan.take<std::int32_t>(capacity);
        auto const ranks_by_target = plan.take<std::int32_t>(capacity);
        auto const sums = plan.take<std::int64_t>(capacity);
        auto const result = plan.take<pair_result>(1);
        auto const temporary = plan.take<std::byte>(temporary_bytes_);
        memory_ = device_buffer(plan.bytes());
        keys_ = keys.in(memory_);
        targets_ = targets.in(memory_);
        ranks_ = ranks.in(memory_);
        ranks_by_target_ = ranks_by_target.in(memory_);
        sums_ = sums.in(memory_);
        result_ = result.in(memory_);
        temporary_ = temporary.in(memory_);
    }

    /// Leaves the samples as they are. 0 < n <= capacity. Waits for the result.
    pair_summary run(cudaStream_t stream, Key const* predictions, Key const* targets, std::size_t n) const {
        auto const blocks = blocks_for(n, multiprocessors_);
        auto const size = static_cast<std::uint32_t>(n);
        check(cudaMemsetAsync(result_, 0, sizeof(pair_result), stream), "cudaMemsetAsync", stream);
        auto bytes = temporary_bytes_;
        check(sort_pairs(temporary_, bytes, predictions, targets, n, stream), "cub::DeviceRadixSort::SortPairs",
              stream);
        rank_kernel<<<blocks, ranking_threads, 0, stream>>>(keys_, size, ranks_, result_);
        check(cudaGetLastError(), "launch of the rank kernel", stream);
        bytes = temporary_bytes_;
        check(sort_ranks(temporary_, bytes, n, stream), "cub::DeviceRadixSort::SortPairs", stream);
        bytes = temporary_bytes_;
        check(scan_ranks(temporary_, bytes, n, stream), "cub::DeviceScan::InclusiveScan", stream);
        pair_terms_kernel<<<blocks, ranking_threads, 0, stream>>>(keys_, sums_, size, result_);
        check(cudaGetLastError(), "launch of the pair kernel", stream);
        check(cudaMemcpyAsync(pinned_.data(), result_, sizeof(pair_result), cudaMemcpyDeviceToHost, stream),
              "cudaMemcpyAsync", stream);
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", stream);
        pair_result result;
        std::memcpy(static_cast<void*>(&result), pinned_.data(), sizeof(pair_result));
        return {result.products.value(), result.predictions.value(), result.targets.value()};
    }

    [[nodiscard]] std::size_t device_bytes() const { return memory_.size(); }

private:
    static constexpr int key_bits = static_cast<int>(8 * sizeof(Key));

    cudaError_t sort_pairs(void* temporary, std::size_t& bytes, Key const* predictions, Key const* targets,
                           std::size_t n, cudaStream_t stream) const {
        return cub::DeviceRadixSort::SortPairs(temporary, bytes, predictions, keys_, targets, targets_,
                                               static_cast<std::uint32_t>(n), 0, key_bits, stream);
    }
    /// The sorted predictions have become ranks; their memory takes the sorted targets.
    cudaError_t sort_ranks(void* temporary, std::size_t& bytes, std::size_t n, cudaStream_t stream) const {
        return cub::DeviceRadixSort::SortPairs(temporary, bytes, static_cast<Key const*>(targets_), keys_,
                                               static_cast<std::int32_t const*>(ranks_), ranks_by_target_,
                                               static_cast<std::uint32_t>(n), 0, key_bits, stream);
    }
    cudaError_t scan_ranks(void* temporary, std::size_t& bytes, std::size_t n, cudaStream_t stream) const {
        return cub::DeviceScan::InclusiveScan(temporary, bytes, rank_input{ranks_by_target_}, sums_, add_ranks{},
                                              static_cast<std::uint32_t>(n), stream);
    }

    int multiprocessors_;
    pinned_buffer pinned_;
    device_buffer memory_;
    std::size_t temporary_bytes_ = 0;
    Key* keys_ = nullptr;
    Key* targets_ = nullptr;
    std::int32_t* ranks_ = nullptr;
    std::int32_t* ranks_by_target_ = nullptr;
    std::int64_t* sums_ = nullptr;
    pair_result* result_ = nullptr;
    std::byte* temporary_ = nullptr;
};

} // namespace tally::cuda::detail
