// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features of one tile at one instruction set: chooses between the two kernels by the number of columns alone, so
// a row's bits don't depend on the tile, and takes the logarithms at the end.

/// Up to this many columns a lane is a row. At least the lanes of a vector, which a long row must fill.
inline constexpr std::size_t short_columns = 48;

/// Turns the sums of a tile into the features that depend on them.
template <unsigned Needs, class T>
[[gnu::always_inline]] inline void finish_rows(row_sums<T> const& sums, std::size_t rows, row_tile<T>& out) noexcept {
    for (std::size_t r = 0; r < rows; ++r) {
        T const top = sums.top[r] + T{0}; // -0 + 0 is +0: which of two equal zeros was met first must not show
        bool const finite = top - top == T{0};
        if constexpr (has(Needs, row_need::max_score) || has(Needs, row_need::log_sum_exp)) out.max_score[r] = top;
        if constexpr (has(Needs, row_need::log_sum_exp)) {
            T log;
            if constexpr (sizeof(T) == sizeof(float)) {
                log = __builtin_logf(sums.exps[r]);
            } else {
                log = __builtin_log(sums.exps[r]);
            }
            // An infinite highest score has no sum: 0 keeps max_score + log_sum what it should be.
            out.log_sum[r] = finite ? log : top != top ? top : T{0};
        }
        if constexpr (has(Needs, row_need::sum_squares)) {
            T const squares = sums.exp_squares[r] / (sums.exps[r] * sums.exps[r]);
            out.sum_squares[r] = finite ? squares : not_a_number<T>;
        }
    }
}

template <unsigned Needs, isa Built, class T>
void row_features(T const* scores, std::size_t row_stride, std::size_t columns, std::size_t rows,
                  std::int32_t const* targets, row_tile<T>& out) noexcept {
    constexpr std::size_t lanes = simd<T>::lanes;
    using need = needs_of<Needs>;
    static_assert(short_columns >= lanes);

    row_sums<T> sums;
    if (columns > short_columns) {
        for (std::size_t r = 0; r < rows; ++r) {
            long_row_features<Needs>(scores + r * row_stride, columns, need::target ? targets[r] : 0, r, row_stride,
                                     out, sums);
        }
    } else {
        T buffer[short_columns * lanes];
        int_like<T> tile_targets[lanes] = {};
        for (std::size_t first = 0; first < rows; first += lanes) {
            for (std::size_t k = 0; k < lanes; ++k) {
                std::size_t const r = first + k < rows ? first + k : rows - 1;
                T const* const row = scores + r * row_stride;
                for (std::size_t c = 0; c < columns; ++c) buffer[c * lanes + k] = row[c];
                if constexpr (need::target) tile_targets[k] = targets[r];
            }
            short_rows_features<Needs>(buffer, columns, tile_targets, first, out, sums);
        }
        if constexpr (need::arg_max) {
            for (std::size_t r = 0; columns == 0 && r < rows; ++r) out.arg_max[r] = -1;
        }
    }
    if constexpr (need::top) finish_rows<Needs>(sums, rows, out);
}
