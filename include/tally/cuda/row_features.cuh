// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features on a device: a team of threads (one, a warp, a block) reads a row once and computes what the metrics need
// of it, with the bits that host/row_features.hpp gives. Ties, NaN and infinities are as said there, the sum of the
// exponentials as update/exponential_sum.hpp says: a part of 512 columns is in a warp's registers when its top is known.
#pragma once

#include <tally/core/exp_log.hpp>
#include <tally/cuda/finish.cuh>
#include <tally/cuda/inputs.hpp>
#include <tally/cuda/load.cuh>
#include <tally/cuda/row_parts.cuh>
#include <tally/update/exponential_sum.hpp>
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

/// Threads that share a row: 1, 32 or a whole block.
struct team {
    int rank;
    int size;
};

/// Columns of a row that a single thread reads: it adds the two halves while it reads the later one.
inline constexpr int thread_columns = 32;

/// The value that lane 0 of the warp has.
template <class T>
__device__ T of_first_lane(T x) {
    if constexpr (sizeof(T) == 8) {
        return __builtin_bit_cast(T, __shfl_sync(all_lanes, __builtin_bit_cast(long long, x), 0));
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bit_cast(T, __shfl_sync(all_lanes, __builtin_bit_cast(unsigned, x), 0));
    } else {
        using image = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>;
        auto const bits = __shfl_sync(all_lanes, static_cast<unsigned>(__builtin_bit_cast(image, x)), 0);
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

/// Reads columns [begin, end) of a row of scores; every thread of the team gets all of them. `begin` is a multiple of
/// `group_columns`; if exponentials are needed there are at most that many columns. A team of one reads
/// at most `thread_columns` then.
template <class Accumulator, class S, class View>
__device__ Accumulator read_part(View const& view, std::size_t row, std::int32_t begin, std::int32_t end,
                                 std::int32_t target, S target_score, bool aligned, team members,
                                 row_scratch<Accumulator> scratch) {
    using needs = typename Accumulator::needs;
    constexpr std::size_t bytes = element_bytes<View>;
    constexpr int chunk = bytes == 0 ? 4 : bytes >= 16 ? 1 : static_cast<int>(16 / bytes);
    constexpr int batch = 16 / chunk;
    constexpr int part_columns = tally::detail::part_columns;
    static_assert(chunk * batch * warp_size == part_columns);
    using raw = raw_t<View>;

    auto const lanes = members.size < warp_size ? members.size : warp_size;
    auto const lane = members.rank % warp_size;
    auto const warps = members.size / lanes;
    auto const parts = (end - begin + part_columns - 1) / part_columns;
    Accumulator mine;
    S top_of_warp = -Accumulator::infinity;
    tally::detail::part_sums<S> of_lane{};
    S held[batch][chunk];

    for (std::int32_t p = members.rank / warp_size; p < parts; p += warps) {
        auto const first_column = begin + p * part_columns;
        auto const columns = end - first_column < part_columns ? end - first_column : part_columns;
        // Chunks first + lane, first + lane + lanes, ...; what lies behind the last column is -inf.
        auto const load = [&](std::int32_t first) {
            raw loaded[batch][chunk] = {};
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                auto const column = (first + lane + b * lanes) * chunk;
                if constexpr (bytes != 0) {
                    if (aligned && column + chunk <= columns) {
                        load_aligned<chunk>(view.data + static_cast<std::ptrdiff_t>(row) * view.row_stride +
                                                first_column + column,
                                            loaded[b]);
                        continue;
                    }
                }
#pragma unroll
                for (int i = 0; i < chunk; ++i) {
                    if (column + i < columns) {
                        loaded[b][i] = load_raw(view, row, static_cast<std::size_t>(first_column + column + i));
                    }
                }
            }
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                auto const column = (first + lane + b * lanes) * chunk;
#pragma unroll
                for (int i = 0; i < chunk; ++i) {
                    held[b][i] = widen_raw<S>(view, loaded[b][i]);
                }
                if (column + chunk > columns) {
#pragma unroll
                    for (int i = 0; i < chunk; ++i) {
                        held[b][i] = column + i < columns ? held[b][i] : -Accumulator::infinity;
                    }
                }
            }
        };
        auto const step = batch * lanes;
        S top = -Accumulator::infinity;
        for (std::int32_t first = 0; first * chunk < columns; first += step) {
            load(first);
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                auto const column = (first + lane + b * lanes) * chunk;
                if (column < columns) {
                    auto const valid = columns - column < chunk ? columns - column : chunk;
                    auto const highest = mine.take(held[b], first_column + column, valid, target, target_score);
                    if constexpr (needs::exps) {
                        if (lanes == 1) { // later it is too late: not all of the scores may be held
                            mine.look_for_nan(held[b]);
                        }
                    }
                    top = larger_of(top, highest);
                }
            }
        }
        if constexpr (needs::exps) {
            top = lanes == 1 ? top : highest_of_warp(top);
            top_of_warp = larger_of(top_of_warp, top);
            S const shift = top == -Accumulator::infinity ? S{0} : top;
            terms_of_thread<S, needs::squares, needs::fast, batch, chunk> terms;
            for (std::int32_t first = 0; first * chunk < columns; first += step) {
                if (step * chunk < columns) {
                    load(first); // not all of them fitted
                }
#pragma unroll
                for (int b = 0; b < batch; ++b) {
                    if ((first + b * lanes) * chunk < columns) {
                        terms.take(b, held[b], shift);
                    }
                }
            }
            bool suspicious = false;
            auto const found = terms.sums(top, lanes == 1, suspicious);
            if (suspicious && lanes != 1) {
#pragma unroll
                for (int b = 0; b < batch; ++b) {
                    mine.look_for_nan(held[b]);
                }
            }
            if (lane == p || parts == 1) {
                of_lane = found;
            }
            if (members.size > warp_size && lane == 0) {
                scratch.of_part[p] = found;
            }
        }
    }

    if (members.size > 1) {
        if constexpr (!needs::exps && needs::top) {
            top_of_warp = highest_of_warp(mine.top);
        }
        mine.join_warp(top_of_warp);
        if (members.size > warp_size) {
            if (threadIdx.x % warp_size == 0) {
                scratch.of_warp[threadIdx.x / warp_size] = mine;
            }
            __syncthreads();
            mine = scratch.of_warp[0];
            for (int w = 1; w < warps; ++w) {
                mine.join_counts(scratch.of_warp[w]);
            }
            if constexpr (needs::exps) {
                if (lane < parts || parts == 1) {
                    of_lane = scratch.of_part[parts == 1 ? 0 : lane];
                }
            }
            __syncthreads();
        }
        if constexpr (needs::exps) {
            if (parts > 1) {
                of_lane = sum_of_group<needs::squares>(of_lane, parts);
            }
        }
    }
    if constexpr (needs::exps) {
        mine.above_one = static_cast<double>(of_lane.above_one);
        if constexpr (needs::squares) {
            mine.squares = static_cast<double>(of_lane.squares);
        }
    }
    mine.target_score = target_score;
    return mine;
}

/// Reads a whole row, `part` columns at a time: the same bits whether one block reads them or several do.
template <class Accumulator, class S, class View>
__device__ Accumulator read_row(View const& view, std::size_t row, std::int32_t columns, std::int32_t part,
                                std::int32_t target, S target_score, bool aligned, team members,
                                row_scratch<Accumulator> scratch) {
    auto whole = read_part(view, row, 0, min(columns, part), target, target_score, aligned, members, scratch);
    for (std::int32_t begin = part; begin < columns; begin += part) {
        auto const end = columns - begin > part ? begin + part : columns;
        whole.join_next(read_part(view, row, begin, end, target, target_score, aligned, members, scratch));
        if (end == columns) {
            break;
        }
    }
    return whole;
}

} // namespace tally::cuda::detail
