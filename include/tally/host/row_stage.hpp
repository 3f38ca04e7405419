// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features of a tile: finds out which ones the metrics need, has them computed in one read of the rows, and turns
// them into the roles that observe asks for. Rows that are not contiguous floats are converted first.
#pragma once

#include <tally/core/roles.hpp>
#include <tally/core/view.hpp>
#include <tally/host/load.hpp>
#include <tally/host/row_features.hpp>
#include <tally/host/tile.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tally::host::detail {

/// The union of row features for roles R..., from scores or from probabilities.
template <bool FromScores, class R>
inline constexpr unsigned needs_of_role = 0;
template <bool S>
inline constexpr unsigned needs_of_role<S, predicted_class> = +row_need::arg_max;
template <bool S>
inline constexpr unsigned needs_of_role<S, target_rank> =
    row_need::target_rank | row_need::target_score | row_need::max_score;
template <bool S, class T>
inline constexpr unsigned needs_of_role<S, target_log_probability<T>> =
    S ? row_need::target_score | row_need::log_sum_exp : +row_need::target_score;
template <bool S, class T>
inline constexpr unsigned needs_of_role<S, target_probability<T>> = needs_of_role<S, target_log_probability<T>>;
template <bool S, class T>
inline constexpr unsigned needs_of_role<S, max_probability<T>> = S ? +row_need::log_sum_exp : +row_need::max_score;
template <bool S, class T>
inline constexpr unsigned needs_of_role<S, squared_probabilities<T>> = S ? +row_need::sum_squares : 0U;
template <bool S, class T>
inline constexpr unsigned needs_of_role<S, row_log_sum_exp<T>> = +row_need::log_sum_exp;
template <bool S, class T>
inline constexpr unsigned needs_of_role<S, class_probability<T>> = S ? +row_need::log_sum_exp : 0U;

/// Element type in which the features of scores of type E are computed: float unless E holds more than float does.
template <class E>
using feature_type = std::conditional_t<widens_to<float, E>, float, double>;

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

/// log softmax of a score of row i. The common part of the scores goes first, while it is exact. Not above 0; NaN for a
/// NaN in the row and for a score that equals an infinite maximum, -inf for one below +inf.
template <class S>
S log_softmax(row_tile<S> const& tile, std::size_t i, S score) {
    return (score - tile.max_score[i]) - tile.log_sum[i];
}

/// Role R of row i of a tile.
template <bool FromScores, class R, class S>
struct row_role_of;

template <bool FromScores, class S>
struct row_role_of<FromScores, predicted_class, S> {
    static class_index get(row_tile<S> const& tile, row_block<S> const&, std::int32_t const*, std::size_t i) {
        return {tile.arg_max[i]};
    }
};
template <bool FromScores, class S>
struct row_role_of<FromScores, target_rank, S> {
    static rank_of_target get(row_tile<S> const& tile, row_block<S> const& rows, std::int32_t const* targets,
                              std::size_t i) {
        auto const has_nan = tile.max_score[i] != tile.max_score[i];
        return {targets[i],          static_cast<std::int32_t>(rows.columns),
                tile.greater[i],     tile.equal_before[i],
                tile.equal_after[i], has_nan};
    }
};
template <bool FromScores, class T, class S>
struct row_role_of<FromScores, target_log_probability<T>, S> {
    static T get(row_tile<S> const& tile, row_block<S> const&, std::int32_t const*, std::size_t i) {
        if constexpr (FromScores) {
            return static_cast<T>(log_softmax(tile, i, tile.target_score[i]));
        } else {
            return static_cast<T>(std::log(tile.target_score[i]));
        }
    }
};
template <bool FromScores, class T, class S>
struct row_role_of<FromScores, target_probability<T>, S> {
    static T get(row_tile<S> const& tile, row_block<S> const&, std::int32_t const*, std::size_t i) {
        auto const score = tile.target_score[i];
        return static_cast<T>(FromScores ? std::exp(log_softmax(tile, i, score)) : score);
    }
};
template <bool FromScores, class T, class S>
struct row_role_of<FromScores, max_probability<T>, S> {
    static T get(row_tile<S> const& tile, row_block<S> const&, std::int32_t const*, std::size_t i) {
        auto const score = tile.max_score[i];
        return static_cast<T>(FromScores ? std::exp(log_softmax(tile, i, score)) : score);
    }
};
template <bool FromScores, class T, class S>
struct row_role_of<FromScores, squared_probabilities<T>, S> {
    static T get(row_tile<S> const& tile, row_block<S> const& rows, std::int32_t const*, std::size_t i) {
        if constexpr (FromScores) {
            return static_cast<T>(tile.sum_squares[i]);
        } else {
            S sum{};
            for (std::size_t c = 0; c < rows.columns; ++c) {
                auto const p = rows.data[i * rows.stride + c];
                sum += p * p;
            }
            return static_cast<T>(sum);
        }
    }
};
template <class T, class S>
struct row_role_of<true, row_log_sum_exp<T>, S> {
    static T get(row_tile<S> const& tile, row_block<S> const&, std::int32_t const*, std::size_t i) {
        using wide = std::common_type_t<S, T>; // a double holds what the sum of two floats can't
        return static_cast<T>(static_cast<wide>(tile.max_score[i]) + static_cast<wide>(tile.log_sum[i]));
    }
};
template <class T, class S>
struct row_role_of<false, row_log_sum_exp<T>, S> {
    static T get(row_tile<S> const&, row_block<S> const&, std::int32_t const*, std::size_t) {
        static_assert(sizeof(T) == 0, "tally: row_log_sum_exp needs scores(...): probabilities are already normalised");
        return T{};
    }
};

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
