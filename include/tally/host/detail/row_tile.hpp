// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of row features: which ones there are (`row_need`) and where they go (`row_tile`). Public through
// tally/host/row_features.hpp, which says what each one is for special rows; a header of its own because the kernels
// need it as well.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::host {

/// What to compute. Combine with `|`; a single one becomes a template argument by unary `+`.
enum class row_need : unsigned {
    arg_max = 1,
    max_score = 2,
    target_rank = 4, // greater, equal_before, equal_after
    target_score = 8,
    log_sum_exp = 16, // its two parts, max_score and log_sum
    sum_squares = 32,
};

[[nodiscard]] constexpr unsigned operator+(row_need need) noexcept { return static_cast<unsigned>(need); }
[[nodiscard]] constexpr unsigned operator|(row_need a, row_need b) noexcept { return +a | +b; }
[[nodiscard]] constexpr unsigned operator|(unsigned a, row_need b) noexcept { return a | +b; }
[[nodiscard]] constexpr bool has(unsigned needs, row_need need) noexcept { return (needs & +need) != 0; }

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
    T top[tile_rows];         // highest score, NaN for a row with a NaN
    T exps[tile_rows];        // sum of exp(s - top), 0 or NaN where top is infinite
    T exp_squares[tile_rows]; // sum of its squares
};

/// A set of needs, taken apart for `if constexpr`.
template <unsigned Needs>
struct needs_of {
    static constexpr bool arg_max = has(Needs, row_need::arg_max);
    static constexpr bool rank = has(Needs, row_need::target_rank);
    static constexpr bool squares = has(Needs, row_need::sum_squares);
    static constexpr bool exps = squares || has(Needs, row_need::log_sum_exp);
    static constexpr bool top = arg_max || exps || has(Needs, row_need::max_score);
    static constexpr bool target = rank || has(Needs, row_need::target_score);
};

[[nodiscard]] constexpr bool in_range(std::int32_t target, std::size_t columns) noexcept {
    return target >= 0 && static_cast<std::size_t>(target) < columns;
}

template <class T>
inline constexpr T infinity = static_cast<T>(__builtin_huge_val());
template <class T>
inline constexpr T not_a_number = static_cast<T>(__builtin_nan(""));

} // namespace detail
} // namespace tally::host
