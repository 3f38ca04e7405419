// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features of one tile at one instruction set: chooses between the two kernels by the number of columns alone, so
// a row's bits don't depend on the tile, and takes the logarithms at the end.

/// log(1 + x) of a tile.
template <class T>
[[gnu::always_inline]] inline void log1p_of(double const* x, std::size_t rows, T (&out)[tile_rows]) noexcept {
    if constexpr (sizeof(T) == sizeof(float)) {
        using V = simd<float>;
        for (std::size_t r = 0; r < tile_rows; ++r) out[r] = r < rows ? static_cast<float>(x[r]) : 0.0F;
        for (std::size_t r = 0; r < rows; r += V::lanes) log1p(V::load(out + r)).store(out + r);
    } else {
        for (std::size_t r = 0; r < rows; ++r) out[r] = math::log1p(x[r]);
    }
}

/// Turns the sums of a tile into the features that depend on them.
template <unsigned Needs, class T>
[[gnu::always_inline]] inline void finish_rows(row_sums<T> const& sums, std::size_t rows, row_tile<T>& out) noexcept {
    using need = needs_of<Needs>;
    T logs[tile_rows];
    if constexpr (need::log_sum) log1p_of(sums.above_one, rows, logs);
    for (std::size_t r = 0; r < rows; ++r) {
        T const top = sums.top[r] + T{0}; // -0 + 0 is +0: which of two equal zeros was met first must not show
        bool const finite = top - top == T{0};
        if constexpr (has(Needs, row_need::max_score) || need::log_sum) out.max_score[r] = top;
        if constexpr (need::log_sum) {
            // An infinite highest score has no sum: 0 keeps max_score + log_sum what it should be.
            out.log_sum[r] = finite ? logs[r] : top != top ? top : T{0};
        }
        if constexpr (need::squares) {
            double const sum = sums.above_one[r] + 1.0;
            auto const squares = static_cast<T>(sums.exp_squares[r] / (sum * sum));
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
