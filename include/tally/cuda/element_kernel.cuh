// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The element kernel: samples are the elements of vectors. Tiles are taken in grid strides; a thread loads its chunks of
// all inputs, 16 bytes at a time where they are aligned, and evaluates all counters on them. One launch and one read of
// the inputs, whatever the number of metrics.
#pragma once

#include <tally/cuda/evaluate.cuh>
#include <tally/cuda/finish.cuh>
#include <tally/cuda/inputs.hpp>
#include <tally/cuda/load.cuh>
#include <tally/cuda/thread_state.cuh>
#include <tally/update/input_set.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally::cuda::detail {

/// Argument of the element kernel. Chunks are counted from `lead` elements before the first one, so that the chunks of
/// as many inputs as possible are aligned.
template <class Fields, class Inputs>
struct element_arguments {
    using inputs_type = Inputs;
    using fields_type = Fields;
    state_access<Fields> states;
    Inputs inputs;
    std::uint64_t samples;
    std::uint64_t counted; ///< samples to be counted as seen, if they are not the elements: rows of flattened matrices
    unsigned lead;
    unsigned aligned; ///< one bit an input: its chunks are aligned
};

template <class View, int Count>
struct raw_elements {
    raw_t<View> values[Count];
};

/// The samples that a thread holds.
template <int Count, class Inputs, class Indices>
struct element_samples;
template <int Count, class... Given, std::size_t... Index>
struct element_samples<Count, input_pack<Given...>, std::index_sequence<Index...>> {
    using inputs_type = input_pack<Given...>;
    template <std::size_t I>
    struct raw_slot
        : raw_elements<std::remove_cvref_t<decltype(std::declval<inputs_type const&>().template at<I>())>, Count> {};
    struct raw_slots : raw_slot<Index>... {};

    inputs_type const& inputs;
    raw_slots raw;

    template <std::size_t I>
    __device__ auto& elements() {
        return static_cast<raw_slot<I>&>(raw).values;
    }
    template <std::size_t I>
    __device__ auto const& elements() const {
        return static_cast<raw_slot<I> const&>(raw).values;
    }
    template <class Role>
    __device__ typename Role::value_type get(int i) const {
        constexpr auto index = inputs_type::template index<typename tally::detail::source_of<Role>::type>;
        return widen_raw<typename Role::value_type>(inputs.template at<index>(), elements<index>()[i]);
    }

    /// Loads `Chunk` elements from element `first` on into place `to`; those outside [0, samples) are left as they are.
    template <int Chunk>
    __device__ void load(std::int64_t first, std::uint64_t samples, unsigned aligned, int to) {
        bool const whole = first >= 0 && static_cast<std::uint64_t>(first) + Chunk <= samples;
        (load_input<Index, Chunk>(first, samples, whole, whole && ((aligned >> Index) & 1U) != 0U, to), ...);
    }
    /// Loads all chunks of a tile that lies inside, `first_of(u)` being the first element of chunk u.
    template <int Chunk, class First>
    __device__ void load_whole(First const& first_of, unsigned aligned) {
        (load_chunks<Index, Chunk>(first_of, ((aligned >> Index) & 1U) != 0U), ...);
    }

private:
    template <std::size_t I, int Chunk, class First>
    __device__ void load_chunks(First const& first_of, bool aligned) {
        auto const& view = inputs.template at<I>();
        using view_type = std::remove_cvref_t<decltype(view)>;
        if constexpr (element_bytes<view_type> != 0) {
            if (aligned) {
#pragma unroll
                for (int u = 0; u < Count / Chunk; ++u) {
                    load_aligned<Chunk>(view.data + first_of(u), elements<I>() + u * Chunk);
                }
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            elements<I>()[i] = load_raw(view, static_cast<std::size_t>(first_of(i / Chunk) + i % Chunk));
        }
    }
    template <std::size_t I, int Chunk>
    __device__ void load_input(std::int64_t first, std::uint64_t samples, bool whole, bool aligned, int to) {
        auto const& view = inputs.template at<I>();
        using view_type = std::remove_cvref_t<decltype(view)>;
        auto* const values = elements<I>() + to;
        if constexpr (element_bytes<view_type> != 0) {
            if (aligned) {
                load_aligned<Chunk>(view.data + first, values);
                return;
            }
        }
#pragma unroll
        for (int c = 0; c < Chunk; ++c) {
            auto const i = first + c;
            if (whole || (i >= 0 && static_cast<std::uint64_t>(i) < samples)) {
                values[c] = load_raw(view, static_cast<std::size_t>(i));
            }
        }
    }
};

/// Which of `Count` samples take part: those whose bit in `valid` is set, that are not masked, and whose weight is
/// finite. Counts all of them.
template <int Count, bool CountSamples, class Inputs, class Thread, class Samples>
__device__ std::uint32_t select_samples(Thread& thread, Samples const& samples, std::uint32_t valid) {
    auto keep = valid;
    if constexpr (Inputs::template has<source::mask>) {
        constexpr auto index = Inputs::template index<source::mask>;
        std::uint32_t unmasked = 0;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            unmasked |= static_cast<std::uint32_t>(
                            is_set(samples.inputs.template at<index>(), samples.template elements<index>()[i]))
                        << i;
        }
        thread.template bookkeep<1>(static_cast<std::uint32_t>(__popc(keep & ~unmasked)));
        keep &= unmasked;
    }
    if constexpr (Inputs::template has<source::weights>) {
        constexpr auto index = Inputs::template index<source::weights>;
        std::uint32_t finite = 0;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            finite |= static_cast<std::uint32_t>(
                          is_finite(samples.inputs.template at<index>(), samples.template elements<index>()[i]))
                      << i;
        }
        thread.template bookkeep<2>(static_cast<std::uint32_t>(__popc(keep & ~finite)));
        keep &= finite;
    }
    if constexpr (CountSamples) {
        thread.template bookkeep<0>(static_cast<std::uint32_t>(__popc(keep)));
    }
    return keep;
}

template <class Tuning>
inline constexpr int threads_of = Tuning::select(compiled_arch).threads;
template <class Tuning, class Inputs>
inline constexpr tile_shape tile_of = shape_of_tile(Tuning::select(compiled_arch), Inputs{});

/// Flattened: the elements are those of matrices, whose rows are what is counted as samples.
template <class Counters, class Tuning, bool Flattened, class Arguments>
__global__ void __launch_bounds__(threads_of<Tuning>, 1) element_kernel(__grid_constant__ Arguments const arguments) {
    using inputs_type = typename Arguments::inputs_type;
    using fields = typename Arguments::fields_type;
    using indices = std::make_index_sequence<inputs_type::size>;
    constexpr tile_shape shape{tile_of<Tuning, inputs_type>.chunk, tile_of<Tuning, inputs_type>.chunks};
    constexpr int threads = threads_of<Tuning>;
    constexpr bool selects = inputs_type::template has<source::mask> || inputs_type::template has<source::weights>;
    extern __shared__ __align__(16) std::byte shared_tables[];

    auto const& states = arguments.states;
    __shared__ shared_parts<fields, Tuning> shared_sums;
    thread_state<fields, Tuning> thread{states.tables, shared_tables, shared_sums};
    using tables = typename table_fields<fields>::type;
    if constexpr (tables::size != 0 || shared_parts<fields, Tuning>::any) {
        clear_private_tables(tables{}, states.tables, shared_tables);
        shared_sums.clear();
        __syncthreads();
    }

    auto const samples = arguments.samples;
    auto const chunks = (samples + arguments.lead + shape.chunk - 1) / shape.chunk;
    constexpr std::uint64_t tile_chunks = static_cast<std::uint64_t>(threads) * shape.chunks;
    [[maybe_unused]] auto const flush_every =
        states.samples_before_flush / (tile_chunks * shape.chunk) + 1; // tiles of a block
    [[maybe_unused]] std::uint64_t tiles_since = 0;
    for (std::uint64_t tile = blockIdx.x * tile_chunks; tile < chunks; tile += gridDim.x * tile_chunks) {
        bool const whole =
            (tile != 0 || arguments.lead == 0) && (tile + tile_chunks) * shape.chunk <= samples + arguments.lead;
        auto const first_of = [&](int u) {
            return static_cast<std::int64_t>((tile + static_cast<std::uint64_t>(u) * threads + threadIdx.x) *
                                             shape.chunk) -
                   arguments.lead;
        };
        if (whole) {
            element_samples<shape.items(), inputs_type, indices> held{arguments.inputs, {}};
            held.template load_whole<shape.chunk>(first_of, arguments.aligned);
            auto const keep =
                select_samples<shape.items(), !Flattened, inputs_type>(thread, held, all_of_tile<shape.items()>);
            evaluate<shape.items(), selects, Counters>(Counters{}, thread, held, keep);
        } else {
#pragma unroll 1
            for (int u = 0; u < shape.chunks; ++u) {
                auto const first = first_of(u);
                element_samples<shape.chunk, inputs_type, indices> held{arguments.inputs, {}};
                held.template load<shape.chunk>(first, samples, arguments.aligned, 0);
                std::uint32_t valid = 0;
#pragma unroll
                for (int c = 0; c < shape.chunk; ++c) {
                    auto const i = first + c;
                    valid |= static_cast<std::uint32_t>(i >= 0 && static_cast<std::uint64_t>(i) < samples) << c;
                }
                auto const keep = select_samples<shape.chunk, !Flattened, inputs_type>(thread, held, valid);
                evaluate<shape.chunk, true, Counters>(Counters{}, thread, held, keep);
            }
        }
        if constexpr (tables::size != 0) {
            if (++tiles_since == flush_every) { // 32-bit counts must not wrap
                tiles_since = 0;
                __syncthreads();
                flush_private_tables(tables{}, states.tables, shared_tables);
                __syncthreads();
            }
        }
    }
    if constexpr (Flattened) {
        if (threadIdx.x == 0) {
            auto const share = arguments.counted / gridDim.x + (blockIdx.x < arguments.counted % gridDim.x ? 1 : 0);
            thread.template bookkeep<0>(static_cast<std::uint32_t>(share));
        }
    }
    finish<threads, Tuning>(fields{}, states, thread, shared_tables);
}

} // namespace tally::cuda::detail
