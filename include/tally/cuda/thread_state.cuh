// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What one thread accumulates of all counters: a partial accumulator for each field, in registers, and access to the
// tables, whose cells are counted in registers, in the block's shared memory or in place.
#pragma once

#include <tally/accumulator/cell_state.hpp>
#include <tally/accumulator/count.hpp>
#include <tally/core/contribution.hpp>
#include <tally/cuda/atomics.cuh>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/table_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally::cuda::detail {

/// A thread's part of accumulator F, to which X is contributed. Specialise where a register form is cheaper than F.
template <class F, class X>
struct thread_part {
    F part{};
    template <class... W>
    __device__ void deposit(X const& x, W const&... w) {
        part.deposit(x, w...);
    }
    __device__ F total() const { return part; }
};

/// Counting by ones takes 32 bits: a thread sees fewer than 2^32 samples of an update.
template <tally::detail::weights_in_count Weights>
struct thread_part<basic_count<Weights>, one_t> {
    std::uint32_t n = 0;
    template <class... W>
    __device__ void deposit(one_t, W const&...) {
        ++n;
    }
    __device__ basic_count<Weights> total() const { return basic_count<Weights>{n}; }
};

/// A thread's part of a table: the contributions that fell outside, and the counters of a small table.
template <class Id, table_strategy Strategy>
struct thread_table {
    std::uint32_t outside = 0;
};
template <class Id>
struct thread_table<Id, table_strategy::registers> {
    std::uint32_t outside = 0;
    std::uint32_t cells[register_cells] = {};
};

template <class Id, class Tuning>
struct thread_slot {
    using kept = typename tally::detail::kept<typename Id::contribution>::type;
    std::conditional_t<Id::is_table, thread_table<Id, strategy_of<Id, Tuning>>, thread_part<scalar_of<Id>, kept>> part;
};

template <class Fields, class Tuning>
class thread_state;

template <class... Id, class Tuning>
class thread_state<type_list<Id...>, Tuning> : thread_slot<Id, Tuning>... {
    using fields = type_list<Id...>;

public:
    __device__ thread_state(table_record<typename table_fields<fields>::type> const& tables, std::byte* shared)
        : tables_{tables}, shared_{shared} {}

    /// Deposits what observe of counter `State - 1` returned, one contribution a field.
    template <std::size_t State, class... X, class... W>
    __device__ void deposit(contribution<X...> const& c, W const&... w) {
        deposit_fields<State>(c, std::index_sequence_for<X...>{}, w...);
    }
    /// Adds n to a count of the tracker's own bookkeeping.
    template <std::size_t Field>
    __device__ void bookkeep(std::uint32_t n) {
        part<0, Field>().n += n;
    }
    /// The accumulators of this thread.
    template <class Wanted>
    [[nodiscard]] __device__ scalar_of<Wanted> total() const {
        auto const& mine = static_cast<thread_slot<Wanted, Tuning> const&>(*this).part;
        if constexpr (Wanted::is_table) {
            return occurrences{mine.outside};
        } else {
            return mine.total();
        }
    }
    template <class Wanted>
    [[nodiscard]] __device__ auto const& registers() const {
        return static_cast<thread_slot<Wanted, Tuning> const&>(*this).part.cells;
    }

private:
    template <std::size_t State, std::size_t Field>
    using id_at = find_field<fields, State, Field>;

    template <std::size_t State, std::size_t Field>
    __device__ auto& part() {
        return static_cast<thread_slot<id_at<State, Field>, Tuning>&>(*this).part;
    }

    template <std::size_t State, class... X, std::size_t... Field, class... W>
    __device__ void deposit_fields(contribution<X...> const& c, std::index_sequence<Field...>, W const&... w) {
        (deposit_field<id_at<State, Field>>(tally::detail::slot<Field>(c), w...), ...);
    }

    template <class Wanted, class X, class... W>
    __device__ void deposit_field(X const& x, W const&... w) {
        if constexpr (std::is_same_v<X, nothing_t>) {
            return;
        } else if constexpr (tally::detail::kept<X>::conditional) {
            if (x.keep) {
                deposit_kept<Wanted>(x.value, w...);
            }
        } else {
            deposit_kept<Wanted>(x, w...);
        }
    }
    template <class Wanted, class X, class... W>
    __device__ void deposit_kept(X const& x, W const&... w) {
        auto& mine = static_cast<thread_slot<Wanted, Tuning>&>(*this).part;
        if constexpr (Wanted::is_table) {
            deposit_cell<Wanted>(mine, x, w...);
        } else {
            mine.deposit(x, w...);
        }
    }

    template <class Wanted, class Part, std::size_t Rank, class Y, class... W>
    __device__ void deposit_cell(Part& mine, cell<Rank, Y> const& x, W const&... w) {
        using table_type = typename Wanted::type;
        using cell_type = typename table_type::cell_type;
        auto const& slot = tables_.template of<Wanted>();
        auto const shape = shape_of<table_type>(slot.shape);
        auto const offset = shape.offset(x.index);
        if (offset >= shape.cells()) {
            ++mine.outside;
            return;
        }
        if constexpr (strategy_of<Wanted, Tuning> == table_strategy::registers) {
#pragma unroll
            for (std::size_t k = 0; k < register_cells; ++k) {
                mine.cells[k] += static_cast<std::uint32_t>(offset == k);
            }
        } else {
            if (slot.shared_offset >= 0) {
                if constexpr (counts_ones<Wanted>) {
                    atomicAdd(reinterpret_cast<unsigned*>(shared_ + slot.shared_offset) + offset, 1U);
                } else {
                    merge_into_cell(shared_ + slot.shared_offset + offset * bytes_of_cell<cell_type>(), nullptr,
                                    contribution_as<cell_type>(x.value, w...));
                }
                return;
            }
            auto* const target = slot.cells + offset * bytes_of_cell<cell_type>();
            if constexpr (counts_ones<Wanted>) {
                add_by_warp(reinterpret_cast<unsigned long long*>(target));
            } else {
                merge_into_cell(target, slot.lock + (by_parts<cell_type> ? 0 : offset),
                                contribution_as<cell_type>(x.value, w...));
            }
        }
    }

    /// Adds one to a counter; lanes that happen to be here with the same counter are added up first.
    __device__ static void add_by_warp(unsigned long long* counter) {
        auto const here = __activemask();
        auto const same = __match_any_sync(here, reinterpret_cast<unsigned long long>(counter));
        unsigned lane;
        asm("mov.u32 %0, %%laneid;" : "=r"(lane));
        if (static_cast<unsigned>(__ffs(static_cast<int>(same)) - 1) == lane) {
            atomicAdd(counter, static_cast<unsigned long long>(__popc(same)));
        }
    }

    template <class Acc, class Y, class... W>
    __device__ static Acc contribution_as(Y const& value, W const&... w) {
        Acc one_sample{};
        one_sample.deposit(value, w...);
        return one_sample;
    }

    table_record<typename table_fields<fields>::type> const& tables_;
    std::byte* shared_;
};

} // namespace tally::cuda::detail
