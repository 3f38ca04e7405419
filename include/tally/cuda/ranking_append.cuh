// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The update of a ranking buffer: one kernel that appends the valid samples in the order in which they are given,
// whatever the scheduling of blocks, so that a full buffer holds the same samples in every run, and those of the host.
// Samples are read twice, to be counted and to be written; the second time from a cache unless the update is very
// large.
#pragma once

#include <tally/core/roles.hpp>
#include <tally/cuda/inputs.hpp>
#include <tally/cuda/load.cuh>
#include <tally/ranking/detail/ranking_inputs.hpp>
#include <tally/ranking/ranking_counts.hpp>

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include <cstddef>
#include <cstdint>

namespace tally::cuda::detail {

inline constexpr int append_threads = 256;

/// In device memory. What follows the counts is 0 between updates.
struct ranking_ledger {
    ranking_counts counts;
    std::uint64_t accepted; ///< valid samples of the running update
    unsigned tickets;       ///< blocks that have started
    unsigned done;          ///< blocks that have finished
};

/// What an update brings. Trivially copyable.
template <class Samples, class Pack>
struct append_arguments {
    Pack inputs;
    std::uint64_t size;
    std::uint64_t chunk; ///< consecutive samples of a block, a multiple of append_threads
    std::uint64_t capacity;
    ranking_ledger* ledger;
    std::uint64_t* valid_of_block; ///< number of valid samples + 1 once it is known; 0 between updates
    typename Samples::record::key_type* keys;
    typename Samples::record::payload_type* payloads;
};

/// What becomes of a sample.
enum class fate : std::uint8_t { valid, masked, weight_lost, dropped };

/// Samples of a block by what becomes of them: no memory holds an update with 2^32 samples for each block.
struct append_tally {
    std::uint32_t valid = 0;
    std::uint32_t masked = 0;
    std::uint32_t weights_lost = 0;
    std::uint32_t dropped = 0;

    __device__ void count(fate what) {
        valid += what == fate::valid ? 1U : 0U;
        masked += what == fate::masked ? 1U : 0U;
        weights_lost += what == fate::weight_lost ? 1U : 0U;
        dropped += what == fate::dropped ? 1U : 0U;
    }
};
struct append_tallies_add {
    __device__ append_tally operator()(append_tally const& a, append_tally const& b) const {
        return {a.valid + b.valid, a.masked + b.masked, a.weights_lost + b.weights_lost, a.dropped + b.dropped};
    }
};

/// Reads sample i into `each`, which is complete only if the sample is valid.
template <class Samples, class Inputs, class Pack>
__device__ fate read_sample(Pack const& inputs, std::uint64_t i, typename Samples::record& each) {
    using prediction_role = typename Inputs::prediction_role;
    using target_role = typename Inputs::target_role;
    if constexpr (Inputs::masked) {
        auto const& mask = inputs.template view<source::mask>();
        if (!is_set(mask, load_raw(mask, i))) {
            return fate::masked;
        }
    }
    auto const& predictions = inputs.template view<source::predictions>();
    auto const& targets = inputs.template view<source::targets>();
    prediction_role const prediction{
        widen_raw<typename prediction_role::value_type>(predictions, load_raw(predictions, i))};
    target_role const target{widen_raw<typename target_role::value_type>(targets, load_raw(targets, i))};
    each = Samples::observe(prediction, target);
    if constexpr (Inputs::weighted) {
        auto const& weights = inputs.template view<source::weights>();
        auto const raw = load_raw(weights, i);
        if (!is_finite(weights, raw)) {
            return fate::weight_lost;
        }
        each = Samples::weigh(each, widen_raw<typename Inputs::weight_value>(weights, raw));
    }
    return each.valid ? fate::valid : fate::dropped;
}

/// Blocks are numbered as they start, so that those before a block never wait for it. Each counts the valid samples of
/// its chunk, waits for the counts of the blocks before it, and then knows where its samples go.
template <class Samples, class Inputs, class Pack>
__global__ void __launch_bounds__(append_threads) append_kernel(append_arguments<Samples, Pack> const arguments) {
    using reduce_tallies = cub::BlockReduce<append_tally, append_threads>;
    using reduce_words = cub::BlockReduce<std::uint64_t, append_threads>;
    using scan = cub::BlockScan<unsigned, append_threads>;
    __shared__ union {
        typename reduce_tallies::TempStorage tallies;
        typename reduce_words::TempStorage words;
        typename scan::TempStorage scan;
    } storage;
    __shared__ unsigned block;
    __shared__ std::uint64_t shared_valid;
    __shared__ std::uint64_t shared_place;
    __shared__ bool last;

    auto& ledger = *arguments.ledger;
    auto const thread = threadIdx.x;
    if (thread == 0) {
        block = atomicAdd(&ledger.tickets, 1U);
    }
    __syncthreads();
    auto const first = block * arguments.chunk;
    auto const end = min(first + arguments.chunk, arguments.size);

    append_tally mine;
    for (auto i = first + thread; i < end; i += append_threads) {
        typename Samples::record each{};
        mine.count(read_sample<Samples, Inputs>(arguments.inputs, i, each));
    }
    auto const all = reduce_tallies(storage.tallies).Reduce(mine, append_tallies_add{});
    if (thread == 0) {
        shared_valid = all.valid;
        atomicExch(reinterpret_cast<unsigned long long*>(arguments.valid_of_block + block),
                   static_cast<unsigned long long>(all.valid) + 1);
        auto const add = [](std::uint64_t& to, std::uint64_t number) {
            if (number != 0) {
                atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(number));
            }
        };
        add(ledger.accepted, all.valid);
        add(ledger.counts.masked, all.masked);
        add(ledger.counts.weights_lost, all.weights_lost);
        add(ledger.counts.dropped, all.dropped);
    }

    std::uint64_t before = 0;
    for (unsigned other = thread; other < block; other += append_threads) {
        auto const volatile* const known = arguments.valid_of_block + other;
        std::uint64_t number = 0;
        do {
            number = *known;
        } while (number == 0);
        before += number - 1;
    }
    __syncthreads();
    before = reduce_words(storage.words).Sum(before);
    if (thread == 0) {
        // Nobody changes the number of samples before all blocks are done.
        shared_place = *const_cast<std::uint64_t const volatile*>(&ledger.counts.samples) + before;
    }
    __syncthreads();

    auto place = shared_place;
    if (shared_valid == end - first) {
        for (auto i = first + thread; i < end; i += append_threads) {
            auto const to = place + (i - first);
            if (to < arguments.capacity) {
                typename Samples::record each{};
                (void)read_sample<Samples, Inputs>(arguments.inputs, i, each);
                arguments.keys[to] = each.key;
                arguments.payloads[to] = each.payload;
            }
        }
    } else {
        for (auto round = first; round < end && place < arguments.capacity; round += append_threads) {
            auto const i = round + thread;
            typename Samples::record each{};
            bool const valid = i < end && read_sample<Samples, Inputs>(arguments.inputs, i, each) == fate::valid;
            unsigned offset = 0;
            unsigned total = 0;
            scan(storage.scan).ExclusiveSum(valid ? 1U : 0U, offset, total);
            if (valid && place + offset < arguments.capacity) {
                arguments.keys[place + offset] = each.key;
                arguments.payloads[place + offset] = each.payload;
            }
            place += total;
            __syncthreads();
        }
    }

    __threadfence();
    __syncthreads();
    if (thread == 0) {
        last = atomicAdd(&ledger.done, 1U) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) {
        return;
    }
    __threadfence();
    for (unsigned other = thread; other < gridDim.x; other += append_threads) {
        arguments.valid_of_block[other] = 0;
    }
    if (thread == 0) {
        auto const accepted = *const_cast<std::uint64_t const volatile*>(&ledger.accepted);
        auto const used = *const_cast<std::uint64_t const volatile*>(&ledger.counts.samples);
        auto const fits = min(accepted, arguments.capacity - used);
        ledger.counts.samples = used + fits;
        ledger.counts.overflow += accepted - fits;
        ledger.accepted = 0;
        ledger.tickets = 0;
        ledger.done = 0;
    }
}

} // namespace tally::cuda::detail
