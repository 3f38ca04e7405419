// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How parts that share memory end an update: the threads add what they have to the digits of the block, and these are
// added word by word to the resident state.
#pragma once

#include <tally/core/digits.hpp>
#include <tally/cuda/atomics.cuh>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/thread_state.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

/// A part that is merged through what its block shares: flush(shared) adds the threads' own parts, called by whole
/// warps; then the bytes of `shared` are the words of the accumulator's parts, in their order.
/// shared.for_each_digits(f) calls f(words, count) for each run of digits among them.
template <class Part>
concept finishes_in_shared = requires { requires Part::finishes_in_shared; };

/// Adds what a block shares to the words of a resident accumulator. One warp.
template <class Shared>
__device__ void merge_shared(Shared& shared, std::byte* resident) {
    constexpr int words = sizeof(Shared) / sizeof(unsigned long long);
    int const lane = static_cast<int>(threadIdx.x) % 32;
    unsigned long long* mine = nullptr; // the digits that this lane normalises
    int count = 0;
    int index = 0;
    shared.for_each_digits([&](unsigned long long* digits, int size) {
        mine = index == lane ? digits : mine;
        count = index == lane ? size : count;
        ++index;
    });
    if (mine != nullptr) {
        tally::detail::normalise_digits(mine, static_cast<std::size_t>(count));
    }
    __syncwarp();
    auto const* const from = reinterpret_cast<unsigned long long const*>(&shared);
    auto* const to = reinterpret_cast<unsigned long long*>(resident);
    for (int i = lane; i < words; i += 32) {
        std::size_t above = 0;
        shared.for_each_digits([&](unsigned long long const* digits, int size) {
            auto const place = from + i - digits;
            above = 0 <= place && place < size ? static_cast<std::size_t>(size - 1 - place) : above;
        });
        add_to_digit(to + i, above, from[i]);
    }
}

/// The fields that finish in shared memory, or the others.
template <class Fields, class Tuning, bool Shared>
struct fields_by_finish;
template <class... Id, class Tuning, bool Shared>
struct fields_by_finish<type_list<Id...>, Tuning, Shared> {
    using type = concat_t<std::conditional_t<finishes_in_shared<decltype(thread_slot<Id, Tuning>::part)> == Shared,
                                             type_list<Id>, type_list<>>...>;
};

/// Ends these fields. All threads of a block, each part after all others have deposited.
template <class... Id, class Thread, class Resident>
__device__ void finish_shared_fields(type_list<Id...>, Thread& thread, Resident* resident) {
    if constexpr (sizeof...(Id) != 0) {
        (thread.template flush<Id>(), ...);
        __syncthreads();
        auto const warp = threadIdx.x / 32;
        auto const warps = blockDim.x / 32;
        unsigned ordinal = 0;
        auto const merge = [&]<class Wanted>() {
            if (ordinal++ % warps == warp) {
                merge_shared(thread.template shared<Wanted>(), resident->template of<Wanted>());
            }
        };
        (merge.template operator()<Id>(), ...);
    }
}

} // namespace tally::cuda::detail
