// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// From labels and scores in device memory to the sums behind AUROC and average precision: a radix sort, a scan of the
// amounts of each class, and a kernel that takes the groups of equal scores.
#pragma once

#include <tally/core/weighting.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/memory.hpp>
#include <tally/cuda/ranking_groups.cuh>
#include <tally/cuda/ranking_memory.hpp>
#include <tally/ranking/detail/label_arithmetic.hpp>
#include <tally/ranking/ranked_labels.hpp>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace tally::cuda::detail {

using tally::detail::largest_weights;

/// What the kernels leave behind.
template <class Arithmetic>
struct label_result {
    largest_weights largest;
    tally::detail::by_label<typename Arithmetic::quantity> all;
    wide_sum won;
    wide_sum precise;
};

/// Amounts of single samples, as the scan reads them.
template <class Arithmetic>
struct prefix_input {
    using value_type = typename Arithmetic::prefix;
    using reference = value_type;
    using pointer = value_type const*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::random_access_iterator_tag;

    typename Arithmetic::payload_type const* payloads;
    largest_weights const* largest;

    TALLY_HD value_type operator[](difference_type i) const { return Arithmetic{*largest}.prefix_of(payloads[i]); }
    TALLY_HD value_type operator*() const { return (*this)[0]; }
    TALLY_HD prefix_input operator+(difference_type by) const { return {payloads + by, largest}; }
};
struct add_prefixes {
    template <class Prefix>
    TALLY_HD Prefix operator()(Prefix const& a, Prefix const& b) const {
        return a + b;
    }
};

template <class Arithmetic>
__global__ void __launch_bounds__(ranking_threads)
    largest_weight_kernel(typename Arithmetic::payload_type const* payloads, std::uint32_t n,
                          largest_weights* largest) {
    using word = unsigned long long;
    using reduce = cub::BlockReduce<word, ranking_threads>;
    __shared__ typename reduce::TempStorage storage;
    word negatives = 0;
    word positives = 0;
    for (auto i = std::uint64_t{blockIdx.x} * ranking_threads + threadIdx.x; i < n;
         i += std::uint64_t{gridDim.x} * ranking_threads) {
        auto const bits = static_cast<word>(Arithmetic::weight_bits(payloads[i]) + 1);
        bool const positive = Arithmetic::is_positive(payloads[i]);
        negatives = max(negatives, positive ? word{0} : bits);
        positives = max(positives, positive ? bits : word{0});
    }
    auto const largest_of = [](word a, word b) { return a > b ? a : b; };
    negatives = reduce(storage).Reduce(negatives, largest_of);
    __syncthreads();
    positives = reduce(storage).Reduce(positives, largest_of);
    if (threadIdx.x == 0) {
        atomicMax(reinterpret_cast<word*>(&largest->negatives), negatives);
        atomicMax(reinterpret_cast<word*>(&largest->positives), positives);
    }
}

/// Each group is taken by the thread at its last place. `result->all` is written by the first block.
template <class Arithmetic, class Key>
__global__ void __launch_bounds__(ranking_threads)
    label_terms_kernel(Key const* keys, typename Arithmetic::prefix const* sums, std::uint32_t n,
                       label_result<Arithmetic>* result) {
    __shared__ typename reduce_wide::TempStorage storage;
    Arithmetic const arithmetic{result->largest};
    auto const all = Arithmetic::amounts(sums[n - 1], n);
    tally::detail::label_terms mine;
    for (auto i = std::uint64_t{blockIdx.x} * ranking_threads + threadIdx.x; i < n;
         i += std::uint64_t{gridDim.x} * ranking_threads) {
        auto const place = static_cast<std::uint32_t>(i);
        if (place + 1 == n || keys[place] != keys[place + 1]) {
            auto const begin = begin_of_group(keys, place);
            auto const below = begin == 0 ? decltype(all){} : Arithmetic::amounts(sums[begin - 1], begin);
            mine = mine + arithmetic.terms(below, Arithmetic::amounts(sums[place], place + 1), all);
        }
    }
    add_of_block(result->won, mine.won, storage);
    add_of_block(result->precise, mine.precise, storage);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        result->all = all;
    }
}

/// Memory for rankings of up to `capacity` samples, allocated once.
template <class Key, class Weighting>
class label_sorter {
    using arithmetic = tally::detail::label_arithmetic<Weighting>;
    using payload_type = typename arithmetic::payload_type;
    using prefix = typename arithmetic::prefix;
    using result_type = label_result<arithmetic>;

public:
    label_sorter(std::size_t capacity, device_traits const& traits)
        : multiprocessors_{traits.multiprocessors}, pinned_{sizeof(result_type)} {
        std::size_t sort = 0;
        std::size_t scan = 0;
        check(sort_pairs(nullptr, sort, nullptr, nullptr, capacity, nullptr), "cub::DeviceRadixSort::SortPairs");
        check(scan_sums(nullptr, scan, capacity, nullptr), "cub::DeviceScan::InclusiveScan");
        temporary_bytes_ = std::max(sort, scan);
        ranking_memory plan;
        auto const keys = plan.take<Key>(capacity);
        auto const payloads = plan.take<payload_type>(capacity);
        auto const sums = plan.take<prefix>(capacity);
        auto const result = plan.take<result_type>(1);
        auto const temporary = plan.take<std::byte>(temporary_bytes_);
        memory_ = device_buffer(plan.bytes());
        keys_ = keys.in(memory_);
        payloads_ = payloads.in(memory_);
        sums_ = sums.in(memory_);
        result_ = result.in(memory_);
        temporary_ = temporary.in(memory_);
    }

    /// Leaves the samples as they are. 0 < n <= capacity. Waits for the result.
    label_summary<Weighting> run(cudaStream_t stream, Key const* keys, payload_type const* payloads,
                                 std::size_t n) const {
        auto const blocks = blocks_for(n, multiprocessors_);
        auto const size = static_cast<std::uint32_t>(n);
        check(cudaMemsetAsync(result_, 0, sizeof(result_type), stream), "cudaMemsetAsync", stream);
        if constexpr (tally::detail::is_weighted_v<Weighting>) {
            largest_weight_kernel<arithmetic>
                <<<blocks, ranking_threads, 0, stream>>>(payloads, size, &result_->largest);
            check(cudaGetLastError(), "launch of the largest-weight kernel", stream);
        }
        auto bytes = temporary_bytes_;
        check(sort_pairs(temporary_, bytes, keys, payloads, n, stream), "cub::DeviceRadixSort::SortPairs", stream);
        bytes = temporary_bytes_;
        check(scan_sums(temporary_, bytes, n, stream), "cub::DeviceScan::InclusiveScan", stream);
        label_terms_kernel<arithmetic><<<blocks, ranking_threads, 0, stream>>>(keys_, sums_, size, result_);
        check(cudaGetLastError(), "launch of the label kernel", stream);
        return read_result(stream);
    }

    [[nodiscard]] std::size_t device_bytes() const { return memory_.size(); }

private:
    cudaError_t sort_pairs(void* temporary, std::size_t& bytes, Key const* keys, payload_type const* payloads,
                           std::size_t n, cudaStream_t stream) const {
        return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, keys_, payloads, payloads_,
                                               static_cast<std::uint32_t>(n), 0, static_cast<int>(8 * sizeof(Key)),
                                               stream);
    }
    cudaError_t scan_sums(void* temporary, std::size_t& bytes, std::size_t n, cudaStream_t stream) const {
        prefix_input<arithmetic> const input{payloads_, result_ == nullptr ? nullptr : &result_->largest};
        return cub::DeviceScan::InclusiveScan(temporary, bytes, input, sums_, add_prefixes{},
                                              static_cast<std::uint32_t>(n), stream);
    }
    label_summary<Weighting> read_result(cudaStream_t stream) const {
        check(cudaMemcpyAsync(pinned_.data(), result_, sizeof(result_type), cudaMemcpyDeviceToHost, stream),
              "cudaMemcpyAsync", stream);
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", stream);
        result_type result;
        std::memcpy(static_cast<void*>(&result), pinned_.data(), sizeof(result_type));
        if constexpr (!tally::detail::is_weighted_v<Weighting>) {
            result.largest = {result.all.negatives != 0 ? 1U : 0U, result.all.positives != 0 ? 1U : 0U};
        }
        return {result.largest, result.all, {result.won.value(), result.precise.value()}};
    }

    int multiprocessors_;
    pinned_buffer pinned_;
    device_buffer memory_;
    std::size_t temporary_bytes_ = 0;
    Key* keys_ = nullptr;
    payload_type* payloads_ = nullptr;
    prefix* sums_ = nullptr;
    result_type* result_ = nullptr;
    std::byte* temporary_ = nullptr;
};

} // namespace tally::cuda::detail
