// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features of a tile: finds out which ones the metrics need, has them computed in one read of the rows, and turns
// them into the roles that observe asks for. Rows that are not contiguous floats are converted first.
#pragma once

#include <tally/core/view.hpp>
#include <tally/host/load.hpp>
#include <tally/host/row_features.hpp>
#include <tally/host/tile.hpp>
#include <tally/update/row_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tally::host::detail {

using tally::detail::is_squared_probabilities;
using tally::detail::role_of_row;
using tally::detail::row_values;

/// The rows of a tile as contiguous elements of S.
template <class S>
struct row_block {
    S const* data;
    std::size_t stride;
    std::size_t columns;
};

/// Rows that are read in place allow whole tiles; converted ones are kept small enough for the second-level cache.
inline constexpr std::size_t converted_elements = 16384;

template <class S, class View>
bool in_place(View const& view) {
    if constexpr (std::is_same_v<typename View::element_type, S>) {
        return view.column_stride == 1 && view.row_stride >= 0;
    } else {
        return false;
    }
}

/// How many rows a tile may hold.
template <class S, class View>
std::size_t rows_per_tile(View const& view) {
    if (in_place<S>(view)) {
        return tile_rows;
    }
    auto const columns = std::max<std::size_t>(tally::detail::columns_in(view), 1);
    return std::clamp<std::size_t>(converted_elements / columns, 1, tile_rows);
}

/// Makes room in `converted` for the rows of a tile, unless they are read in place.
template <class S, class View>
void reserve_rows(View const& view, std::vector<S>& converted) {
    auto const elements = in_place<S>(view) ? 0 : rows_per_tile<S>(view) * tally::detail::columns_in(view);
    if (converted.size() < elements) {
        converted.resize(elements);
    }
}

/// Rows [first, first + n), in place or from `converted`, for which reserve_rows has made room.
template <class S, class View>
row_block<S> load_rows(View const& view, std::size_t first, std::size_t n, std::vector<S>& converted) {
    auto const columns = tally::detail::columns_in(view);
    if (in_place<S>(view)) {
        if constexpr (std::is_same_v<typename View::element_type, S>) {
            return {view.data + first * static_cast<std::size_t>(view.row_stride),
                    static_cast<std::size_t>(view.row_stride), columns};
        }
    }
    for (std::size_t row = 0; row < n; ++row) {
        load_row<S>(view, first + row, 0, columns, converted.data() + row * columns);
    }
    return {converted.data(), columns, columns};
}

/// Everything known about row i of a tile.
template <class S>
row_values<S> row_of(row_tile<S> const& tile, row_block<S> const& rows, std::int32_t const* targets, std::size_t i) {
    return {tile.arg_max[i],
            targets != nullptr ? targets[i] : 0,
            static_cast<std::int32_t>(rows.columns),
            tile.greater[i],
            tile.equal_before[i],
            tile.equal_after[i],
            tile.max_score[i],
            tile.target_score[i],
            tile.log_sum[i],
            tile.sum_squares[i]};
}

/// Role R of row i of a tile.
template <bool FromScores, class R, class S>
typename R::value_type role_of_tile(row_tile<S> const& tile, row_block<S> const& rows, std::int32_t const* targets,
                                    std::size_t i) {
    auto row = row_of(tile, rows, targets, i);
    if constexpr (!FromScores && is_squared_probabilities<R>) { // no row feature of the SIMD kernels
        S sum{};
        for (std::size_t c = 0; c < rows.columns; ++c) {
            auto const p = rows.data[i * rows.stride + c];
            sum += p * p;
        }
        row.sum_squares = sum;
    }
    return role_of_row<FromScores, R>(row);
}

/// Probabilities of the classes [first, first + n) of row i.
template <bool FromScores, class T, class S>
void class_probabilities(row_tile<S> const& tile, row_block<S> const& rows, std::size_t i, std::size_t first,
                         std::size_t n, T* out) {
    S const* const row = rows.data + i * rows.stride + first;
    if constexpr (FromScores && std::is_same_v<T, S>) {
        softmax_row(row, n, tile.max_score[i], tile.log_sum[i], out);
    } else if constexpr (FromScores) {
        S probabilities[tile_samples];
        softmax_row(row, n, tile.max_score[i], tile.log_sum[i], probabilities);
        std::transform(probabilities, probabilities + n, out, [](S p) { return static_cast<T>(p); });
    } else {
        std::transform(row, row + n, out, [](S p) { return static_cast<T>(p); });
    }
}

} // namespace tally::host::detail
