// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How parts that share memory end an update: the threads add what they have to the digits of the block, and these are
// added word by word to the resident state.
#pragma once

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

/// Carries, so that the digits are below 2^32 again, but for the last one.
__device__ inline void normalise_digits(unsigned long long* word, int count) {
    std::int64_t carry = 0;
#pragma unroll 1
    for (int i = 0; i + 1 < count; ++i) {
        auto const sum = (word[i] & 0xffff'ffffU) + (static_cast<std::uint64_t>(carry) & 0xffff'ffffU);
        carry = (static_cast<std::int64_t>(word[i]) >> 32) + (carry >> 32) + static_cast<std::int64_t>(sum >> 32);
        word[i] = sum & 0xffff'ffffU;
    }
    word[count - 1] += static_cast<unsigned long long>(carry);
}

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
        normalise_digits(mine, count);
    }
    __syncwarp();
    auto const* const from = reinterpret_cast<unsigned long long const*>(&shared);
    auto* const to = reinterpret_cast<unsigned long long*>(resident);
    for (int i = lane; i < words; i += 32) {
        if (from[i] != 0) {
            atomicAdd(to + i, from[i]);
        }
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
