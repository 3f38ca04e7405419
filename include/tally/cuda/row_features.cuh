// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features on a device: a team of threads (one, a warp, a block) reads a row once and computes what the metrics need
// of it. Ties, NaN and infinities as host/row_features.hpp says. The exponentials are summed relative to the largest score
// so far; a row's bits depend on its scores and its number of columns alone, not on its place or alignment.
#pragma once

#include <tally/cuda/load.cuh>
#include <tally/update/row_need.hpp>
#include <tally/update/row_values.hpp>

#include <cub/util_ptx.cuh>
#include <cub/warp/warp_reduce.cuh>

#include <cstddef>
#include <cstdint>

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
    bool has_nan = false;
    double exps = 0.0;
    double squares = 0.0;

    /// Takes `Count` scores of consecutive columns.
    template <int Count>
    __device__ void take(S const (&scores)[Count], std::int32_t column, std::int32_t target, S target_score) {
        S highest = top;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            auto const x = scores[i];
            has_nan = has_nan || x != x;
            if constexpr (needs::top) {
                if (x > highest) {
                    highest = x;
                    arg = column + i;
                }
            }
            if constexpr (needs::rank) {
                greater += static_cast<std::int32_t>(x > target_score);
                bool const equal = x == target_score;
                equal_before += static_cast<std::int32_t>(equal && column + i < target);
                equal_after += static_cast<std::int32_t>(equal && column + i > target);
            }
            if constexpr (PlainSquares) {
                squares += static_cast<double>(x) * static_cast<double>(x);
            }
        }
        if constexpr (needs::exps) {
            if (highest > top) {
                rescale(highest);
            }
            if (top - top == S{0}) {
                S sum{};
                S sum_of_squares{};
#pragma unroll
                for (int i = 0; i < Count; ++i) {
                    auto const e = exp(scores[i] - top);
                    sum += e;
                    if constexpr (needs::squares) {
                        sum_of_squares += e * e;
                    }
                }
                exps += static_cast<double>(sum);
                if constexpr (needs::squares) {
                    squares += static_cast<double>(sum_of_squares);
                }
            }
        }
        top = highest;
    }

    __device__ void merge(row_accumulator const& other) {
        if constexpr (needs::top) {
            if (other.top > top || (other.top == top && other.arg < arg)) {
                arg = other.arg;
            }
        }
        if constexpr (needs::exps) {
            auto theirs = other;
            if (theirs.top > top) {
                rescale(theirs.top);
            } else if (top > theirs.top) {
                theirs.rescale(top);
            }
            exps += theirs.exps;
            if constexpr (needs::squares) {
                squares += theirs.squares;
            }
        } else if constexpr (needs::top) {
            top = other.top > top ? other.top : top;
        }
        if constexpr (needs::rank) {
            greater += other.greater;
            equal_before += other.equal_before;
            equal_after += other.equal_after;
        }
        if constexpr (PlainSquares) {
            squares += other.squares;
        }
        has_nan = has_nan || other.has_nan;
    }

    [[nodiscard]] __device__ tally::detail::row_values<S> values(std::int32_t columns, std::int32_t target,
                                                                 S target_score) const {
        constexpr S not_a_number = static_cast<S>(__builtin_nan(""));
        bool const target_in = target >= 0 && target < columns;
        bool const ranks = target_in && !has_nan;
        tally::detail::row_values<S> row{};
        row.arg_max = has_nan || columns == 0 ? -1 : arg == none ? 0 : arg;
        row.target = target;
        row.columns = columns;
        row.greater = ranks ? greater : columns;
        row.equal_before = ranks ? equal_before : 0;
        row.equal_after = ranks ? equal_after : 0;
        row.max_score = has_nan ? not_a_number : top + S{0};
        row.target_score = target_in ? target_score : not_a_number;
        bool const finite = top - top == S{0};
        row.log_sum = has_nan ? not_a_number : finite ? static_cast<S>(log(exps)) : S{0};
        if constexpr (PlainSquares) {
            row.sum_squares = static_cast<S>(squares);
        } else {
            row.sum_squares = has_nan || !finite ? not_a_number : static_cast<S>(squares / (exps * exps));
        }
        return row;
    }

private:
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
    return cub::ShuffleIndex<32>(loaded, 0, 0xffffffffU);
}

/// Reads row `row` of a matrix of scores; every thread of the team gets the values. `shared` has a place for each warp.
template <unsigned Needs, bool PlainSquares, class S, class View>
__device__ tally::detail::row_values<S> read_row(View const& view, std::size_t row, std::int32_t columns,
                                                 std::int32_t target, bool aligned, team members,
                                                 row_accumulator<Needs, PlainSquares, S>* shared) {
    using accumulator = row_accumulator<Needs, PlainSquares, S>;
    constexpr std::size_t bytes = element_bytes<View>;
    constexpr int chunk = bytes == 0 ? 4 : bytes >= 16 ? 1 : static_cast<int>(16 / bytes);
    constexpr int batch = chunk >= 8 ? 2 : 4;
    using raw = raw_t<View>;

    S target_score = static_cast<S>(__builtin_nan(""));
    if constexpr (tally::detail::needs_of<Needs>::target) {
        if (target >= 0 && target < columns) {
            auto const loaded =
                load_once(members, [&] { return load_raw(view, row, static_cast<std::size_t>(target)); });
            target_score = widen_raw<S>(view, loaded);
        }
    }

    accumulator mine;
    auto const whole_chunks = columns / chunk;
    auto const load_chunk = [&](raw(&to)[chunk], std::int32_t c) {
        if constexpr (bytes != 0) {
            if (aligned) {
                load_aligned<chunk>(view.data + static_cast<std::ptrdiff_t>(row) * view.row_stride + c * chunk, to);
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < chunk; ++i) {
            to[i] = load_raw(view, row, static_cast<std::size_t>(c * chunk + i));
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
                mine.take(scores, (c + b * members.size) * chunk, target, target_score);
            }
        }
    }
    for (std::int32_t column = whole_chunks * chunk + members.rank; column < columns; column += members.size) {
        S const scores[1] = {widen_raw<S>(view, load_raw(view, row, static_cast<std::size_t>(column)))};
        mine.take(scores, column, target, target_score);
    }

    if (members.size > 1) {
        auto const join = [](accumulator a, accumulator const& b) {
            a.merge(b);
            return a;
        };
        using reduce = cub::WarpReduce<accumulator>;
        typename reduce::TempStorage none;
        mine = reduce(none).Reduce(mine, join);
        if (members.size > 32) {
            if (threadIdx.x % 32 == 0) {
                shared[threadIdx.x / 32] = mine;
            }
            __syncthreads();
            mine = shared[0];
            for (int w = 1; w < members.size / 32; ++w) {
                mine.merge(shared[w]);
            }
            __syncthreads();
        } else {
            mine = cub::ShuffleIndex<32>(mine, 0, 0xffffffffU);
        }
    }
    return mine.values(columns, target, target_score);
}

} // namespace tally::cuda::detail
