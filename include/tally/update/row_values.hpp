// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The features of one row of scores or probabilities, and the roles that observe asks for made of them. Engines compute
// the features; what a role means is said here once.
#pragma once

#include <tally/config.hpp>
#include <tally/core/exp_log.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/widen.hpp>
#include <tally/update/row_need.hpp>

#include <cstdint>
#include <type_traits>

namespace tally::detail {

/// The union of row features for roles R..., from scores or from probabilities.
template <bool FromScores, class R>
inline constexpr unsigned needs_of_role = 0;
template <bool S>
inline constexpr unsigned needs_of_role<S, predicted_class> = +row_need::arg_max;
template <bool S>
inline constexpr unsigned needs_of_role<S, target_rank> =
    row_need::target_rank | row_need::target_score | row_need::max_score;
template <class RowSums>
inline constexpr row_need log_sum_need =
    std::is_same_v<RowSums, row_sums::fast> ? row_need::fast_log_sum_exp : row_need::log_sum_exp;
template <bool S, class T, class P>
inline constexpr unsigned needs_of_role<S, target_log_probability<T, P>> =
    S ? row_need::target_score | log_sum_need<P> : +row_need::target_score;
template <bool S, class T, class P>
inline constexpr unsigned needs_of_role<S, target_probability<T, P>> = needs_of_role<S, target_log_probability<T, P>>;
template <bool S, class T, class P>
inline constexpr unsigned needs_of_role<S, max_probability<T, P>> = S ? +log_sum_need<P> : +row_need::max_score;
template <bool S, class T>
inline constexpr unsigned needs_of_role<S, squared_probabilities<T, row_sums::reproducible>> =
    S ? +row_need::sum_squares : 0U;
template <bool S, class T>
inline constexpr unsigned needs_of_role<S, squared_probabilities<T, row_sums::fast>> =
    S ? +row_need::fast_sum_squares : 0U;
template <bool S, class T, class P>
inline constexpr unsigned needs_of_role<S, row_log_sum_exp<T, P>> = +log_sum_need<P>;
template <bool S, class T>
inline constexpr unsigned needs_of_role<S, class_probability<T>> = S ? +row_need::log_sum_exp : 0U;

/// Element type in which the features of scores of type E are computed: float unless E holds more than float does.
template <class E>
using feature_type = std::conditional_t<widens_to<float, E>, float, double>;

/// What is known about a row; only the features that were asked for are set. See host/row_features.hpp for special rows.
template <class S>
struct row_values {
    std::int32_t arg_max;
    std::int32_t target;
    std::int32_t columns;
    std::int32_t greater;
    std::int32_t equal_before;
    std::int32_t equal_after;
    S max_score;
    S target_score;
    S log_sum;
    S sum_squares;

    /// log softmax of a score of the row. The common part of the scores goes first, while it is exact. Not above 0; NaN
    /// for a NaN in the row and for a score that equals an infinite maximum, -inf for one below +inf.
    [[nodiscard]] TALLY_HD constexpr S log_softmax(S score) const { return (score - max_score) - log_sum; }
};

template <class R>
inline constexpr bool is_squared_probabilities = false;
template <class T, class P>
inline constexpr bool is_squared_probabilities<squared_probabilities<T, P>> = true;

/// Role R of a row.
template <bool FromScores, class R>
struct role_from_row;

template <bool FromScores>
struct role_from_row<FromScores, predicted_class> {
    template <class S>
    TALLY_HD static class_index get(row_values<S> const& row) {
        return {row.arg_max};
    }
};
template <bool FromScores>
struct role_from_row<FromScores, target_rank> {
    template <class S>
    TALLY_HD static rank_of_target get(row_values<S> const& row) {
        auto const has_nan = row.max_score != row.max_score;
        return {row.target, row.columns, row.greater, row.equal_before, row.equal_after, has_nan};
    }
};
template <bool FromScores, class T, class P>
struct role_from_row<FromScores, target_log_probability<T, P>> {
    template <class S>
    TALLY_HD static T get(row_values<S> const& row) {
        if constexpr (FromScores) {
            return static_cast<T>(row.log_softmax(row.target_score));
        } else {
            return static_cast<T>(math::log(row.target_score));
        }
    }
};
template <bool FromScores, class T, class P>
struct role_from_row<FromScores, target_probability<T, P>> {
    template <class S>
    TALLY_HD static T get(row_values<S> const& row) {
        return static_cast<T>(FromScores ? math::exp(row.log_softmax(row.target_score)) : row.target_score);
    }
};
template <bool FromScores, class T, class P>
struct role_from_row<FromScores, max_probability<T, P>> {
    template <class S>
    TALLY_HD static T get(row_values<S> const& row) {
        return static_cast<T>(FromScores ? math::exp(row.log_softmax(row.max_score)) : row.max_score);
    }
};
template <bool FromScores, class T, class P>
struct role_from_row<FromScores, squared_probabilities<T, P>> {
    template <class S>
    TALLY_HD static T get(row_values<S> const& row) {
        return static_cast<T>(row.sum_squares);
    }
};
template <class T, class P>
struct role_from_row<true, row_log_sum_exp<T, P>> {
    template <class S>
    TALLY_HD static T get(row_values<S> const& row) {
        using wide = std::common_type_t<S, T>; // a double holds what the sum of two floats can't
        return static_cast<T>(static_cast<wide>(row.max_score) + static_cast<wide>(row.log_sum));
    }
};
template <class T, class P>
struct role_from_row<false, row_log_sum_exp<T, P>> {
    template <class S>
    TALLY_HD static T get(row_values<S> const&) {
        static_assert(sizeof(T) == 0, "tally: row_log_sum_exp needs scores(...): probabilities are already normalised");
        return T{};
    }
};

template <bool FromScores, class R, class S>
TALLY_HD typename R::value_type role_of_row(row_values<S> const& row) {
    return role_from_row<FromScores, R>::get(row);
}

} // namespace tally::detail
