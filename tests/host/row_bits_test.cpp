// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of exponentials have the same bits at every instruction set, with every compiler and in every order of the
// columns of a part.
#include <tally/host/row_features.hpp>

#include "support/exp_log_cases.hpp"
#include "support/score_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace {

using namespace tally::host;
using detail::isa;
using tally::testing::column_counts;
using tally::testing::make_score_rows;
using tally::testing::score_rows;

constexpr unsigned sums = row_need::log_sum_exp | row_need::sum_squares;

/// max_score, log_sum and sum_squares of all rows.
template <isa Level, class T>
std::vector<T> sums_of(score_rows<T> const& m) {
    row_tile<T> tile{};
    detail::kernels<Level>::template row_features<sums>(m.scores.data(), m.columns, m.columns, m.rows, nullptr, tile);
    std::vector<T> all(tile.max_score, tile.max_score + m.rows);
    all.insert(all.end(), tile.log_sum, tile.log_sum + m.rows);
    all.insert(all.end(), tile.sum_squares, tile.sum_squares + m.rows);
    return all;
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](T x, T y) {
               return (x != x && y != y) || std::memcmp(&x, &y, sizeof x) == 0;
           });
}

template <class F>
void for_each_level(F const& f) {
    f(std::integral_constant<isa, isa::baseline>{});
#if defined(__x86_64__)
    if (detail::cpu_has(isa::avx2)) f(std::integral_constant<isa, isa::avx2>{});
    if (detail::cpu_has(isa::avx512)) f(std::integral_constant<isa, isa::avx512>{});
#endif
}

} // namespace

TEST_CASE_TEMPLATE("sums of exponentials: the same bits at every instruction set", T, float, double) {
    for (std::size_t const columns : column_counts) {
        CAPTURE(columns);
        auto const m = make_score_rows<T>(columns);
        auto const expected = sums_of<isa::baseline>(m);
        for_each_level(
            [&]<isa Level>(std::integral_constant<isa, Level>) { CHECK(same_bits(sums_of<Level>(m), expected)); });
    }
}

TEST_CASE_TEMPLATE("sums of exponentials: the bits that every build gives", T, float, double) {
    std::vector<T> all;
    for (std::size_t const columns : column_counts) {
        auto const some = sums_of<isa::baseline>(make_score_rows<T>(columns));
        all.insert(all.end(), some.begin(), some.end());
    }
    std::uint64_t const expected = std::is_same_v<T, float> ? 10809421796411679330U : 7818895788901113615U;
    CHECK(tally::testing::fingerprint_of(all) == expected);
}

TEST_CASE_TEMPLATE("sums of exponentials: the order of the columns of a part does not show", T, float, double) {
    std::mt19937 random(1);
    for (std::size_t const columns : column_counts) {
        CAPTURE(columns);
        auto m = make_score_rows<T>(columns);
        auto const expected = sums_of<isa::baseline>(m);
        for (std::size_t r = 0; r < m.rows; ++r) {
            for (std::size_t part = 0; part < columns; part += 512) {
                auto const from = m.scores.begin() + static_cast<std::ptrdiff_t>(r * columns + part);
                std::shuffle(from, from + static_cast<std::ptrdiff_t>(std::min<std::size_t>(512, columns - part)),
                             random);
            }
        }
        for_each_level(
            [&]<isa Level>(std::integral_constant<isa, Level>) { CHECK(same_bits(sums_of<Level>(m), expected)); });
    }
}

TEST_CASE_TEMPLATE("sums of exponentials: close to long double, however many groups of columns", T, float, double) {
    for (std::size_t const columns : column_counts) {
        auto const m = make_score_rows<T>(columns);
        auto const got = sums_of<isa::baseline>(m);
        for (std::size_t r = 0; r < m.rows; ++r) {
            auto const* const row = m.scores.data() + r * columns;
            auto const* const highest = std::max_element(row, row + columns);
            auto const top = static_cast<long double>(*highest);
            if (!std::isfinite(top) || std::any_of(row, row + columns, [](T x) { return x != x; })) {
                continue;
            }
            long double above_one = 0, squares = 0;
            for (std::size_t c = 0; c < columns; ++c) {
                auto const e = std::exp(static_cast<long double>(row[c]) - top);
                above_one += row + c == highest ? 0 : e;
                squares += e * e;
            }
            CAPTURE(columns);
            CAPTURE(r);
            // Rounded differences s - m, then at most 3 units a term, and half a unit of the grid; and the logarithm.
            long double const unit = std::numeric_limits<T>::epsilon();
            auto const grid = static_cast<long double>(columns) * (sizeof(T) == 4 ? 0x1p-45L : 0x1p-97L);
            auto const rounding = above_one < 1e-3L ? 40 * unit * above_one : 8 * unit * (above_one + 1) * 4;
            auto const tolerance = (grid + rounding) / (above_one + 1) + 2 * unit * std::log1p(above_one);
            CHECK(std::fabs(static_cast<long double>(got[m.rows + r]) - std::log1p(above_one)) <= tolerance);
            auto const sum = above_one + 1;
            CHECK(std::fabs(static_cast<long double>(got[2 * m.rows + r]) - squares / (sum * sum)) <=
                  80 * unit * squares / (sum * sum) + grid);
        }
    }
}

TEST_CASE("log_sum: a confident row keeps the little that it has over 0") {
    std::vector<float> const scores{0, -20, -25};
    row_tile<float> tile;
    row_features<+row_need::log_sum_exp>(scores.data(), 3, 3, 1, nullptr, tile);
    CHECK(tile.log_sum[0] == doctest::Approx(std::exp(-20.0) + std::exp(-25.0)).epsilon(1e-5));
}
