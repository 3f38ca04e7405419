// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a thread, a warp, a block knows of a row of scores, and how two of them become one. The exponentials of a row are
// added up beside it, by row_parts.cuh; here are those of the groups before.
#pragma once

#include <tally/core/exp_log.hpp>
#include <tally/cuda/row_parts.cuh>
#include <tally/update/exponential_sum.hpp>
#include <tally/update/row_need.hpp>
#include <tally/update/row_values.hpp>

#include <cstdint>

namespace tally::cuda::detail {

/// What a thread knows of a part of a row. Squares: of the exponentials, or of the numbers themselves for probabilities.
template <unsigned Needs, bool PlainSquares, class S>
struct row_accumulator {
    using needs = tally::detail::needs_of<Needs>;
    using score_type = S;
    static constexpr S infinity = static_cast<S>(__builtin_huge_val());
    static constexpr std::int32_t none = 0x7fffffff;

    S top = -infinity;
    std::int32_t arg = none;
    std::int32_t greater = 0;
    std::int32_t equal_before = 0;
    std::int32_t equal_after = 0;
    std::int32_t has_nan = 0; // no bool, so that there is no padding to be copied
    double above_one = 0.0;   // sum of e^(s - top) over whole groups, less 1
    double squares = 0.0;
    S target_score = static_cast<S>(__builtin_nan(""));

    /// Takes scores of consecutive columns, of which those from `valid` on are missing and -inf. Returns the highest one.
    template <int Count>
    __device__ S take(S const (&scores)[Count], std::int32_t column, int valid, std::int32_t target,
                      S score_of_target) {
        if constexpr (needs::rank) {
            count_ranks(scores, column, target, score_of_target);
            if (valid < Count && score_of_target == -infinity) {
                equal_after -= Count - valid;
            }
        }
        if constexpr (PlainSquares) {
#pragma unroll
            for (int i = 0; i < Count; ++i) {
                auto const p = i < valid ? static_cast<double>(scores[i]) : 0.0;
                squares += p * p;
            }
        }
        S part_top = -infinity;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            part_top = larger_of(part_top, scores[i]);
        }
        if constexpr (!needs::exps) { // their sum tells
            look_for_nan(scores);
        }
        if constexpr (needs::arg_max) {
            if (part_top > top) {
                look_for_top(scores, column);
            }
        } else {
            top = larger_of(top, part_top);
        }
        return part_top;
    }
    template <int Count>
    __device__ void look_for_nan(S const (&scores)[Count]) {
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            has_nan |= static_cast<std::int32_t>(scores[i] != scores[i]);
        }
    }

    /// Joins the parts of a warp, whose highest score is `whole`; every lane gets the same bits.
    __device__ void join_warp(S whole) {
        join(whole, [](auto x, auto add) {
#pragma unroll
            for (int distance = 16; distance > 0; distance /= 2) {
                x = add(x, __shfl_xor_sync(all_lanes, x, distance));
            }
            return x;
        });
    }

    /// Joins what another warp found in the same columns, exponentials apart.
    __device__ void join_counts(row_accumulator other) {
        auto const whole = other.top > top ? other.top : top;
        join(whole, [](auto x, auto) { return x; });
        other.join(whole, [](auto x, auto) { return x; });
        if constexpr (PlainSquares) {
            squares += other.squares;
        }
        arg = other.arg < arg ? other.arg : arg;
        greater += other.greater;
        equal_before += other.equal_before;
        equal_after += other.equal_after;
        has_nan |= other.has_nan;
    }

    /// Joins the next group of columns of the row.
    __device__ void join_next(row_accumulator const& other) {
        if constexpr (needs::exps) {
            tally::detail::exponentials<S> exps{top, above_one, squares};
            exps.join(other.top, other.above_one, other.squares);
            above_one = exps.above_one;
            if constexpr (!PlainSquares) {
                squares = exps.squares;
            }
        }
        join_counts(other);
    }

    [[nodiscard]] __device__ tally::detail::row_values<S> values(std::int32_t columns, std::int32_t target) const {
        constexpr S not_a_number = static_cast<S>(__builtin_nan(""));
        bool const target_in = target >= 0 && target < columns;
        bool const nan = has_nan != 0;
        bool const ranks = target_in && !nan;
        tally::detail::row_values<S> row{};
        row.arg_max = nan || columns == 0 ? -1 : arg == none ? 0 : arg;
        row.target = target;
        row.columns = columns;
        row.greater = ranks ? greater : columns;
        row.equal_before = ranks ? equal_before : 0;
        row.equal_after = ranks ? equal_after : 0;
        row.max_score = nan ? not_a_number : top + S{0};
        row.target_score = target_in ? target_score : not_a_number;
        bool const finite = top - top == S{0};
        row.log_sum = nan ? not_a_number : finite ? math::log1p(static_cast<S>(above_one)) : S{0};
        if constexpr (PlainSquares) {
            row.sum_squares = static_cast<S>(squares);
        } else {
            auto const sum = above_one + 1.0;
            row.sum_squares = nan || !finite ? not_a_number : static_cast<S>(squares / (sum * sum));
        }
        return row;
    }

private:
    /// Makes this part one of a row whose top is `whole`, and replaces each of its numbers by reduce(number, how).
    template <class Reduce>
    __device__ void join(S whole, Reduce const& reduce) {
        auto const plus = [](auto x, auto y) { return x + y; };
        if constexpr (needs::top) {
            if (top < whole) {
                arg = none;
            }
            if constexpr (needs::arg_max) {
                arg = reduce(arg, [](std::int32_t x, std::int32_t y) { return x < y ? x : y; });
            }
        }
        if constexpr (PlainSquares) {
            squares = reduce(squares, plus);
        }
        if constexpr (needs::rank) {
            greater = reduce(greater, plus);
            equal_before = reduce(equal_before, plus);
            equal_after = reduce(equal_after, plus);
        }
        has_nan = reduce(has_nan, [](std::int32_t x, std::int32_t y) { return x | y; });
        top = whole;
    }

    /// A chunk lies before the target, after it, or (one chunk of a row) around it.
    template <int Count>
    __device__ void count_ranks(S const (&scores)[Count], std::int32_t column, std::int32_t target, S score_of_target) {
        std::int32_t above = 0;
        std::int32_t not_below = 0;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            above += static_cast<std::int32_t>(scores[i] > score_of_target);
            not_below += static_cast<std::int32_t>(scores[i] >= score_of_target);
        }
        greater += above;
        if (not_below != above) {
            if (column + Count <= target) {
                equal_before += not_below - above;
            } else if (column > target) {
                equal_after += not_below - above;
            } else {
#pragma unroll
                for (int i = 0; i < Count; ++i) {
                    bool const equal = scores[i] == score_of_target;
                    equal_before += static_cast<std::int32_t>(equal && column + i < target);
                    equal_after += static_cast<std::int32_t>(equal && column + i > target);
                }
            }
        }
    }

    /// The chunk holds a score above all before it.
    template <int Count>
    __device__ void look_for_top(S const (&scores)[Count], std::int32_t column) {
        S highest = top;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            if (scores[i] > highest) {
                highest = scores[i];
                arg = column + i;
            }
        }
        top = highest;
    }
};

} // namespace tally::cuda::detail
