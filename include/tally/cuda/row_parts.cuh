// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How the threads of a warp add up the exponentials of a part of a row, and the parts of a group: the trees that
// update/exponential_sum.hpp describes. A lane holds consecutive columns in several places of a part, or one part of a
// group.
#pragma once

#include <tally/update/exponential_sum.hpp>

#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

inline constexpr unsigned all_lanes = 0xffffffffU;

/// The larger one; the other one if one is NaN.
__device__ inline float larger_of(float a, float b) { return fmaxf(a, b); }
__device__ inline double larger_of(double a, double b) { return fmax(a, b); }

template <class S>
__device__ S highest_of_warp(S x) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        x = larger_of(x, __shfl_xor_sync(all_lanes, x, distance));
    }
    return x;
}

/// Every lane gets it.
__device__ inline int sum_of_warp(int x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(all_lanes, x);
#else
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        x += __shfl_xor_sync(all_lanes, x, distance);
    }
    return x;
#endif
}

/// The sum of x[0], x[1], ... as a tree, whose last level is that of neighbours.
template <class S, int Size>
__device__ S sum_of_thread(S (&x)[Size]) {
#pragma unroll
    for (int half = Size / 2; half > 0; half /= 2) {
#pragma unroll
        for (int i = 0; i < half; ++i) {
            x[i] = x[i] + x[i + half];
        }
    }
    return x[0];
}

/// The sum of all x of a warp, for every lane; lane l holds the columns Size * l + i. Lanes far from each other come
/// first, the columns of a lane last. To add the x[i] one by one would take Size times the shuffles: lanes share them out.
template <class S, int Size>
__device__ S sum_of_warp(S (&x)[Size]) {
    static_assert(Size <= 32);
    auto const lane = static_cast<int>(threadIdx.x % 32);
    int held = Size;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        if (held > 1) {
            held /= 2;
            bool const later = (lane & distance) != 0;
#pragma unroll
            for (int i = 0; i < held; ++i) {
                S const given = later ? x[i] : x[i + held];
                S const kept = later ? x[i + held] : x[i];
                x[i] = kept + __shfl_xor_sync(all_lanes, given, distance);
            }
        } else {
            x[0] = x[0] + __shfl_xor_sync(all_lanes, x[0], distance);
        }
    }
    // A lane that is `distance` away now holds another column of a lane.
#pragma unroll
    for (int size = Size, distance = 16; size > 1; size /= 2, distance /= 2) {
        x[0] = x[0] + __shfl_xor_sync(all_lanes, x[0], distance);
    }
    return x[0];
}

/// The terms of a part that a thread has: places of consecutive columns, and how many scores are below the
/// highest one.
template <class S, bool Squares, bool Fast, int Places, int Columns>
class terms_of_thread {
public:
    /// Adds to the terms in place b those of scores, given relative to the highest one.
    __device__ void take(int b, S const (&scores)[Columns], S shift) {
#pragma unroll
        for (int i = 0; i < Columns; ++i) {
            S const x = scores[i] - shift;
            S const e = term(x);
            exps_[b][i] = exps_[b][i] + e;
            if constexpr (Squares) {
                squares_[b][i] = squares_[b][i] + tally::detail::rounded_product(e, e);
            }
            if constexpr (!Fast) {
                below_ += x < S{0} ? 1 : 0;
            }
        }
        taken_ += Columns;
    }
    /// What the part adds up to: that of this thread alone, or for every lane that of the warp. `suspicious`: there is a
    /// NaN, or a highest score that is infinite or not the only one.
    __device__ tally::detail::part_sums<S> sums(S top, bool alone, bool& suspicious) {
        S const exps = sum(exps_, alone);
        S squares = 0;
        if constexpr (Squares) {
            squares = sum(squares_, alone);
        }
        if constexpr (Fast) {
            suspicious = exps != exps;
            return {top, exps - S{1}, squares};
        } else {
            int const highest = alone ? taken_ - below_ : 32 * taken_ - sum_of_warp(below_);
            suspicious = highest > (tally::detail::is_finite_top(top) ? 1 : 0);
            return tally::detail::part_sums<S>::of_trees(top, highest, exps, squares);
        }
    }

private:
    __device__ static S term(S x) {
        if constexpr (!Fast) {
            return tally::detail::term_below(x);
        } else if constexpr (std::is_same_v<S, float>) {
            return __expf(x);
        } else {
            return math::exp(x);
        }
    }
    __device__ static S sum(S (&terms)[Places][Columns], bool alone) {
#pragma unroll
        for (int half = Places / 2; half > 0; half /= 2) {
#pragma unroll
            for (int b = 0; b < half; ++b) {
#pragma unroll
                for (int i = 0; i < Columns; ++i) {
                    terms[b][i] = terms[b][i] + terms[b + half][i];
                }
            }
        }
        return alone ? sum_of_thread(terms[0]) : sum_of_warp(terms[0]);
    }

    S exps_[Places][Columns] = {};
    S squares_[Squares ? Places : 1][Squares ? Columns : 1] = {};
    int taken_ = 0; // the same in all lanes
    int below_ = 0;
};

/// Makes of the parts that the first `parts` lanes have the sum of all, for every lane. The other lanes' are ignored.
template <bool Squares, class S>
__device__ tally::detail::part_sums<S> sum_of_group(tally::detail::part_sums<S> part, int parts) {
    auto const lane = static_cast<int>(threadIdx.x % 32);
    bool const present = lane < parts;
    S const highest = highest_of_warp(present ? part.top : static_cast<S>(-__builtin_huge_val()));
    auto const at_top = __ballot_sync(all_lanes, present && part.top == highest);
    part = part.within(highest, __ffs(static_cast<int>(at_top)) == lane + 1);
    part.above_one = present ? part.above_one : S{0};
    part.squares = present ? part.squares : S{0};
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        part.above_one = part.above_one + __shfl_xor_sync(all_lanes, part.above_one, distance);
        if constexpr (Squares) {
            part.squares = part.squares + __shfl_xor_sync(all_lanes, part.squares, distance);
        }
    }
    return part;
}

} // namespace tally::cuda::detail
