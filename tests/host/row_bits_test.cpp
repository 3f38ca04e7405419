// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of exponentials have the same bits at every instruction set and with every compiler: every addition has its place.
#include <tally/core/exp_log.hpp>
#include <tally/core/multiply_add.hpp>
#include <tally/host/row_features.hpp>
#include <tally/update/exponential_sum.hpp>

#include "support/exp_log_cases.hpp"
#include "support/score_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
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
constexpr unsigned fast_sums = row_need::fast_log_sum_exp | row_need::fast_sum_squares;

/// max_score, log_sum and sum_squares of all rows.
template <isa Level, class T, unsigned Needs = sums>
std::vector<T> sums_of(score_rows<T> const& m) {
    row_tile<T> tile{};
    detail::kernels<Level>::template row_features<Needs>(m.scores.data(), m.columns, m.columns, m.rows, nullptr, tile);
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
    std::uint64_t const expected = std::is_same_v<T, float> ? 4055817579474650068U : 2760025990190910353U;
    CHECK(tally::testing::fingerprint_of(all) == expected);
}

namespace {

/// The sum of x as update/exponential_sum.hpp describes it, by recursion: the halves of x are added first.
template <class T>
T tree_of(std::vector<T> x) {
    if (x.size() == 1) {
        return x[0];
    }
    std::size_t const half = x.size() / 2;
    for (std::size_t i = 0; i < half; ++i) x[i] += x[i + half];
    x.resize(half);
    return tree_of(x);
}

template <class T>
struct sum_and_squares {
    T top, above_one, squares;
};

/// Of one part: [begin, end) of a row, all finite.
template <class T>
sum_and_squares<T> sums_of_part(T const* begin, T const* end) {
    T const top = *std::max_element(begin, end);
    std::vector<T> terms(512), squares(512);
    for (T const* s = begin; s != end; ++s) {
        T const e = tally::detail::term_below(*s - top);
        terms[static_cast<std::size_t>(s - begin)] = e;
        squares[static_cast<std::size_t>(s - begin)] = tally::detail::rounded_product(e, e);
    }
    auto const highest = static_cast<T>(std::count(begin, end, top));
    return {top, (highest - 1) + tree_of(terms), highest + tree_of(squares)};
}

/// Of up to 32 parts.
template <class T>
sum_and_squares<T> sums_of_group(T const* begin, T const* end) {
    T const top = *std::max_element(begin, end);
    std::vector<T> terms(32), squares(32);
    bool leading = true;
    std::size_t p = 0;
    for (T const* part = begin; part != end; ++p) {
        T const* const next = end - part > 512 ? part + 512 : end;
        auto const of_part = sums_of_part(part, next);
        T const factor = of_part.top == top ? T{1} : tally::detail::term_below(of_part.top - top);
        terms[p] = tally::detail::rounded_product(of_part.above_one + 1, factor);
        squares[p] = tally::detail::rounded_product(of_part.squares, tally::detail::rounded_product(factor, factor));
        if (of_part.top == top && leading) {
            leading = false;
            terms[p] = of_part.above_one;
            squares[p] = of_part.squares;
        }
        part = next;
    }
    return {top, end - begin <= 512 ? terms[0] : tree_of(terms), end - begin <= 512 ? squares[0] : tree_of(squares)};
}

} // namespace

TEST_CASE_TEMPLATE("sums of exponentials: the tree that is documented", T, float, double) {
    int compared = 0;
    for (std::size_t const columns : column_counts) {
        CAPTURE(columns);
        auto const m = make_score_rows<T>(columns);
        if (columns == 0) {
            continue;
        }
        for (std::size_t r = 0; r < m.rows; ++r) {
            CAPTURE(r);
            T const* const row = m.scores.data() + r * columns;
            if (!std::all_of(row, row + columns, [](T x) { return std::isfinite(x); })) {
                continue;
            }
            // Groups are joined from left to right, in double.
            double above_one = 0, squares = 0;
            T top = -std::numeric_limits<T>::infinity();
            for (std::size_t first = 0; first < columns; first += 16384) {
                auto const group = sums_of_group(row + first, row + std::min(columns, first + 16384));
                auto const factor_of = [](T low, T high) {
                    return low == high ? 1.0 : static_cast<double>(tally::detail::term_below(low - high));
                };
                if (first == 0) {
                    above_one = static_cast<double>(group.above_one);
                    squares = static_cast<double>(group.squares);
                } else if (group.top > top) {
                    double const factor = factor_of(top, group.top);
                    double const scaled = tally::detail::rounded_product(above_one + 1, factor);
                    above_one = static_cast<double>(group.above_one) + scaled;
                    double const square = tally::detail::rounded_product(factor, factor);
                    double const scaled_squares = tally::detail::rounded_product(squares, square);
                    squares = static_cast<double>(group.squares) + scaled_squares;
                } else {
                    double const factor = factor_of(group.top, top);
                    double const more = static_cast<double>(group.above_one) + 1;
                    double const scaled = tally::detail::rounded_product(more, factor);
                    above_one = above_one + scaled;
                    double const square = tally::detail::rounded_product(factor, factor);
                    double const scaled_squares =
                        tally::detail::rounded_product(static_cast<double>(group.squares), square);
                    squares = squares + scaled_squares;
                }
                top = std::max(top, group.top);
            }
            T const log_sum = tally::math::log1p(static_cast<T>(above_one));
            double const sum = above_one + 1;
            auto const sum_squares = static_cast<T>(squares / (sum * sum));
            for_each_level([&]<isa Level>(std::integral_constant<isa, Level>) {
                row_tile<T> tile{};
                detail::kernels<Level>::template row_features<sums>(row, columns, columns, 1, nullptr, tile);
                CHECK(std::memcmp(tile.log_sum, &log_sum, sizeof log_sum) == 0);
                CHECK(std::memcmp(tile.sum_squares, &sum_squares, sizeof sum_squares) == 0);
            });
            ++compared;
        }
    }
    CHECK(compared > 50);
}

TEST_CASE_TEMPLATE("term_below: e^x of negative numbers within its error bound, 0 for all else", T, float, double) {
    using tally::detail::term_below;
    std::mt19937_64 random(3);
    // x is reduced in one step: in float by a fused operation and ln 2 to a fiftieth of a unit, in double with two
    // roundings. Float's polynomial is right to 9.2e-8.
    long double const unit = std::numeric_limits<T>::epsilon();
    T const lowest = sizeof(T) == 4 ? T(-86.9) : T(-707.7);
    long double worst = 0; // error over what is allowed
    for (int k = 0; k < 200000; ++k) {
        T const x = k % 2 == 0 ? std::uniform_real_distribution<T>(lowest, 0)(random)
                               : -std::exp2(std::uniform_real_distribution<T>(-30, 3)(random));
        long double const exact = std::exp(static_cast<long double>(x));
        auto const error = std::fabs(static_cast<long double>(term_below(x)) - exact) / exact;
        auto const allowed = unit * (2 + static_cast<long double>(-x) / (sizeof(T) == 4 ? 32 : 1));
        worst = std::max(worst, error / allowed);
    }
    CHECK(worst <= 1);
    CHECK(worst > 0.25L); // the bound is not an idle one
    T const infinity = std::numeric_limits<T>::infinity();
    for (T const x : {T(0), T(-0.0), T(1), infinity, -infinity, std::numeric_limits<T>::quiet_NaN(),
                      std::numeric_limits<T>::lowest(), sizeof(T) == 4 ? T(-87.5) : T(-708.8)}) {
        CAPTURE(x);
        CHECK(term_below(x) == 0);
    }
    // Products of mantissa and power are normal numbers down to the last one, so that fusing them changes nothing.
    T last = 1;
    for (T x = lowest; term_below(x) != 0; x -= T(1e-5)) last = term_below(x);
    CHECK(last >= std::numeric_limits<T>::min());
    CHECK(last < 4 * std::numeric_limits<T>::min());
}

TEST_CASE_TEMPLATE("sums of exponentials: close to long double, however many groups of columns", T, float, double) {
    for (std::size_t const columns : column_counts) {
        auto const m = make_score_rows<T>(columns);
        auto const got = sums_of<isa::baseline>(m);
        auto const fast = sums_of<isa::baseline, T, fast_sums>(m);
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
            // Two roundings of s - m, then at most 3 units a term and one a level of the trees; and the logarithm.
            long double const unit = std::numeric_limits<T>::epsilon();
            auto const rounding = above_one < 1e-3L ? 40 * unit * above_one : 8 * unit * (above_one + 1) * 4;
            auto const tolerance = rounding / (above_one + 1) + 2 * unit * std::log1p(above_one);
            CHECK(std::fabs(static_cast<long double>(got[m.rows + r]) - std::log1p(above_one)) <= tolerance);
            auto const sum = above_one + 1;
            CHECK(std::fabs(static_cast<long double>(got[2 * m.rows + r]) - squares / (sum * sum)) <=
                  80 * unit * squares / (sum * sum));
            // The fast ones lose what is below a unit of 1 at each level of the tree.
            CHECK(std::fabs(static_cast<long double>(fast[m.rows + r]) - std::log1p(above_one)) <=
                  tolerance + 5 * unit);
            CHECK(std::fabs(static_cast<long double>(fast[2 * m.rows + r]) - squares / (sum * sum)) <=
                  80 * unit * squares / (sum * sum));
        }
    }
}

TEST_CASE_TEMPLATE("sums of exponentials: fast ones tell the same of NaN and of infinities", T, float, double) {
    for (std::size_t const columns : column_counts) {
        CAPTURE(columns);
        auto const m = make_score_rows<T>(columns);
        auto const expected = sums_of<isa::baseline>(m);
        for_each_level([&]<isa Level>(std::integral_constant<isa, Level>) {
            auto const fast = sums_of<Level, T, fast_sums>(m);
            for (std::size_t i = 0; i < fast.size(); ++i) {
                CHECK((fast[i] != fast[i]) == (expected[i] != expected[i]));
                CHECK(std::isinf(fast[i]) == std::isinf(expected[i]));
                CHECK(!(std::fabs(fast[i] - expected[i]) > T(1e-5)));
            }
        });
    }
}

TEST_CASE_TEMPLATE("sums of exponentials: a fast one beside a reproducible one is that one", T, float, double) {
    constexpr unsigned both = sums | fast_sums;
    for (std::size_t const columns : {std::size_t{10}, std::size_t{100}, std::size_t{1000}}) {
        auto const m = make_score_rows<T>(columns);
        CHECK(same_bits(sums_of<isa::baseline, T, both>(m), sums_of<isa::baseline>(m)));
    }
}

TEST_CASE("log_sum: a confident row keeps the little that it has over 0") {
    std::vector<float> const scores{0, -20, -25};
    row_tile<float> tile;
    row_features<+row_need::log_sum_exp>(scores.data(), 3, 3, 1, nullptr, tile);
    CHECK(tile.log_sum[0] == doctest::Approx(std::exp(-20.0) + std::exp(-25.0)).epsilon(1e-6));
}
