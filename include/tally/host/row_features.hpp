// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features of a score matrix (samples x classes): what classification metrics need of each row, computed together
// while the row is in cache, so the matrix is read from memory once. A row's features depend on that row alone, not on
// its place in a tile, its alignment or its neighbours: any partition of the rows gives the same bits.
#pragma once

#include <tally/host/detail/isa.hpp>
#include <tally/host/detail/kernels.hpp>
#include <tally/host/detail/row_tile.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::host {

/// Computes the features `Needs` (of `row_need`) of `rows` rows into `out`.
///
/// `scores`: `rows` x `columns`, row r starts at `scores + r * row_stride` (in elements), a row is contiguous; any
/// alignment of T will do. `rows` <= `tile_rows`, `columns` <= 2^31 - 1; either may be 0. `targets`: `rows` class
/// indices, read only for a need about the target. T: float or double.
///
/// Special rows. A NaN anywhere: `arg_max` -1; `max_score`, `log_sum_exp` and `sum_squares` NaN; the worst rank, that
/// is `greater` = `columns` and no equal scores. A target outside [0, columns): the worst rank, `target_score` NaN;
/// nothing is read outside the row. All -inf, or no columns: `log_sum_exp` -inf, `sum_squares` NaN. A +inf, no NaN:
/// `log_sum_exp` +inf, `sum_squares` NaN.
///
/// Ranks and arg_max are the same on every CPU; sums of exponentials may differ in their last bits between instruction
/// sets. Their terms are within 1.2 ulp and the rounding of s - m, and added in T in short chains, the blocks of a long
/// row in double; terms below the smallest normal number may be dropped. Allocates nothing, throws nothing, may run
/// concurrently.
template <unsigned Needs, class T, detail::isa Built = detail::compiled_isa>
void row_features(T const* scores, std::size_t row_stride, std::size_t columns, std::size_t rows,
                  std::int32_t const* targets, row_tile<T>& out) noexcept {
    detail::with_best_kernels<Built>([&]<class Kernels>(Kernels) {
        Kernels::template row_features<Needs>(scores, row_stride, columns, rows, targets, out);
    });
}

/// `out[i] = exp(scores[i] - log_sum_exp)`: the softmax of a row whose `log_sum_exp` is known. In place
/// (`out == scores`) is fine. exp is within 1.2 ulp; results below the smallest normal number may be 0. A row with a
/// NaN or an infinite `log_sum_exp` gives what IEEE arithmetic gives. T: float or double.
template <class T, detail::isa Built = detail::compiled_isa>
void softmax_row(T const* scores, std::size_t columns, T log_sum_exp, T* out) noexcept {
    detail::with_best_kernels<Built>(
        [&]<class Kernels>(Kernels) { Kernels::softmax_row(scores, columns, log_sum_exp, out); });
}

} // namespace tally::host
