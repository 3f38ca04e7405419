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

template <class Fields, class Inputs>
struct row_arguments {
    using inputs_type = Inputs;
    using fields_type = Fields;
    state_access<Fields> states;
    Inputs inputs;
    std::uint64_t rows;
    std::int32_t columns;
    int team;         ///< threads that share a row: 1, 32 or all of a block
    int rows_of_team; ///< consecutive rows that a team takes at once, at most its size
    bool aligned;     ///< rows may be loaded 16 bytes at a time
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
            return static_cast<value_type>(Roles::from_scores ? exp(of_row.features.log_softmax(score)) : score);
        } else if constexpr (tally::detail::from_matrix<Role, set>) {
            auto const& view = of_row.inputs.template view<typename tally::detail::source_of<Role>::type>();
            return widen_raw<value_type>(view, load_raw(view, of_row.row, c));
        } else {
            return of_row.template get<Role>(0);
        }
    }
};

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
    __shared__ std::aligned_storage_t<sizeof(accumulator), alignof(accumulator)> shared_rows[threads / warp_size];

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
                of_all = read_row<roles::row_needs, plain_squares, S>(
                    arguments.inputs.template view<typename set::row_source>(), row, arguments.columns, target,
                    arguments.aligned, members, reinterpret_cast<accumulator*>(shared_rows));
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
