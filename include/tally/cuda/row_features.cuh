// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features on a device: a team of threads (one, a warp, a block) reads a row once and computes what the metrics need
// of it. Ties, NaN and infinities as host/row_features.hpp says. The exponentials are summed relative to the largest score
// so far; a row's bits depend on its scores and its number of columns alone, not on its place or alignment.
#pragma once

#include <tally/cuda/inputs.hpp>
#include <tally/cuda/load.cuh>
#include <tally/update/row_need.hpp>
#include <tally/update/row_values.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

/// What a thread knows of a part of a row. Squares: of the exponentials, or of the numbers themselves for probabilities.
template <unsigned Needs, bool PlainSquares, class S>
struct row_accumulator {
    using needs = tally::detail::needs_of<Needs>;
    static constexpr S infinity = static_cast<S>(__builtin_huge_val());
    static constexpr std::int32_t none = 0x7fffffff;

    S top = -infinity;
    std::int32_t arg = none;
    std::int32_t greater = 0;
    std::int32_t equal_before = 0;
    std::int32_t equal_after = 0;
    std::int32_t has_nan = 0; // no bool, so that there is no padding to be copied
    double exps = 0.0;
    double squares = 0.0;
    S target_score = static_cast<S>(__builtin_nan(""));

    /// Takes `Count` scores of consecutive columns.
    template <int Count>
    __device__ void take(S const (&scores)[Count], std::int32_t column, std::int32_t target, S score_of_target) {
        if constexpr (needs::rank) {
            count_ranks(scores, column, target, score_of_target);
        }
        if constexpr (PlainSquares) {
#pragma unroll
            for (int i = 0; i < Count; ++i) {
                squares += static_cast<double>(scores[i]) * static_cast<double>(scores[i]);
            }
        }
        S highest = scores[0];
#pragma unroll
        for (int i = 1; i < Count; ++i) {
            highest = highest >= scores[i] ? highest : scores[i]; // not a NaN, unless the last one is
        }
        if (!(highest <= top)) {
            look_for_top(scores, column);
        }
        if constexpr (needs::exps) {
            if (top - top == S{0}) {
                S sum{};
                S sum_of_squares{};
#pragma unroll
                for (int i = 0; i < Count; ++i) {
                    auto const e = exp_of(scores[i] - top);
                    sum += e;
                    if constexpr (needs::squares) {
                        sum_of_squares += e * e;
                    }
                }
                exps += static_cast<double>(sum); // NaN if there is a NaN among the scores
                if constexpr (needs::squares) {
                    squares += static_cast<double>(sum_of_squares);
                }
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            has_nan |= static_cast<std::int32_t>(scores[i] != scores[i]);
        }
    }

    /// Joins the parts of a warp; every lane gets the same bits.
    __device__ void join_warp() {
        auto const whole = top_of_warp();
        join(whole, [](auto x, auto add) {
#pragma unroll
            for (int distance = 16; distance > 0; distance /= 2) {
                x = add(x, __shfl_xor_sync(0xffffffffU, x, distance));
            }
            return x;
        });
    }

    /// Joins the next part of the row.
    __device__ void join_next(row_accumulator other) {
        auto const whole = other.top > top ? other.top : top;
        join(whole, [](auto x, auto) { return x; });
        other.join(whole, [](auto x, auto) { return x; });
        exps += other.exps;
        squares += other.squares;
        arg = other.arg < arg ? other.arg : arg;
        greater += other.greater;
        equal_before += other.equal_before;
        equal_after += other.equal_after;
        has_nan |= other.has_nan;
    }

    [[nodiscard]] __device__ tally::detail::row_values<S> values(std::int32_t columns, std::int32_t target) const {
        constexpr S not_a_number = static_cast<S>(__builtin_nan(""));
        bool const target_in = target >= 0 && target < columns;
        bool const nan = has_nan != 0 || exps != exps;
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
        row.log_sum = nan ? not_a_number : finite ? static_cast<S>(log(exps)) : S{0};
        if constexpr (PlainSquares) {
            row.sum_squares = static_cast<S>(squares);
        } else {
            row.sum_squares = nan || !finite ? not_a_number : static_cast<S>(squares / (exps * exps));
        }
        return row;
    }

private:
    [[nodiscard]] __device__ S top_of_warp() const {
        S whole = top;
        if constexpr (needs::top) {
#pragma unroll
            for (int distance = 16; distance > 0; distance /= 2) {
                auto const other = __shfl_xor_sync(0xffffffffU, whole, distance);
                whole = other > whole ? other : whole;
            }
        }
        return whole;
    }

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
        if constexpr (needs::exps) {
            if (top < whole) {
                rescale(whole);
            }
            exps = reduce(exps, plus);
        }
        if constexpr (needs::squares || PlainSquares) {
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

    /// Terms of a sum that is at least 1, since the largest term is: what counts is their absolute error, which is below
    /// 2^-23 (two units in the last place of ex2.approx, and the rounded product with log2(e)).
    __device__ static float exp_of(float x) { return __expf(x); }
    __device__ static double exp_of(double x) { return exp(x); }

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

    /// The chunk holds a score above all before it, or a NaN.
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
        if constexpr (needs::exps) {
            if (highest > top) {
                rescale(highest);
            }
        }
        top = highest;
    }

    /// Makes the sums relative to a higher score.
    __device__ void rescale(S highest) {
        auto const factor = exps == 0.0 ? 0.0 : exp(static_cast<double>(top) - static_cast<double>(highest));
        exps *= factor;
        if constexpr (needs::squares) {
            squares *= factor * factor;
        }
        top = highest;
    }
};

/// Threads that share a row: 1, 32 or a whole block.
struct team {
    int rank;
    int size;
};

/// The value that lane 0 of the warp has.
template <class T>
__device__ T of_first_lane(T x) {
    if constexpr (sizeof(T) == 8) {
        return __builtin_bit_cast(T, __shfl_sync(0xffffffffU, __builtin_bit_cast(long long, x), 0));
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bit_cast(T, __shfl_sync(0xffffffffU, __builtin_bit_cast(unsigned, x), 0));
    } else {
        using image = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>;
        auto const bits = __shfl_sync(0xffffffffU, static_cast<unsigned>(__builtin_bit_cast(image, x)), 0);
        return __builtin_bit_cast(T, static_cast<image>(bits));
    }
}

/// What all of a team need, loaded once a warp.
template <class Load>
__device__ auto load_once(team members, Load const& load) {
    if (members.size == 1) {
        return load();
    }
    decltype(load()) loaded{};
    if (threadIdx.x % 32 == 0) {
        loaded = load();
    }
    return of_first_lane(loaded);
}

/// The score of the target, for all of a team; NaN if the target is no column.
template <class S, class View>
__device__ S load_target_score(View const& view, std::size_t row, std::int32_t columns, std::int32_t target,
                               team members) {
    if (target < 0 || target >= columns) {
        return static_cast<S>(__builtin_nan(""));
    }
    auto const loaded = load_once(members, [&] { return load_raw(view, row, static_cast<std::size_t>(target)); });
    return widen_raw<S>(view, loaded);
}

/// Reads columns [begin, end) of a row of scores; every thread of the team gets all of them. `begin` is a multiple of 16
/// bytes of elements. `shared` has a place for each warp.
template <class Accumulator, class S, class View>
__device__ Accumulator read_part(View const& view, std::size_t row, std::int32_t begin, std::int32_t end,
                                 std::int32_t target, S target_score, bool aligned, team members, Accumulator* shared) {
    constexpr std::size_t bytes = element_bytes<View>;
    constexpr int chunk = bytes == 0 ? 4 : bytes >= 16 ? 1 : static_cast<int>(16 / bytes);
    constexpr int batch = chunk >= 8 ? 2 : 4;
    using raw = raw_t<View>;

    Accumulator mine;
    auto const whole_chunks = (end - begin) / chunk;
    auto const load_chunk = [&](raw(&to)[chunk], std::int32_t c) {
        if constexpr (bytes != 0) {
            if (aligned) {
                load_aligned<chunk>(view.data + static_cast<std::ptrdiff_t>(row) * view.row_stride + begin + c * chunk,
                                    to);
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < chunk; ++i) {
            to[i] = load_raw(view, row, static_cast<std::size_t>(begin + c * chunk + i));
        }
    };
    for (std::int32_t c = members.rank; c < whole_chunks; c += batch * members.size) {
        raw loaded[batch][chunk] = {};
#pragma unroll
        for (int b = 0; b < batch; ++b) {
            if (c + b * members.size < whole_chunks) {
                load_chunk(loaded[b], c + b * members.size);
            }
        }
#pragma unroll
        for (int b = 0; b < batch; ++b) {
            if (c + b * members.size < whole_chunks) {
                S scores[chunk];
#pragma unroll
                for (int i = 0; i < chunk; ++i) {
                    scores[i] = widen_raw<S>(view, loaded[b][i]);
                }
                mine.take(scores, begin + (c + b * members.size) * chunk, target, target_score);
            }
        }
    }
    for (std::int32_t column = begin + whole_chunks * chunk + members.rank; column < end; column += members.size) {
        S const scores[1] = {widen_raw<S>(view, load_raw(view, row, static_cast<std::size_t>(column)))};
        mine.take(scores, column, target, target_score);
    }

    if (members.size > 1) {
        mine.join_warp();
        if (members.size > 32) {
            if (threadIdx.x % 32 == 0) {
                shared[threadIdx.x / 32] = mine;
            }
            __syncthreads();
            mine = shared[0];
            for (int w = 1; w < members.size / 32; ++w) {
                mine.join_next(shared[w]);
            }
            __syncthreads();
        }
    }
    mine.target_score = target_score;
    return mine;
}

/// Reads a whole row, `part` columns at a time: the same bits whether one block reads the parts or several do.
template <class Accumulator, class S, class View>
__device__ Accumulator read_row(View const& view, std::size_t row, std::int32_t columns, std::int32_t part,
                                std::int32_t target, S target_score, bool aligned, team members, Accumulator* shared) {
    auto whole = read_part(view, row, 0, min(columns, part), target, target_score, aligned, members, shared);
    for (std::int32_t begin = part; begin < columns; begin += part) {
        auto const end = columns - begin > part ? begin + part : columns;
        whole.join_next(read_part(view, row, begin, end, target, target_score, aligned, members, shared));
        if (end == columns) {
            break;
        }
    }
    return whole;
}

} // namespace tally::cuda::detail
