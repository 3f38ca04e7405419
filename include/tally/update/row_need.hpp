// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of row features: what metrics may need of a row of scores, as a set that is known at compile time.
#pragma once

#include <tally/config.hpp>

namespace tally {

/// What to compute. Combine with `|`; a single one becomes a template argument by unary `+`.
enum class row_need : unsigned {
    arg_max = 1,
    max_score = 2,
    target_rank = 4, // greater, equal_before, equal_after
    target_score = 8,
    log_sum_exp = 16, // its two parts, max_score and log_sum
    sum_squares = 32,
    fast_log_sum_exp = 64, // these two in whatever rounding is fast, unless one of the others is needed as well
    fast_sum_squares = 128,
};

[[nodiscard]] TALLY_HD constexpr unsigned operator+(row_need need) noexcept { return static_cast<unsigned>(need); }
[[nodiscard]] TALLY_HD constexpr unsigned operator|(row_need a, row_need b) noexcept { return +a | +b; }
[[nodiscard]] TALLY_HD constexpr unsigned operator|(unsigned a, row_need b) noexcept { return a | +b; }
[[nodiscard]] TALLY_HD constexpr bool has(unsigned needs, row_need need) noexcept { return (needs & +need) != 0; }

namespace detail {

/// A set of needs, taken apart for `if constexpr`.
template <unsigned Needs>
struct needs_of {
    static constexpr bool arg_max = has(Needs, row_need::arg_max);
    static constexpr bool rank = has(Needs, row_need::target_rank);
    static constexpr bool squares = has(Needs, row_need::sum_squares) || has(Needs, row_need::fast_sum_squares);
    static constexpr bool log_sum = has(Needs, row_need::log_sum_exp) || has(Needs, row_need::fast_log_sum_exp);
    static constexpr bool exps = squares || log_sum;
    static constexpr bool fast = !has(Needs, row_need::sum_squares) && !has(Needs, row_need::log_sum_exp);
    static constexpr bool top = arg_max || exps || has(Needs, row_need::max_score);
    static constexpr bool target = rank || has(Needs, row_need::target_score);
};

} // namespace detail
} // namespace tally
