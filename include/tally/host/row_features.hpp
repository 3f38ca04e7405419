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
/// The log of the sum of exponentials comes as `max_score` and `log_sum`, not added up: near 1e8 a float has no digits
/// for it. A log softmax is `(s - max_score) - log_sum`, in which what the scores have in common cancels exactly.
///
/// Special rows. A NaN anywhere: `arg_max` -1; `max_score`, `log_sum` and `sum_squares` NaN; the worst rank, that is
/// `greater` = `columns` and no equal scores. A target outside [0, columns): the worst rank, `target_score` NaN;
/// nothing is read outside the row. All -inf, or no columns: `max_score` -inf, `log_sum` 0, `sum_squares` NaN. A +inf,
/// no NaN: `max_score` +inf, `log_sum` 0, `sum_squares` NaN.
///
/// All features have the same bits on every CPU and from every compiler, and, but for the `fast_` ones, sums those of the
/// device engine: see tally/update/exponential_sum.hpp. A term is e^(s - m), m the highest score of its 512 columns, within
/// 2 ulp and two roundings of s - m (double: three). log_sum is accurate relative to itself, within some 10 ulp and these roundings, however small: a
/// confident row keeps its small loss. The `fast_` needs are within some 5 ulp of 1 instead.
/// Allocates nothing, throws nothing, may run concurrently.
template <unsigned Needs, class T, detail::isa Built = detail::compiled_isa>
void row_features(T const* scores, std::size_t row_stride, std::size_t columns, std::size_t rows,
                  std::int32_t const* targets, row_tile<T>& out) noexcept {
    detail::with_best_kernels<Built>([&]<class Kernels>(Kernels) {
        Kernels::template row_features<Needs>(scores, row_stride, columns, rows, targets, out);
    });
}

/// `out[i] = exp((scores[i] - max_score) - log_sum)`: the softmax of a row of which `row_features` gave these two; none
/// is above 1 then. In place (`out == scores`) is fine. exp is tally::math::exp; results below the smallest normal number
/// may be 0. A row with a NaN or an infinite `max_score` gives what IEEE arithmetic gives: NaN everywhere after a NaN;
/// NaN for a score that equals an infinite `max_score`, and 0 for those below +inf. T: float or double.
template <class T, detail::isa Built = detail::compiled_isa>
void softmax_row(T const* scores, std::size_t columns, T max_score, T log_sum, T* out) noexcept {
    detail::with_best_kernels<Built>(
        [&]<class Kernels>(Kernels) { Kernels::softmax_row(scores, columns, max_score, log_sum, out); });
}

} // namespace tally::host
