// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What one thread keeps of one accumulator, in registers, while it reads its samples.
#pragma once

#include <tally/accumulator/co_moments.hpp>
#include <tally/accumulator/count.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/core/contribution.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

/// A thread's part of accumulator F, to which X is contributed. Specialise it where a register form is cheaper than F. A
/// part with takes_tiles gets the contributions of a tile of samples at once: x[0..Count), those whose bit in `keep` is
/// set, which are at least one. One with a shared_type has such an object in the block's shared memory, set by clear(), and
/// gets it as the first argument of each call.
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

} // namespace tally::cuda::detail
