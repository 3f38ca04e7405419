// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole tensors into the groups of a grouped metric: the task of the multi-tensor kernel behind
// cuda::tracker::update_tensors. All samples of a tensor belong to one group, so a block reduces its part of the tensor
// and merges once into the group's cell, where update(values(...), groups(...)) would do it sample by sample.
#pragma once

#include <tally/accumulator/cell_state.hpp>
#include <tally/core/fields.hpp>
#include <tally/core/metric.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/type_list.hpp>
#include <tally/core/weighting.hpp>
#include <tally/core/widen.hpp>
#include <tally/cuda/atomics.cuh>
#include <tally/cuda/evaluate.cuh>
#include <tally/cuda/finish.cuh>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/tensor_kernel.cuh>
#include <tally/cuda/tensor_launch.cuh>
#include <tally/cuda/thread_state.cuh>
#include <tally/layout/grouped.hpp>
#include <tally/update/input_set.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace tally::cuda {

/// A contiguous tensor in device memory, all of whose elements belong to one group. T: any element type of values(...).
template <class T>
struct grouped_tensor {
    using element_type = T;
    T const* data;
    std::size_t size;
    std::size_t group;
};

namespace detail {

/// Group number of tensors whose group no table has.
inline constexpr std::uint32_t no_group = 0xffff'ffffU;

template <class C>
struct grouped_traits {
    static constexpr bool is_grouped = false;
};
template <class M, class Extent>
struct grouped_traits<tally::detail::indexed_metric<M, Extent, group_index>> {
    static constexpr bool is_grouped = true;
    using inner = counters_of<M>;
};

template <class Roles>
inline constexpr bool takes_values_only = false;
template <class... Role>
inline constexpr bool takes_values_only<type_list<Role...>> = [] {
    return ([] {
        if constexpr (Role::kind == tally::detail::role_kind::element) {
            return std::is_same_v<typename tally::detail::source_of<Role>::type, source::values>;
        } else {
            return false;
        }
    }() && ...);
}();

/// The elements that a thread holds, as what observe asks for.
template <class T, int Count>
struct held_elements {
    T const (&elements)[Count];
    template <class Role>
    __device__ typename Role::value_type get(int i) const {
        return widen_to<typename Role::value_type>(elements[i]);
    }
};

/// C: the counters of a grouped metric. `target` is the group.
template <class C, class T, class Tuning>
class group_task {
    using inner = typename grouped_traits<C>::inner;
    using outer_fields = fields_of<type_list<C>>;
    using table_id = find_field<outer_fields, 1, 0>;
    using cell_type = typename table_id::type::cell_type;
    using inner_state = typename inner::state;
    using inner_fields = fields_of<type_list<inner>>;
    using samples_id = find_field<inner_fields, 0, 0>;
    using thread_type = thread_state<inner_fields, Tuning>;
    using reduction = block_reduction<inner_fields, threads_of<Tuning>>;

public:
    struct arguments {
        std::byte* cells;
        unsigned* locks;
        std::byte* samples; ///< the tracker's own count
        std::byte* outside; ///< of the table
    };
    struct shared_type {
        table_record<type_list<>> no_tables; // empty
        typename thread_type::shared_type sums;
        typename reduction::storage reduction_storage;
    };

    static arguments arguments_for(state_access<outer_fields> const& states) {
        auto const& slot = states.tables.template of<table_id>();
        return {slot.cells, slot.lock, states.resident->template of<find_field<outer_fields, 0, 0>>(),
                states.resident->template of<table_id>()};
    }

    __device__ group_task(arguments const& from_host, shared_type& shared)
        : arguments_{from_host}, shared_{shared}, thread_{shared.no_tables, nullptr, shared.sums} {}

    template <class F>
    __device__ static void with_type(std::uint32_t, F&& f) {
        f.template operator()<T>();
    }
    __device__ void begin(std::uint32_t) {
        shared_.sums.clear();
        __syncthreads();
    }
    template <int Count>
    __device__ void take(T const (&x)[Count]) {
        thread_.template bookkeep<0>(Count);
        evaluate<Count, false, type_list<inner>>(type_list<inner>{}, thread_, held_elements<T, Count>{x},
                                                 all_of_tile<Count>);
    }
    template <int Count>
    __device__ void take_some(T const (&x)[Count], std::uint32_t valid) {
        thread_.template bookkeep<0>(static_cast<std::uint32_t>(__popc(valid)));
        evaluate<Count, true, type_list<inner>>(type_list<inner>{}, thread_, held_elements<T, Count>{x}, valid);
    }
    __device__ void end_tile(std::uint32_t) {}
    __device__ void end(std::uint32_t group) {
        __syncthreads();
        end_group(inner_fields{}, group);
    }

private:
    template <class... Id>
    __device__ void end_group(type_list<Id...>, std::uint32_t group) {
        scalar_record<inner_fields> mine{};
        ((mine.template of<Id>() = thread_.template total<Id>()), ...);
        reduction::run(shared_.reduction_storage, mine);
        if (threadIdx.x != 0) {
            return;
        }
        auto const samples = mine.template of<samples_id>();
        merge_into_cell(arguments_.samples, nullptr, samples);
        if (group == no_group) {
            merge_into_cell(arguments_.outside, nullptr, occurrences{samples.value()});
            return;
        }
        inner_state state{};
        with_fields(state,
                    [&](auto&... field) { assign(mine, std::make_index_sequence<sizeof...(field)>{}, field...); });
        static_assert(sizeof(cell_type) == sizeof(inner_state));
        merge_into_cell(arguments_.cells + group * stored_bytes<cell_type>(),
                        arguments_.locks + (by_parts<cell_type> ? 0 : group), __builtin_bit_cast(cell_type, state));
    }
    template <std::size_t... Field, class... F>
    __device__ static void assign(scalar_record<inner_fields> const& from, std::index_sequence<Field...>, F&... to) {
        ((to = from.template of<find_field<inner_fields, 1, Field>>()), ...);
    }

    arguments const& arguments_;
    shared_type& shared_;
    thread_type thread_;
};

/// Says what can't be done. Returns whether the rest may be compiled.
template <class Counters>
consteval bool check_update_tensors() {
    using C = tally::detail::at_t<Counters, 0>;
    constexpr bool grouped_alone = Counters::size == 1 && grouped_traits<C>::is_grouped;
    static_assert(grouped_alone,
                  "tally: update_tensors is for a tracker of one grouped metric, such as grouped<mean<>>");
    if constexpr (grouped_alone) {
        using inner = typename grouped_traits<C>::inner;
        constexpr bool unweighted = !tally::detail::is_weighted_v<typename tally::detail::weighting_of<inner>::type>;
        constexpr bool values_only = takes_values_only<roles_of<inner>>;
        static_assert(unweighted, "tally: update_tensors takes no weights: call update(values, weights, groups)");
        static_assert(values_only,
                      "tally: update_tensors gives values only and this metric asks for more: call update");
        return unweighted && values_only;
    }
    return false;
}

/// The pass of a tracker's resident that takes tensors into groups.
template <class C, class Tuning, class Tensor, std::size_t Extent>
auto make_group_pass(std::span<Tensor, Extent> tensors, std::size_t groups) {
    using T = typename std::remove_const_t<Tensor>::element_type;
    static_assert(std::is_same_v<std::remove_const_t<Tensor>, grouped_tensor<T>>,
                  "tally: update_tensors takes a contiguous range of tally::cuda::grouped_tensor<T>");
    static_assert(sizeof(T) <= 16, "tally: elements of tensors have at most 16 bytes");
    using task = group_task<C, T, Tuning>;
    return make_tensor_pass<task, Tuning>(
        tensors.size(),
        [tensors, groups](std::size_t i) {
            auto const& each = tensors[i];
            return tensor_item{each.data, each.size, static_cast<std::uint32_t>(sizeof(T)),
                               each.group < groups ? static_cast<std::uint32_t>(each.group) : no_group, 0};
        },
        [](auto const& target) { return task::arguments_for(target.states); });
}

} // namespace detail
} // namespace tally::cuda
