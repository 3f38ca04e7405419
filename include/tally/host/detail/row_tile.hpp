// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the row features of a tile go (`row_tile`). Public through tally/host/row_features.hpp, which says what each one
// is for special rows; a header of its own because the kernels need it as well.
#pragma once

#include <tally/update/exponential_sum.hpp>
#include <tally/update/row_need.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::host {

using tally::has;
using tally::row_need;

inline constexpr std::size_t tile_rows = 64;

/// Features of up to `tile_rows` rows, one array per feature. The caller owns the memory; only the arrays that were
/// asked for are written, and their entries beyond the given rows are unspecified.
template <class T>
struct row_tile {
    std::int32_t arg_max[tile_rows];      // lowest index of the highest score; -1 if the row has a NaN or no columns
    T max_score[tile_rows];               // a zero is +0; NaN if the row has a NaN; -inf if it has no columns
    std::int32_t greater[tile_rows];      // scores above the target's
    std::int32_t equal_before[tile_rows]; // scores equal to the target's, at a lower index
    std::int32_t equal_after[tile_rows];  // scores equal to the target's, at a higher index
    T target_score[tile_rows];            // NaN if the target is out of range
    T log_sum[tile_rows];                 // log(sum of exp(s - max_score)), >= 0: what log_sum_exp has over max_score
    T sum_squares[tile_rows];             // of the softmax: sum of exp(2 (s - m)) / (sum of exp(s - m))^2
};

namespace detail {

/// What the kernels hand on per row; the logarithm is taken later, for the whole tile.
template <class T>
struct row_sums {
    T top[tile_rows];              // highest score, NaN for a row with a NaN
    double above_one[tile_rows];   // sum of exp(s - top), less 1; anything where top is not finite
    double exp_squares[tile_rows]; // sum of its squares
};

using tally::detail::exponentials;
using tally::detail::needs_of;
using tally::detail::part_sums;
using tally::detail::term_constants;

[[nodiscard]] constexpr bool in_range(std::int32_t target, std::size_t columns) noexcept {
    return target >= 0 && static_cast<std::size_t>(target) < columns;
}

template <class T>
inline constexpr T infinity = static_cast<T>(__builtin_huge_val());
template <class T>
inline constexpr T not_a_number = static_cast<T>(__builtin_nan(""));

} // namespace detail
} // namespace tally::host
