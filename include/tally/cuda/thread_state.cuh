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
#include <tally/cuda/exact_moments_part.cuh>
#include <tally/cuda/exact_part.cuh>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/table_policy.hpp>
#include <tally/cuda/thread_part.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally::cuda::detail {

template <class Part>
concept shares_memory = requires { typename Part::shared_type; };

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

/// What the threads of a block share for a field.
template <class Id, class Tuning>
struct shared_slot {};
template <class Id, class Tuning>
    requires shares_memory<decltype(thread_slot<Id, Tuning>::part)>
struct shared_slot<Id, Tuning> {
    typename decltype(thread_slot<Id, Tuning>::part)::shared_type value;
};

/// What the threads of a block share for all fields, in shared memory.
template <class Fields, class Tuning>
struct shared_parts;
template <class... Id, class Tuning>
struct shared_parts<type_list<Id...>, Tuning> : shared_slot<Id, Tuning>... {
    static constexpr bool any = (shares_memory<decltype(thread_slot<Id, Tuning>::part)> || ...);

    /// All threads of the block.
    __device__ void clear() {
        auto const clear_slot = [](auto& slot) {
            if constexpr (requires { slot.value; }) {
                slot.value.clear();
            }
        };
        (clear_slot(static_cast<shared_slot<Id, Tuning>&>(*this)), ...);
    }
};

/// The contributions of a tile to one field, for parts that take tiles.
template <class X, int Count, bool Collects>
struct tile_of_field {
    X x[Count];
    std::uint32_t keep = 0;
};
template <class X, int Count>
struct tile_of_field<X, Count, false> {};

template <class Fields, class Tuning>
class thread_state;

template <class... Id, class Tuning>
class thread_state<type_list<Id...>, Tuning> : thread_slot<Id, Tuning>... {
    using fields = type_list<Id...>;

public:
    using shared_type = shared_parts<fields, Tuning>;

    __device__ thread_state(table_record<typename table_fields<fields>::type> const& tables, std::byte* shared_tables,
                            shared_type& shared)
        : tables_{tables}, shared_tables_{shared_tables}, shared_{shared} {}

    /// Deposits what observe of counter `State - 1` returned for sample i of a tile of Count. Fields that take tiles
    /// collect, until end_tile.
    template <std::size_t State, int Count, class... X, class Tile, class... W>
    __device__ void deposit_in_tile(contribution<X...> const& c, Tile& tile, int i, W const&... w) {
        deposit_tile_fields<State, Count>(c, std::index_sequence_for<X...>{}, tile, i, w...);
    }
    /// Deposits one contribution of each sample of a tile to one field.
    template <std::size_t State, std::size_t Field, class Y, int Count, class... W>
    __device__ void deposit_all(Y const (&x)[Count], W const&... w) {
        using id = id_at<State, Field>;
        if constexpr (id::is_table) {
#pragma unroll
            for (int i = 0; i < Count; ++i) {
                deposit_kept<id>(x[i], w[i]...);
            }
        } else {
            with_shared<id>([&](auto&... shared) { part<State, Field>().deposit_all(shared..., x, w...); });
        }
    }
    template <std::size_t State, class Tile, std::size_t... Field>
    __device__ void end_tile(Tile const& tile, std::index_sequence<Field...>) {
        (end_tile_of_field<State, Field>(tile.template of<Field>()), ...);
    }
    /// Whether a field of a state collects the contributions of a tile.
    template <std::size_t State, std::size_t Field, bool Weighted>
    static constexpr bool collects = [] {
        using id = find_field<type_list<Id...>, State, Field>;
        if constexpr (Weighted || id::is_table || std::is_same_v<typename id::contribution, nothing_t>) {
            return false;
        } else {
            return decltype(thread_slot<id, Tuning>::part)::takes_tiles;
        }
    }();
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
        } else if constexpr (shares_memory<std::remove_cvref_t<decltype(mine)>>) {
            return mine.total(static_cast<shared_slot<Wanted, Tuning> const&>(shared_).value);
        } else {
            return mine.total();
        }
    }
    /// Adds this thread's part of a field to what the block shares. Whole warps.
    template <class Wanted>
    __device__ void flush() {
        static_cast<thread_slot<Wanted, Tuning>&>(*this).part.flush(shared<Wanted>());
    }
    /// What the block shares for a field.
    template <class Wanted>
    [[nodiscard]] __device__ auto& shared() {
        return static_cast<shared_slot<Wanted, Tuning>&>(shared_).value;
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

    template <std::size_t State, int Count, class... X, std::size_t... Field, class Tile, class... W>
    __device__ void deposit_tile_fields(contribution<X...> const& c, std::index_sequence<Field...>, Tile& tile, int i,
                                        W const&... w) {
        auto const take = [&]<std::size_t Index, class Y>(Y const& x) {
            if constexpr (collects<State, Index, sizeof...(W) != 0>) {
                auto& collected = tile.template of<Index>();
                if constexpr (tally::detail::kept<Y>::conditional) {
                    collected.x[i] = x.value;
                    collected.keep |= static_cast<std::uint32_t>(x.keep) << i;
                } else {
                    collected.x[i] = x;
                    collected.keep |= 1U << i;
                }
            } else {
                deposit_field<id_at<State, Index>>(x, w...);
            }
        };
        (take.template operator()<Field>(tally::detail::slot<Field>(c)), ...);
    }
    template <std::size_t State, std::size_t Field, class Collected>
    __device__ void end_tile_of_field(Collected const& collected) {
        if constexpr (requires { collected.keep; }) {
            if (collected.keep != 0U) {
                with_shared<id_at<State, Field>>([&](auto&... shared) {
                    part<State, Field>().deposit_tile(shared..., collected.x, collected.keep);
                });
            }
        }
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
            with_shared<Wanted>([&](auto&... shared) { mine.deposit(shared..., x, w...); });
        }
    }

    /// Calls f with what the block shares for a field, if there is such a thing.
    template <class Wanted, class F>
    __device__ void with_shared(F&& f) {
        auto& slot = static_cast<shared_slot<Wanted, Tuning>&>(shared_);
        if constexpr (requires { slot.value; }) {
            f(slot.value);
        } else {
            f();
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
                    atomicAdd(reinterpret_cast<unsigned*>(shared_tables_ + slot.shared_offset) + offset, 1U);
                } else {
                    merge_into_cell(shared_tables_ + slot.shared_offset + offset * stored_bytes<cell_type>(), nullptr,
                                    contribution_as<cell_type>(x.value, w...));
                }
                return;
            }
            if constexpr (may_be_square<Wanted>) {
                if (slot.diagonal_offset >= 0 && x.index[0] == x.index[1]) {
                    atomicAdd(reinterpret_cast<unsigned*>(shared_tables_ + slot.diagonal_offset) + x.index[0], 1U);
                    return;
                }
            }
            auto* const target = slot.cells + offset * stored_bytes<cell_type>();
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
    std::byte* shared_tables_;
    shared_type& shared_;
};

} // namespace tally::cuda::detail
