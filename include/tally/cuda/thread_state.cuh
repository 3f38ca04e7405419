// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What one thread accumulates of all counters: a partial accumulator for each field, in registers, and access to the
// tables, whose cells are counted in registers, in the block's shared memory or in place.
#pragma once

#include <tally/accumulator/cell_state.hpp>
#include <tally/accumulator/co_moments.hpp>
#include <tally/accumulator/count.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/core/contribution.hpp>
#include <tally/cuda/atomics.cuh>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/table_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally::cuda::detail {

/// A thread's part of accumulator F, to which X is contributed. Specialise it where a register form is cheaper than F. A
/// part with takes_tiles gets the contributions of a tile of samples at once: x[0..Count), those whose bit in `keep` is
/// set, which are at least one.
template <class F, class X>
struct thread_part {
    static constexpr bool takes_tiles = false;
    F part{};
    template <class... W>
    __device__ void deposit(X const& x, W const&... w) {
        part.deposit(x, w...);
    }
    template <int Count, class... W> // W: arrays of Count weights, or none
    __device__ void deposit_all(X const (&x)[Count], W const&... w) {
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            part.deposit(x[i], w[i]...);
        }
    }
    __device__ F total() const { return part; }
};

/// One bit for each sample of a tile.
template <int Count>
inline constexpr auto all_of_tile = static_cast<std::uint32_t>((std::uint64_t{1} << Count) - 1);

/// The first element of a tile whose bit is set.
template <int Count, class X>
__device__ X first_kept(X const (&x)[Count], std::uint32_t keep) {
    X first = x[0];
#pragma unroll
    for (int i = Count - 1; i > 0; --i) {
        if ((keep & ((1U << i) - 1U)) == 0U && ((keep >> i) & 1U) != 0U) {
            first = x[i];
        }
    }
    return first;
}

/// One division a tile instead of one a sample.
template <class X>
    requires std::is_arithmetic_v<X>
struct thread_part<moments, X> {
    static constexpr bool takes_tiles = true;
    moments part{};
    template <class... W>
    __device__ void deposit(X x, W const&... w) {
        part.deposit(x, w...);
    }
    template <int Count>
    __device__ void deposit_all(X const (&x)[Count]) {
        deposit_tile(x, all_of_tile<Count>);
    }
    template <int Count, class W>
    __device__ void deposit_all(X const (&x)[Count], W const (&w)[Count]) {
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            part.deposit(x[i], w[i]);
        }
    }
    template <int Count>
    __device__ void deposit_tile(X const (&x)[Count], std::uint32_t keep) {
        auto const origin = part.origin_for(part.weight() != 0.0 ? x[0] : first_kept(x, keep));
        double distances = 0.0;
        double squares = 0.0;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            if (((keep >> i) & 1U) != 0U) {
                auto const d = static_cast<double>(x[i]) - origin;
                distances += d;
                squares += d * d;
            }
        }
        part.deposit_sums(static_cast<std::uint64_t>(__popc(keep)), origin, distances, squares);
    }
    __device__ moments total() const { return part; }
};

template <class X, class Y>
struct thread_part<co_moments, value_pair<X, Y>> {
    static constexpr bool takes_tiles = true;
    co_moments part{};
    template <class... W>
    __device__ void deposit(value_pair<X, Y> const& pair, W const&... w) {
        part.deposit(pair, w...);
    }
    template <int Count>
    __device__ void deposit_all(value_pair<X, Y> const (&pairs)[Count]) {
        deposit_tile(pairs, all_of_tile<Count>);
    }
    template <int Count, class W>
    __device__ void deposit_all(value_pair<X, Y> const (&pairs)[Count], W const (&w)[Count]) {
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            part.deposit(pairs[i], w[i]);
        }
    }
    template <int Count>
    __device__ void deposit_tile(value_pair<X, Y> const (&pairs)[Count], std::uint32_t keep) {
        auto const origin = part.origin_for(part.weight() != 0.0 ? pairs[0] : first_kept(pairs, keep));
        struct {
            double x, y, xx, yy, xy;
        } sums{};
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            if (((keep >> i) & 1U) != 0U) {
                auto const dx = static_cast<double>(pairs[i].first) - origin.first;
                auto const dy = static_cast<double>(pairs[i].second) - origin.second;
                sums.x += dx;
                sums.y += dy;
                sums.xx += dx * dx;
                sums.yy += dy * dy;
                sums.xy += dx * dy;
            }
        }
        part.deposit_sums(static_cast<std::uint64_t>(__popc(keep)), origin, sums);
    }
    __device__ co_moments total() const { return part; }
};

/// Counting by ones takes 32 bits: a thread sees fewer than 2^32 samples of an update.
template <tally::detail::weights_in_count Weights>
struct thread_part<basic_count<Weights>, one_t> {
    static constexpr bool takes_tiles = false;
    std::uint32_t n = 0;
    template <class... W>
    __device__ void deposit(one_t, W const&...) {
        ++n;
    }
    template <int Count, class... W>
    __device__ void deposit_all(one_t const (&)[Count], W const&...) {
        n += Count;
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
    __device__ thread_state(table_record<typename table_fields<fields>::type> const& tables, std::byte* shared)
        : tables_{tables}, shared_{shared} {}

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
            part<State, Field>().deposit_all(x, w...);
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
                part<State, Field>().deposit_tile(collected.x, collected.keep);
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
                    merge_into_cell(shared_ + slot.shared_offset + offset * stored_bytes<cell_type>(), nullptr,
                                    contribution_as<cell_type>(x.value, w...));
                }
                return;
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
    std::byte* shared_;
};

} // namespace tally::cuda::detail
