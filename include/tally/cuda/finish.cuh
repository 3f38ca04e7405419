// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// From the threads' parts to the resident states, in the same launch: warps and then the block reduce each accumulator.
// Integers are merged into the states by atomics; of what depends on the order (sums of floats, moments) the last block
// merges the blocks' records in block order, so that nothing depends on which block came when.
#pragma once

#include <tally/cuda/shared_finish.cuh>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/thread_state.cuh>

#include <cub/warp/warp_reduce.cuh>

#include <cstddef>
#include <cstdint>

namespace tally::cuda::detail {

inline constexpr int warp_size = 32;

/// Where an update finds and leaves the states. Passed by value to the kernel.
template <class Fields>
struct state_access {
    resident_record<Fields>* resident;
    scalar_record<ordered_fields<Fields>>* partials; ///< one for each block
    unsigned* ticket;                                ///< 0 between launches
    table_record<typename table_fields<Fields>::type> tables;
    std::uint64_t samples_before_flush;
    std::int32_t private_bytes; ///< of the tables' copies in dynamic shared memory
};

struct merge_accumulators {
    template <class F>
    __device__ F operator()(F a, F const& b) const {
        a.merge(b);
        return a;
    }
};

/// Reduces each accumulator over the block, in the order of the threads. `mine` holds this thread's; thread 0 gets the
/// block's. Shared memory: a record for each warp.
template <class Fields, int Threads>
class block_reduction;

template <class... Id, int Threads>
class block_reduction<type_list<Id...>, Threads> {
    static constexpr int warps = Threads / warp_size;
    using record = scalar_record<type_list<Id...>>;

public:
    struct storage {
        alignas(16) std::byte records[warps][sizeof(record)];
    };

    __device__ static void run(storage& shared, record& mine) {
        int const warp = static_cast<int>(threadIdx.x) / warp_size;
        int const lane = static_cast<int>(threadIdx.x) % warp_size;
        (reduce_warp<Id, warp_size>(mine), ...);
        if (lane == 0) {
            *reinterpret_cast<record*>(shared.records[warp]) = mine;
        }
        __syncthreads();
        if (warp == 0) {
            if (lane < warps) {
                mine = *reinterpret_cast<record const*>(shared.records[lane]);
            }
            (reduce_warp<Id, warps>(mine), ...);
        }
        __syncthreads();
    }

private:
    template <class Wanted, int Width>
    __device__ static void reduce_warp(record& mine) {
        if constexpr (Width > 1) {
            using accumulator = scalar_of<Wanted>;
            using reduce = cub::WarpReduce<accumulator, Width>;
            typename reduce::TempStorage none;
            auto& value = mine.template of<Wanted>();
            value = reduce(none).Reduce(value, merge_accumulators{});
        }
    }
};

/// Sets the block's copies of the tables to their identity.
template <class... Id>
__device__ void clear_private_tables(type_list<Id...>, table_record<type_list<Id...>> const& tables,
                                     std::byte* shared) {
    auto const clear = [&]<class Wanted>() {
        using table_type = typename Wanted::type;
        using cell_type = typename table_type::cell_type;
        auto const& slot = tables.template of<Wanted>();
        if constexpr (may_be_square<Wanted>) {
            for (std::size_t i = threadIdx.x; slot.diagonal_offset >= 0 && i < slot.shape.size[0]; i += blockDim.x) {
                reinterpret_cast<unsigned*>(shared + slot.diagonal_offset)[i] = 0U;
            }
        }
        if (slot.shared_offset < 0) {
            return;
        }
        auto const cells = shape_of<table_type>(slot.shape).cells();
        for (std::size_t i = threadIdx.x; i < cells; i += blockDim.x) {
            if constexpr (counts_ones<Wanted>) {
                reinterpret_cast<unsigned*>(shared + slot.shared_offset)[i] = 0U;
            } else if constexpr (by_parts<cell_type>) {
                store<cell_type>(shared + slot.shared_offset + i * stored_bytes<cell_type>(), cell_type{});
            }
        }
    };
    (clear.template operator()<Id>(), ...);
}

/// Adds the block's copies to the tables and sets them back.
template <class... Id>
__device__ void flush_private_tables(type_list<Id...>, table_record<type_list<Id...>> const& tables,
                                     std::byte* shared) {
    auto const flush = [&]<class Wanted>() {
        using table_type = typename Wanted::type;
        using cell_type = typename table_type::cell_type;
        auto const& slot = tables.template of<Wanted>();
        auto const add_count = [](unsigned& count, std::byte* target) {
            if (count != 0U) {
                atomicAdd(reinterpret_cast<unsigned long long*>(target), static_cast<unsigned long long>(count));
                count = 0U;
            }
        };
        if constexpr (may_be_square<Wanted>) {
            auto const side = slot.shape.size[0];
            for (std::size_t i = threadIdx.x; slot.diagonal_offset >= 0 && i < side; i += blockDim.x) {
                add_count(reinterpret_cast<unsigned*>(shared + slot.diagonal_offset)[i],
                          slot.cells + i * (side + 1) * stored_bytes<cell_type>());
            }
        }
        if (slot.shared_offset < 0) {
            return;
        }
        auto const cells = shape_of<table_type>(slot.shape).cells();
        for (std::size_t i = threadIdx.x; i < cells; i += blockDim.x) {
            auto* const target = slot.cells + i * stored_bytes<cell_type>();
            if constexpr (counts_ones<Wanted>) {
                add_count(reinterpret_cast<unsigned*>(shared + slot.shared_offset)[i], target);
            } else if constexpr (by_parts<cell_type>) {
                auto* const copy = shared + slot.shared_offset + i * stored_bytes<cell_type>();
                merge_into_cell(target, nullptr, load<cell_type>(copy));
                store<cell_type>(copy, cell_type{});
            }
        }
    };
    (flush.template operator()<Id>(), ...);
}

/// Adds the counters that threads kept in registers to the block's copies.
template <class Tuning, class... Id, class Thread>
__device__ void flush_registers(type_list<Id...>, table_record<type_list<Id...>> const& tables, Thread const& thread,
                                std::byte* shared) {
    auto const flush = [&]<class Wanted>() {
        if constexpr (strategy_of<Wanted, Tuning> == table_strategy::registers) {
            auto* const copy = reinterpret_cast<unsigned*>(shared + tables.template of<Wanted>().shared_offset);
            constexpr auto cells = constant_shape<typename Wanted::type::extents_type>::make().cells();
#pragma unroll
            for (std::size_t k = 0; k < cells; ++k) {
                using reduce = cub::WarpReduce<unsigned>;
                typename reduce::TempStorage none;
                auto const sum = reduce(none).Sum(thread.template registers<Wanted>()[k]);
                if (threadIdx.x % warp_size == 0 && sum != 0U) {
                    atomicAdd(copy + k, sum);
                }
            }
        }
    };
    (flush.template operator()<Id>(), ...);
}

/// Merges the blocks' accumulators of the fields whose order shows: the last block to get here does it for all.
template <int Threads, class... Ordered, class Fields, class Record, class Storage>
__device__ void finish_in_order(type_list<Ordered...>, state_access<Fields> const& states, Record const& of_block,
                                Storage& storage) {
    using ordered = type_list<Ordered...>;
    using record = scalar_record<ordered>;
    __shared__ bool is_last;
    record mine{};
    ((mine.template of<Ordered>() = of_block.template of<Ordered>()), ...);
    auto const blocks = gridDim.x;
    if (blocks > 1) {
        if (threadIdx.x == 0) {
            states.partials[blockIdx.x] = mine;
            __threadfence();
            is_last = atomicInc(states.ticket, blocks - 1) == blocks - 1; // the last one sets it back to 0
        }
        __syncthreads();
        if (!is_last) {
            return;
        }
        __threadfence();
        // Each thread merges a run of consecutive records.
        auto const share = (blocks + Threads - 1) / Threads;
        auto const begin = min(threadIdx.x * share, blocks);
        auto const end = min(begin + share, blocks);
        mine = record{};
        for (auto b = begin; b < end; ++b) {
            auto const& other = states.partials[b];
            (mine.template of<Ordered>().merge(other.template of<Ordered>()), ...);
        }
        block_reduction<ordered, Threads>::run(storage, mine);
    }
    if (threadIdx.x == 0) {
        auto const merge = [&]<class Wanted>() {
            using accumulator = scalar_of<Wanted>;
            auto* const stored = states.resident->template of<Wanted>();
            auto value = load<accumulator>(stored);
            value.merge(mine.template of<Wanted>());
            store<accumulator>(stored, value);
        };
        (merge.template operator()<Ordered>(), ...);
    }
}

/// Reduces the fields that threads hold as accumulators and merges them into the states.
template <int Threads, class... Id, class Fields, class Thread>
__device__ void finish_reduced_fields(type_list<Id...>, state_access<Fields> const& states, Thread const& thread) {
    using fields = type_list<Id...>;
    using reduction = block_reduction<fields, Threads>;
    __shared__ union {
        typename reduction::storage all;
        typename block_reduction<ordered_fields<fields>, Threads>::storage ordered;
    } storage;
    scalar_record<fields> mine{};
    ((mine.template of<Id>() = thread.template total<Id>()), ...);
    reduction::run(storage.all, mine);
    if (threadIdx.x == 0) {
        auto const merge = [&]<class Wanted>() {
            if constexpr (in_any_order<Wanted>) {
                merge_into_cell(states.resident->template of<Wanted>(), nullptr, mine.template of<Wanted>());
            }
        };
        (merge.template operator()<Id>(), ...);
    }
    if constexpr (ordered_fields<fields>::size != 0) {
        finish_in_order<Threads>(ordered_fields<fields>{}, states, mine, storage.ordered);
    }
}

/// Ends an update. All threads of all blocks call it.
template <int Threads, class Tuning, class... Id, class Thread>
__device__ void finish(type_list<Id...>, state_access<type_list<Id...>> const& states, Thread& thread,
                       std::byte* shared_tables) {
    using fields = type_list<Id...>;
    using tables = typename table_fields<fields>::type;
    if constexpr (Thread::shared_type::any) {
        __syncthreads();
    }
    if constexpr (tables::size != 0) {
        flush_registers<Tuning>(tables{}, states.tables, thread, shared_tables);
        __syncthreads();
        flush_private_tables(tables{}, states.tables, shared_tables);
    }
    finish_shared_fields(typename fields_by_finish<fields, Tuning, true>::type{}, thread, states.resident);
    finish_reduced_fields<Threads>(typename fields_by_finish<fields, Tuning, false>::type{}, states, thread);
}

} // namespace tally::cuda::detail
