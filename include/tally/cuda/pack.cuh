// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// From resident states to the three lanes of a message, on the device: the words that tally::detail::pack writes on the
// host, in the same places.
#pragma once

#include <tally/core/wire.hpp>
#include <tally/cuda/finish.cuh>
#include <tally/cuda/state_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tally::cuda::detail {

/// Where the lanes begin, in device memory, and the last word of the sums.
struct message_lanes {
    std::uint64_t* sums;
    std::uint64_t* maxes;
    std::byte* bytes;
    std::uint64_t hash;
};

/// lanes_of<Acc>() for device code, which may use constant numbers but not call functions of the host.
template <class Acc>
inline constexpr std::size_t sums_of = lanes_of<Acc>().sums;
template <class Acc>
inline constexpr std::size_t maxes_of = lanes_of<Acc>().maxes;
template <class Acc>
inline constexpr std::size_t bytes_of = lanes_of<Acc>().bytes;

/// A place in the lanes, in their elements.
struct lane_place {
    std::size_t sums = 0;
    std::size_t maxes = 0;
    std::size_t bytes = 0;

    /// Behind `count` accumulators of type Acc.
    template <class Acc>
    __device__ lane_place after(std::size_t count) const {
        return {sums + count * sums_of<Acc>, maxes + count * maxes_of<Acc>, bytes + count * bytes_of<Acc>};
    }
};

/// Writes one accumulator.
template <class Acc>
__device__ void pack_accumulator(Acc accumulator, message_lanes const& to, lane_place at) {
    if constexpr (tally::detail::travels_as_words<Acc>) {
        word_writer words{to.sums + at.sums, to.maxes + at.maxes};
        accumulator.travel(words);
    } else {
        memcpy(to.bytes + at.bytes, &accumulator, sizeof(Acc)); // at any address
    }
}

/// Cells go to threads one by one; each of the other accumulators to a warp of its own, so that they don't wait for each
/// other. Needs a warp for each field.
template <class... Id>
__global__ void pack_kernel(__grid_constant__ state_access<type_list<Id...>> const states, message_lanes const to) {
    auto const first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    lane_place at;
    std::size_t turn = 0;
    auto const pack_field = [&]<class Wanted>() {
        bool const mine = first == turn;
        turn += warp_size;
        if constexpr (Wanted::is_table) {
            using cell_type = typename Wanted::type::cell_type;
            auto const& slot = states.tables.template of<Wanted>();
            auto const cells = slot.shape.cells();
            for (auto i = first; i < cells; i += step) {
                pack_accumulator(load<cell_type>(slot.cells + i * stored_bytes<cell_type>()), to,
                                 at.template after<cell_type>(i));
            }
            at = at.template after<cell_type>(cells);
            if (mine) {
                to.sums[at.sums] = load<occurrences>(states.resident->template of<Wanted>()).value();
            }
            ++at.sums;
        } else {
            using accumulator = typename Wanted::type;
            if (mine) {
                pack_accumulator(load<accumulator>(states.resident->template of<Wanted>()), to, at);
            }
            at = at.template after<accumulator>(1);
        }
    };
    (pack_field.template operator()<Id>(), ...);
    if (first == 0) {
        to.sums[at.sums] = to.hash;
    }
}

} // namespace tally::cuda::detail
