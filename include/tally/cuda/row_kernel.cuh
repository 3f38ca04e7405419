// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The row kernel: samples are rows of matrices, and in the same launch the elements of matrices for metrics that take
// those. A team of threads reads each row; each thread then evaluates the counters of a row of its own.
#pragma once

#include <tally/cuda/element_kernel.cuh>
#include <tally/cuda/evaluate.cuh>
#include <tally/cuda/finish.cuh>
#include <tally/cuda/inputs.hpp>
#include <tally/cuda/load.cuh>
#include <tally/cuda/row_features.cuh>
#include <tally/cuda/thread_state.cuh>
#include <tally/update/role_plan.hpp>
#include <tally/update/row_values.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally::cuda::detail {

/// For rows that several blocks share: what each found, and how many are done, 0 between launches.
struct row_workspace {
    static constexpr std::size_t part_bytes = 64; ///< at least a row_accumulator
    static constexpr std::uint64_t parts = 4096;
    std::byte* found;
    unsigned* done;
};

template <class Fields, class Inputs>
struct row_arguments {
    using inputs_type = Inputs;
    using fields_type = Fields;
    state_access<Fields> states;
    Inputs inputs;
    std::uint64_t rows;
    std::int32_t columns;
    int team;          ///< threads that share a row: 1, 32 or all of a block
    int rows_of_team;  ///< consecutive rows that a team takes at once, at most its size
    bool aligned;      ///< rows may be loaded 16 bytes at a time
    std::int32_t part; ///< columns that a block reads before it joins what its warps found
    int blocks_of_row; ///< more than 1: each reads one part, the last one evaluates the row
    row_workspace workspace;
    std::uint64_t rounds_before_flush;
};

/// Roles of one row: elements of vectors, row features, folds over pairs of elements.
template <class Roles, class S, class Inputs>
struct row_sample {
    using inputs_type = Inputs;
    using set = typename Inputs::set;
    inputs_type const& inputs;
    std::size_t row;
    std::int32_t columns;
    tally::detail::row_values<S> features;

    template <class Role>
    __device__ typename Role::value_type get(int) const {
        using value_type = typename Role::value_type;
        if constexpr (tally::detail::is_element<Role, set>) {
            auto const& view = inputs.template view<typename tally::detail::source_of<Role>::type>();
            return widen_raw<value_type>(view, load_raw(view, row));
        } else if constexpr (Role::kind == tally::detail::role_kind::pairs) {
            auto const& predictions = inputs.template view<source::predictions>();
            auto const& targets = inputs.template view<source::targets>();
            value_type fold{};
            for (std::int32_t c = 0; c < columns; ++c) {
                auto const column = static_cast<std::size_t>(c);
                fold.take(
                    widen_raw<typename value_type::prediction_type>(predictions, load_raw(predictions, row, column)),
                    widen_raw<class_index>(targets, load_raw(targets, row, column)));
            }
            return fold;
        } else {
            return tally::detail::role_of_row<Roles::from_scores, Role>(features);
        }
    }

    /// Whether the row takes part; counts it if it is this thread's own.
    template <class Thread>
    __device__ bool select(Thread& thread, bool own) const {
        if constexpr (inputs_type::template has<source::mask>) {
            auto const& mask = inputs.template view<source::mask>();
            if (!is_set(mask, load_raw(mask, row))) {
                thread.template bookkeep<1>(own ? 1U : 0U);
                return false;
            }
        }
        if constexpr (inputs_type::template has<source::weights> && !set::template is_matrix<source::weights>) {
            auto const& weights = inputs.template view<source::weights>();
            if (!is_finite(weights, load_raw(weights, row))) {
                thread.template bookkeep<2>(own ? 1U : 0U);
                return false;
            }
        }
        thread.template bookkeep<0>(own ? 1U : 0U);
        return true;
    }
};

/// Roles of one element of a matrix.
template <class Roles, class RowSample>
struct cell_sample {
    RowSample const& of_row;
    std::int32_t column;

    template <class Role>
    __device__ typename Role::value_type get(int) const {
        using value_type = typename Role::value_type;
        using set = typename RowSample::set;
        auto const c = static_cast<std::size_t>(column);
        if constexpr (std::is_same_v<Role, column_index>) {
            return column;
        } else if constexpr (tally::detail::needs_class_probability<Role>) {
            auto const& view = of_row.inputs.template view<typename set::row_source>();
            using feature = decltype(of_row.features.max_score);
            auto const score = widen_raw<feature>(view, load_raw(view, of_row.row, c));
            return static_cast<value_type>(Roles::from_scores ? math::exp(of_row.features.log_softmax(score)) : score);
        } else if constexpr (tally::detail::from_matrix<Role, set>) {
            auto const& view = of_row.inputs.template view<typename tally::detail::source_of<Role>::type>();
            return widen_raw<value_type>(view, load_raw(view, of_row.row, c));
        } else {
            return of_row.template get<Role>(0);
        }
    }
};

/// Few and long rows: each block reads parts of rows; the last one of a row joins its parts in order and evaluates it.
template <class Counters, class Roles, class Sample, class Accumulator, class S, class Arguments, class Thread>
__device__ void share_rows(Arguments const& arguments, Thread& thread, team members, row_scratch<Accumulator> scratch) {
    using set = typename Arguments::inputs_type::set;
    static_assert(sizeof(Accumulator) <= row_workspace::part_bytes);
    __shared__ bool is_last;
    auto const& view = arguments.inputs.template view<typename set::row_source>();
    auto const parts = static_cast<std::uint64_t>(arguments.blocks_of_row);
    auto* const found = reinterpret_cast<Accumulator*>(arguments.workspace.found);
    for (std::uint64_t task = blockIdx.x; task < arguments.rows * parts; task += gridDim.x) {
        auto const row = static_cast<std::size_t>(task / parts);
        std::int32_t target = -1;
        S target_score = static_cast<S>(__builtin_nan(""));
        if constexpr (Roles::any_target_needed) {
            auto const& targets = arguments.inputs.template view<source::targets>();
            target = widen_raw<class_index>(targets, load_once(members, [&] { return load_raw(targets, row); })).value;
            target_score = load_target_score<S>(view, row, arguments.columns, target, members);
        }
        auto const begin = static_cast<std::int32_t>(task % parts) * arguments.part;
        auto const end = arguments.columns - begin > arguments.part ? begin + arguments.part : arguments.columns;
        auto const mine = read_part(view, row, begin, end, target, target_score, arguments.aligned, members, scratch);
        if (threadIdx.x == 0) {
            found[task] = mine;
            __threadfence();
            auto const last = static_cast<unsigned>(parts - 1);
            is_last = atomicInc(arguments.workspace.done + row, last) == last;
        }
        __syncthreads();
        if (is_last && threadIdx.x == 0) {
            __threadfence();
            auto whole = found[row * parts];
            for (std::uint64_t p = 1; p < parts; ++p) {
                whole.join_next(found[row * parts + p]);
            }
            Sample const of_row{arguments.inputs, row, arguments.columns, whole.values(arguments.columns, target)};
            if (of_row.select(thread, true)) {
                evaluate<1, false, Counters>(typename Roles::row_counters{}, thread, of_row, 1U);
            }
        }
        __syncthreads();
    }
}

/// S: float or double, in which row features are computed.
template <class Counters, class Tuning, class S, class Arguments>
__global__ void __launch_bounds__(threads_of<Tuning>, 1) row_kernel(__grid_constant__ Arguments const arguments) {
    using inputs_type = typename Arguments::inputs_type;
    using set = typename inputs_type::set;
    using fields = typename Arguments::fields_type;
    using tables = typename table_fields<fields>::type;
    using roles = tally::detail::role_plan<Counters, set>;
    using sample = row_sample<roles, S, inputs_type>;
    constexpr int threads = threads_of<Tuning>;
    constexpr bool plain_squares = !roles::from_scores && []<class... R>(type_list<R...>) {
        return (tally::detail::is_squared_probabilities<R> || ...);
    }(typename roles::all_roles{});
    using accumulator = row_accumulator<roles::row_needs, plain_squares, S>;
    extern __shared__ __align__(16) std::byte shared_tables[];
    using part = typename row_scratch<accumulator>::part;
    __shared__ std::aligned_storage_t<sizeof(accumulator), alignof(accumulator)> shared_rows[threads / warp_size];
    __shared__ std::aligned_storage_t<sizeof(part), alignof(part)> shared_parts_of_row[tally::detail::group_parts];
    row_scratch<accumulator> const scratch{reinterpret_cast<accumulator*>(shared_rows),
                                           reinterpret_cast<part*>(shared_parts_of_row)};

    auto const& states = arguments.states;
    __shared__ shared_parts<fields, Tuning> shared_sums;
    thread_state<fields, Tuning> thread{states.tables, shared_tables, shared_sums};
    if constexpr (tables::size != 0 || shared_parts<fields, Tuning>::any) {
        clear_private_tables(tables{}, states.tables, shared_tables);
        shared_sums.clear();
        __syncthreads();
    }

    team const members{static_cast<int>(threadIdx.x) % arguments.team, arguments.team};
    auto const teams_of_block = static_cast<std::uint64_t>(threads / arguments.team);
    auto const team_of_block = threadIdx.x / static_cast<unsigned>(arguments.team);
    auto const rows_of_team = static_cast<std::uint64_t>(arguments.rows_of_team);
    auto const rows_of_block = teams_of_block * rows_of_team;
    if constexpr (roles::uses_rows && roles::cell_counters::size == 0) {
        if (arguments.blocks_of_row > 1) {
            share_rows<Counters, roles, sample, accumulator, S>(arguments, thread, members, scratch);
            finish<threads, Tuning>(fields{}, states, thread, shared_tables);
            return;
        }
    }
    [[maybe_unused]] std::uint64_t rounds_since = 0;
    for (std::uint64_t first = blockIdx.x * rows_of_block; first < arguments.rows; first += gridDim.x * rows_of_block) {
        auto const begin = first + team_of_block * rows_of_team;
        [[maybe_unused]] accumulator mine;
        [[maybe_unused]] std::int32_t my_target = -1;
        for (std::uint64_t r = 0; r < rows_of_team && begin + r < arguments.rows; ++r) {
            auto const row = static_cast<std::size_t>(begin + r);
            [[maybe_unused]] accumulator of_all;
            [[maybe_unused]] std::int32_t target = -1;
            if constexpr (roles::uses_rows) {
                if constexpr (roles::any_target_needed) {
                    auto const& targets = arguments.inputs.template view<source::targets>();
                    auto const raw = load_once(members, [&] { return load_raw(targets, row); });
                    target = widen_raw<class_index>(targets, raw).value;
                }
                auto const& view = arguments.inputs.template view<typename set::row_source>();
                S target_score = static_cast<S>(__builtin_nan(""));
                if constexpr (tally::detail::needs_of<roles::row_needs>::target) {
                    target_score = load_target_score<S>(view, row, arguments.columns, target, members);
                }
                of_all = read_row(view, row, arguments.columns, arguments.part, target, target_score, arguments.aligned,
                                  members, scratch);
                if (static_cast<std::uint64_t>(members.rank) == r) {
                    mine = of_all;
                    my_target = target;
                }
            }
            if constexpr (roles::cell_counters::size != 0) {
                sample const of_row{arguments.inputs, row, arguments.columns, of_all.values(arguments.columns, target)};
                if (of_row.select(thread, false)) {
                    for (auto c = members.rank; c < arguments.columns; c += members.size) {
                        if constexpr (set::template is_matrix<source::weights>) {
                            auto const& weights = arguments.inputs.template view<source::weights>();
                            if (!is_finite(weights, load_raw(weights, row, static_cast<std::size_t>(c)))) {
                                thread.template bookkeep<2>(1U);
                                continue;
                            }
                        }
                        cell_sample<roles, sample> const cell{of_row, c};
                        evaluate<1, false, Counters>(typename roles::cell_counters{}, thread, cell, 1U);
                    }
                }
            }
        }
        auto const own = begin + static_cast<std::uint64_t>(members.rank);
        if (static_cast<std::uint64_t>(members.rank) < rows_of_team && own < arguments.rows) {
            sample const of_row{arguments.inputs, static_cast<std::size_t>(own), arguments.columns,
                                mine.values(arguments.columns, my_target)};
            if (of_row.select(thread, true)) {
                evaluate<1, false, Counters>(typename roles::row_counters{}, thread, of_row, 1U);
            }
        }
        if constexpr (tables::size != 0) {
            if (++rounds_since == arguments.rounds_before_flush) { // 32-bit counts must not wrap
                rounds_since = 0;
                __syncthreads();
                flush_private_tables(tables{}, states.tables, shared_tables);
                __syncthreads();
            }
        }
    }
    finish<threads, Tuning>(fields{}, states, thread, shared_tables);
}

} // namespace tally::cuda::detail
