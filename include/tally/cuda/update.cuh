// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// One update on a device: what is known on the host (which kernel, how many blocks, how chunks are aligned) and its one
// launch.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/element_kernel.cuh>
#include <tally/cuda/error.hpp>
#include <tally/cuda/inputs.hpp>
#include <tally/cuda/row_kernel.cuh>
#include <tally/cuda/tuning.hpp>
#include <tally/update/input_set.hpp>
#include <tally/update/role_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally::cuda::detail {

/// What a kernel was compiled for, and how many of its blocks fit on the device at once.
struct launch_traits {
    tuning chosen{};
    std::uint64_t most_blocks = 0;
};

/// The traits of the kernels that a tracker has launched, asked of the runtime once each.
class launch_cache {
public:
    launch_cache() { entries_.reserve(16); }

    template <class Tuning>
    launch_traits const& of(void const* kernel, device_traits const& device, std::size_t dynamic_shared) {
        for (auto const& entry : entries_) {
            if (entry.first == kernel) {
                return entry.second;
            }
        }
        entries_.emplace_back(kernel, ask<Tuning>(kernel, device, dynamic_shared));
        return entries_.back().second;
    }

private:
    template <class Tuning>
    static launch_traits ask(void const* kernel, device_traits const& device, std::size_t dynamic_shared) {
        cudaFuncAttributes attributes{};
        check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
        launch_traits traits;
        traits.chosen = Tuning::select(attributes.ptxVersion);
        if (dynamic_shared != 0) {
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(dynamic_shared)),
                  "cudaFuncSetAttribute");
        }
        int blocks = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, traits.chosen.threads, dynamic_shared),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        blocks = std::clamp(blocks, 1, traits.chosen.blocks_per_multiprocessor);
        traits.most_blocks = static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(device.multiprocessors);
        return traits;
    }

    std::vector<std::pair<void const*, launch_traits>> entries_;
};

/// What the kernels of one tracker need besides the inputs.
template <class Fields>
struct launch_target {
    device_traits const& device;
    launch_cache& cache;
    state_access<Fields> states;
    std::uint64_t partials; ///< records that there is room for
    row_workspace rows;
};

/// Whether a matrix lies in memory like a vector.
template <class View>
bool can_be_flattened(View const& view) {
    if constexpr (View::rank != 2 || tally::detail::is_dynamic_v<View>) {
        return false;
    } else {
        return view.column_stride == 1 &&
               (view.row_stride == static_cast<std::ptrdiff_t>(view.columns) || view.rows <= 1);
    }
}

/// Whether every row starts at a multiple of 16 bytes and is contiguous.
template <class View>
bool rows_aligned(View const& view) {
    if constexpr (tally::detail::is_dynamic_v<View>) {
        return false;
    } else {
        constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(typename View::element_type));
        return view.column_stride == 1 && reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 &&
               (view.rows <= 1 || view.row_stride * bytes % 16 == 0);
    }
}

struct chunk_alignment {
    unsigned lead = 0;    ///< elements by which the first chunk begins before the first sample
    unsigned aligned = 0; ///< one bit an input
};

/// Chooses where chunks begin so that the most bytes are loaded from aligned chunks.
template <class... View>
chunk_alignment align_chunks(int chunk, View const&... views) {
    chunk_alignment best;
    std::size_t best_bytes = 0;
    for (unsigned lead = 0; lead < static_cast<unsigned>(chunk); ++lead) {
        chunk_alignment candidate{lead, 0};
        std::size_t bytes = 0;
        unsigned input = 0;
        auto const look = [&]<class V>(V const& view) {
            if constexpr (element_bytes<V> != 0) {
                auto const whole = element_bytes<V> * static_cast<std::size_t>(chunk);
                auto const alignment = whole < 16 ? whole : std::size_t{16};
                auto const begin = reinterpret_cast<std::uintptr_t>(view.data) - lead * element_bytes<V>;
                if (view.stride == 1 && begin % alignment == 0) {
                    candidate.aligned |= 1U << input;
                    bytes += element_bytes<V>;
                }
            }
            ++input;
        };
        (look(views), ...);
        if (bytes > best_bytes || lead == 0) {
            best = candidate;
            best_bytes = bytes;
        }
    }
    return best;
}

template <class M, class Tuning, class Counters, class... Given>
class updater;

template <class M, class Tuning, class... C, class... Given>
class updater<M, Tuning, type_list<C...>, Given...> {
    using counters = type_list<C...>;
    using inputs_type = tally::detail::input_set<Given...>;
    using roles = tally::detail::role_plan<counters, inputs_type>;
    using fields = fields_of<counters>;

    static constexpr bool element_wise = !roles::uses_rows && !inputs_type::any_matrix;
    static constexpr bool all_matrices = ((Given::view_type::rank == 2) && ...);
    static constexpr bool has_cell_roles = []<class... R>(type_list<R...>) {
        return ((R::kind != tally::detail::role_kind::element) || ...);
    }(typename roles::all_roles{});
    /// Every input is a matrix and nobody asks for rows or columns: where they are contiguous, they are vectors.
    static constexpr bool may_be_flattened =
        !roles::uses_rows && all_matrices && !has_cell_roles && roles::row_counters::size == 0;

public:
    explicit updater(inputs_type const& inputs, Given const&... each) : inputs_{inputs}, each_{each...} {
        if constexpr (roles::complete) {
            roles::check(inputs_);
            samples_ = inputs_.samples();
            columns_ = inputs_.columns();
        }
    }

    [[nodiscard]] std::size_t samples() const { return samples_; }

    /// Launches one kernel, or none for zero samples.
    void launch(launch_target<fields> const& target, cudaStream_t stream) const {
        if constexpr (roles::complete) {
            if (samples_ == 0) {
                return;
            }
            if constexpr (element_wise) {
                launch_elements<false>(target, stream, samples_, 0, std::get<Given>(each_)...);
            } else {
                if constexpr (may_be_flattened) {
                    if ((can_be_flattened(std::get<Given>(each_).view) && ...)) {
                        launch_elements<true>(target, stream, samples_ * columns_, samples_,
                                              flatten(std::get<Given>(each_))...);
                        return;
                    }
                }
                launch_rows(target, stream);
            }
        }
    }

private:
    template <class Source, class T>
    static given<Source, vector_view<T>> flatten(given<Source, matrix_view<T>> const& input) {
        return {{input.view.data, input.view.rows * input.view.columns, 1}};
    }
    template <class Source, class View>
    static given<Source, View> flatten(given<Source, View> const& input) {
        return input;
    }

    template <class Kernel, class Arguments>
    static void start(Kernel* kernel, Arguments const& arguments, launch_target<fields> const& target,
                      launch_traits const& traits, std::uint64_t wanted, cudaStream_t stream) {
        auto const most = std::min(traits.most_blocks, target.partials);
        auto const blocks = std::clamp<std::uint64_t>(wanted, 1, most);
        kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(traits.chosen.threads),
                 static_cast<std::size_t>(target.states.private_bytes), stream>>>(arguments);
        check(cudaGetLastError(), "launch of an update kernel", stream);
    }

    template <class Kernel>
    static launch_traits const& traits_of(Kernel* kernel, launch_target<fields> const& target) {
        return target.cache.template of<Tuning>(reinterpret_cast<void const*>(kernel), target.device,
                                                static_cast<std::size_t>(target.states.private_bytes));
    }

    template <class Pack, std::size_t... Index, class... Input>
    static void assign(Pack& pack, std::index_sequence<Index...>, Input const&... input) {
        ((static_cast<view_slot<Index, typename Input::view_type>&>(pack).view = input.view), ...);
    }

    template <bool Flattened, class... Input>
    void launch_elements(launch_target<fields> const& target, cudaStream_t stream, std::uint64_t samples,
                         std::uint64_t counted, Input const&... input) const {
        using arguments_type = element_arguments<fields, input_pack<Input...>>;
        auto* const kernel = &element_kernel<counters, Tuning, Flattened, arguments_type>;
        auto const& traits = traits_of(kernel, target);
        arguments_type arguments{target.states, {}, samples, counted, 0, 0};
        auto const shape = shape_of_tile(traits.chosen, arguments.inputs);
        assign(arguments.inputs, std::index_sequence_for<Input...>{}, input...);
        auto const alignment = align_chunks(shape.chunk, input.view...);
        arguments.lead = alignment.lead;
        arguments.aligned = alignment.aligned;
        auto const tile = static_cast<std::uint64_t>(traits.chosen.threads) * static_cast<std::uint64_t>(shape.items());
        start(kernel, arguments, target, traits, (samples + arguments.lead + tile - 1) / tile, stream);
    }

    void launch_rows(launch_target<fields> const& target, cudaStream_t stream) const {
        if constexpr (roles::uses_rows) {
            auto const& view = inputs_.template view<typename inputs_type::row_source>();
            using view_type = std::remove_cvref_t<decltype(view)>;
            if constexpr (!tally::detail::is_dynamic_v<view_type>) {
                launch_rows_in<tally::detail::feature_type<typename view_type::element_type>>(target, stream);
            } else if (tally::detail::with_element_type(view.type, []<class E>() {
                           return std::is_same_v<tally::detail::feature_type<E>, float>;
                       })) {
                launch_rows_in<float>(target, stream);
            } else {
                launch_rows_in<double>(target, stream);
            }
        } else {
            launch_rows_in<float>(target, stream);
        }
    }

    template <class S>
    void launch_rows_in(launch_target<fields> const& target, cudaStream_t stream) const {
        if (columns_ > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
            throw shape_error("matrices of more than 2^31 - 1 columns are not supported on a device");
        }
        using arguments_type = row_arguments<fields, input_pack<Given...>>;
        auto* const kernel = &row_kernel<counters, Tuning, S, arguments_type>;
        auto const& traits = traits_of(kernel, target);
        arguments_type arguments{};
        arguments.states = target.states;
        assign(arguments.inputs, std::index_sequence_for<Given...>{}, std::get<Given>(each_)...);
        arguments.rows = samples_;
        arguments.columns = static_cast<std::int32_t>(columns_);
        auto const threads = traits.chosen.threads;
        constexpr bool needs_exps = tally::detail::needs_of<roles::row_needs>::exps;
        auto const by_thread = needs_exps ? std::min(traits.chosen.row_columns_by_thread, thread_columns)
                                          : traits.chosen.row_columns_by_thread;
        arguments.team = arguments.columns <= by_thread                           ? 1
                         : arguments.columns <= traits.chosen.row_columns_by_warp ? warp_size
                                                                                  : threads;
        auto const teams_of_block = static_cast<std::uint64_t>(threads / arguments.team);
        auto const most_blocks = std::min(traits.most_blocks, target.partials);
        arguments.rows_of_team = static_cast<int>(std::clamp<std::uint64_t>(
            samples_ / (most_blocks * teams_of_block), 1, static_cast<std::uint64_t>(arguments.team)));
        auto const rows_of_block = teams_of_block * static_cast<std::uint64_t>(arguments.rows_of_team);
        // Sums of exponentials must not depend on the tuning.
        arguments.part = needs_exps                  ? tally::detail::group_columns
                         : arguments.team == threads ? traits.chosen.row_columns_by_block
                                                     : std::numeric_limits<std::int32_t>::max();
        arguments.blocks_of_row = 1;
        arguments.workspace = target.rows;
        auto wanted = (samples_ + rows_of_block - 1) / rows_of_block;
        // Fewer rows than blocks: several blocks share a row, if it has parts for them.
        auto const parts = static_cast<std::uint64_t>(arguments.columns / arguments.part) +
                           (arguments.columns % arguments.part != 0 ? 1 : 0);
        if (roles::uses_rows && roles::cell_counters::size == 0 && parts > 1 && samples_ < most_blocks &&
            samples_ * parts <= row_workspace::parts) {
            arguments.blocks_of_row = static_cast<int>(parts);
            wanted = samples_ * parts;
        }
        if constexpr (roles::uses_rows) {
            arguments.aligned = rows_aligned(inputs_.template view<typename inputs_type::row_source>());
        }
        auto const samples_of_round = rows_of_block * std::max<std::uint64_t>(columns_, 1);
        arguments.rounds_before_flush = target.states.samples_before_flush / samples_of_round + 1;
        start(kernel, arguments, target, traits, wanted, stream);
    }

    inputs_type inputs_;
    std::tuple<Given...> each_;
    std::size_t samples_ = 0;
    std::size_t columns_ = 0;
};

} // namespace tally::cuda::detail
