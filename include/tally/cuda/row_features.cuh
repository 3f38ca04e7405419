// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features on a device: a team of threads (one, a warp, a block) reads a row once and computes what the metrics need
// of it, with the bits that host/row_features.hpp gives. Ties, NaN and infinities are as said there, the sum of the
// exponentials as update/exponential_sum.hpp says: a part of 512 columns is in a warp's registers when its top is known.
#pragma once

#include <tally/cuda/finish.cuh>
#include <tally/cuda/inputs.hpp>
#include <tally/cuda/load.cuh>
#include <tally/cuda/row_accumulator.cuh>
#include <tally/cuda/row_parts.cuh>
#include <tally/update/exponential_sum.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

/// Threads that share a row: 1, 32 or a whole block.
struct team {
    int rank;
    int size;
};

/// Shared memory for teams of several warps: a place for each warp, and one for each part of a group.
template <class Accumulator>
struct row_scratch {
    using part = tally::detail::part_sums<typename Accumulator::score_type>;
    Accumulator* of_warp;
    part* of_part;
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
