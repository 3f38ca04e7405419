// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a warp found in a part of a row, and how the parts of a group become one sum of exponentials: every lane takes one
// part, makes it relative to the group's highest score, and integers are added up. See update/exponential_sum.hpp.
#pragma once

#include <tally/core/multiply_add.hpp>
#include <tally/update/exponential_sum.hpp>

#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

template <class S>
__device__ S highest_of_warp(S x) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        auto const other = __shfl_xor_sync(0xffffffffU, x, distance);
        x = other > x ? other : x;
    }
    return x;
}

/// Sum of integers that may wrap; every lane gets it.
template <class U>
__device__ U sum_of_warp(U x) {
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(U) == sizeof(unsigned)) {
        return __reduce_add_sync(0xffffffffU, x);
    }
#endif
    using word = std::conditional_t<sizeof(U) == 8, unsigned long long, unsigned>;
    auto sum = static_cast<word>(x);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffU, sum, distance);
    }
    return static_cast<U>(sum);
}

template <class Sum, bool Present>
struct squares_of_part {
    Sum squares_{};
};
template <class Sum>
struct squares_of_part<Sum, false> {};

template <class S, bool Squares>
class part_of_row : squares_of_part<tally::detail::term_sum<S>, Squares> {
    using sum_type = tally::detail::term_sum<S>;

public:
    part_of_row() = default;
    /// From what each of `lanes` lanes, 1 or a whole warp, has added up.
    __device__ part_of_row(S top, tally::detail::term_bits<S> exps, tally::detail::term_bits<S> squares,
                           std::uint32_t terms, int lanes)
        : top_(top), exps_(sum_of(exps, terms, lanes)) {
        if constexpr (Squares) {
            this->squares_ = sum_of(squares, terms, lanes);
        }
    }

    /// Makes of the parts of a warp's lanes the sum of all, for every lane.
    __device__ void join_group() {
        S const highest = highest_of_warp(top_);
        bool const counts = tally::detail::is_finite_top(top_) && tally::detail::is_finite_top(highest);
        double const factor = top_ == highest ? 1.0 : counts ? tally::detail::rescaling(top_, highest) : 0.0;
        exps_ = whole(counts ? exps_.times(factor) : sum_type{});
        if constexpr (Squares) {
            auto const squared = tally::detail::rounded_product(factor, factor);
            this->squares_ = whole(counts ? this->squares_.times(squared) : sum_type{});
        }
        top_ = highest;
    }

    [[nodiscard]] __device__ double above_one() const { return exps_.above_one(); }
    [[nodiscard]] __device__ double sum_of_squares() const { return this->squares_.value(); }

private:
    __device__ static sum_type sum_of(tally::detail::term_bits<S> const& bits, std::uint32_t terms, int lanes) {
        return lanes == 1 ? sum_type::of_bits(bits.high, bits.low, terms)
                          : sum_type::of_bits(sum_of_warp(bits.high), sum_of_warp(bits.low), terms);
    }
    __device__ static sum_type whole(sum_type const& mine) {
        sum_type sum;
        sum.high = sum_of_warp(mine.high);
        if constexpr (sum_type::two_words) {
            sum.low = sum_of_warp(mine.low);
            sum.carry();
        }
        return sum;
    }

    S top_ = static_cast<S>(-__builtin_huge_val());
    sum_type exps_{};
};

/// Shared memory for teams of several warps: a place for each warp, and one for each part of a group.
template <class Accumulator>
struct row_scratch {
    using part = part_of_row<typename Accumulator::score_type, Accumulator::needs::squares>;
    Accumulator* of_warp;
    part* of_part;
};

} // namespace tally::cuda::detail
