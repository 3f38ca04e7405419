// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Many threads depositing into one cell: part by part through atomic operations, or whole under the cell's lock.
#pragma once

#include <tally/core/parts.hpp>
#include <tally/cuda/state_layout.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::cuda::detail {

/// Adds x, as a signed number, to a digit in memory to which other threads add as well; `above` digits follow it. A digit
/// that has grown beyond 2^61 hands at least as much as x on to the next one, so it never wraps, however often it is
/// added to. It hands on not much more, because all threads that see it so large do the same at once.
__device__ inline void add_to_digit(unsigned long long* digit, std::size_t above, unsigned long long x) {
    constexpr auto crowded = std::int64_t{1} << 61;
    for (; x != 0; ++digit, --above) {
        auto const now = static_cast<std::int64_t>(atomicAdd(digit, x) + x);
        if (above == 0 || (-crowded <= now && now < crowded)) {
            return;
        }
        auto const signed_x = static_cast<std::int64_t>(x);
        auto const size = static_cast<std::uint64_t>(signed_x < 0 ? -signed_x : signed_x);
        auto const handed = (size >> 32) + 1024; // units of the next digit
        atomicAdd(digit, now < 0 ? handed << 32 : 0ULL - (handed << 32));
        x = now < 0 ? 0ULL - handed : handed;
    }
}

/// Archive that merges an accumulator's parts into stored ones.
class atomic_merger {
public:
    __device__ explicit atomic_merger(std::uint64_t* words) : words_{words} {}
    __device__ void sum(std::uint64_t& word) {
        if (word != 0) {
            atomicAdd(target(), static_cast<unsigned long long>(word));
        }
        ++words_;
    }
    template <std::size_t N>
    __device__ void digits(std::uint64_t (&digit)[N]) {
#pragma unroll
        for (std::size_t i = 0; i < N; ++i) {
            add_to_digit(target() + i, N - 1 - i, digit[i]);
        }
        words_ += N;
    }
    __device__ void max(std::uint64_t& word) {
        atomicMax(target(), static_cast<unsigned long long>(word));
        ++words_;
    }
    __device__ void add(double& x) {
        atomicAdd(reinterpret_cast<double*>(words_), x);
        ++words_;
    }
    __device__ void add(float& x) {
        atomicAdd(reinterpret_cast<float*>(words_), x);
        ++words_;
    }

private:
    __device__ unsigned long long* target() const { return reinterpret_cast<unsigned long long*>(words_); }
    std::uint64_t* words_;
};

/// Merges an accumulator into a stored cell that other threads merge into as well.
template <class Acc>
__device__ void merge_into_cell(std::byte* cell, unsigned* lock, Acc value) {
    if constexpr (by_parts<Acc>) {
        atomic_merger merger{reinterpret_cast<std::uint64_t*>(cell)};
        tally::detail::visit_parts(value, merger);
    } else {
        auto* const words = reinterpret_cast<std::uint32_t volatile*>(cell);
        static_assert(sizeof(Acc) % sizeof(std::uint32_t) == 0,
                      "tally: an accumulator's size is a multiple of 4 bytes");
        // The critical section lies inside the branch: lanes of a warp that wait for each other still finish.
        for (bool done = false; !done;) {
            if (atomicCAS(lock, 0U, 1U) == 0U) {
                __threadfence();
                Acc stored;
                std::uint32_t image[sizeof(Acc) / sizeof(std::uint32_t)];
                for (std::size_t i = 0; i < sizeof(Acc) / sizeof(std::uint32_t); ++i) {
                    image[i] = words[i];
                }
                memcpy(static_cast<void*>(&stored), image, sizeof(Acc));
                stored.merge(value);
                memcpy(image, static_cast<void const*>(&stored), sizeof(Acc));
                for (std::size_t i = 0; i < sizeof(Acc) / sizeof(std::uint32_t); ++i) {
                    words[i] = image[i];
                }
                __threadfence();
                atomicExch(lock, 0U);
                done = true;
            }
        }
    }
}

} // namespace tally::cuda::detail
