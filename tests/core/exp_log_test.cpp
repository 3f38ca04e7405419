// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// exp, log and log1p: errors against long double, special values, and the bits that every build must give.
#include <tally/core/exp_log.hpp>

#include "support/exp_log_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

template <class T, class F>
std::vector<T> map(std::vector<T> const& x, F const& f) {
    std::vector<T> y;
    for (T const v : x) {
        y.push_back(f(v));
    }
    return y;
}

/// The greatest error in units in the last place where the result is a normal number.
template <class T, class F, class Exact>
double worst_ulp(std::vector<T> const& arguments, F const& f, Exact const& exact) {
    using limits = std::numeric_limits<T>;
    double worst = 0;
    int wrong = 0;
    for (T const x : arguments) {
        T const got = f(x);
        long double const want = exact(static_cast<long double>(x));
        if (std::isnan(want)) {
            wrong += !std::isnan(got);
        } else if (std::fabs(want) < static_cast<long double>(limits::min())) {
            wrong += !(std::fabs(static_cast<long double>(got) - want) <= static_cast<long double>(limits::min()));
        } else if (std::isinf(static_cast<T>(want))) {
            wrong += !(std::fabs(got) >= limits::max() && std::signbit(got) == std::signbit(want));
        } else {
            int exponent = 0;
            static_cast<void>(std::frexp(want, &exponent));
            auto const ulp = std::ldexp(1.0L, exponent - limits::digits);
            worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(got) - want) / ulp));
        }
    }
    CHECK(wrong == 0);
    return worst;
}

} // namespace

TEST_CASE_TEMPLATE("exp, log, log1p: errors in units in the last place", T, float, double) {
    static_assert(LDBL_MANT_DIG >= 64, "the reference must hold more than a double");
    bool const wide = std::is_same_v<T, double>;
    auto const x = tally::testing::arguments_of(T{});
    auto const exp = worst_ulp(
        x, [](T v) { return tally::math::exp(v); }, [](long double v) { return std::exp(v); });
    auto const log = worst_ulp(
        x, [](T v) { return tally::math::log(v); }, [](long double v) { return std::log(v); });
    auto const log1p = worst_ulp(
        x, [](T v) { return tally::math::log1p(v); }, [](long double v) { return std::log1p(v); });
    CHECK(exp < (wide ? 2.0 : 1.0)); // float: 0.910 over all of them, here fewer
    CHECK(log < 1.0);                // 0.961
    CHECK(log1p < 1.7);              // 1.625
}

TEST_CASE_TEMPLATE("exp, log, log1p: special values", T, float, double) {
    namespace math = tally::math;
    T const infinity = std::numeric_limits<T>::infinity();
    T const nan = std::numeric_limits<T>::quiet_NaN();
    T const least = std::numeric_limits<T>::denorm_min();
    CHECK(math::exp(T{0}) == 1);
    CHECK(math::exp(-T{0}) == 1);
    CHECK(math::exp(infinity) == infinity);
    CHECK(math::exp(-infinity) == 0);
    CHECK(math::exp(std::numeric_limits<T>::max()) == infinity);
    CHECK(math::exp(std::numeric_limits<T>::lowest()) == 0);
    CHECK(std::isnan(math::exp(nan)));
    CHECK(math::log(T{1}) == 0);
    CHECK(math::log(T{0}) == -infinity);
    CHECK(math::log(-T{0}) == -infinity);
    CHECK(std::isnan(math::log(-least)));
    CHECK(std::isnan(math::log(-infinity)));
    CHECK(math::log(infinity) == infinity);
    CHECK(std::isnan(math::log(nan)));
    CHECK(math::log(least) == static_cast<T>(std::log(static_cast<long double>(least))));
    CHECK(math::log1p(T{0}) == 0);
    CHECK_FALSE(std::signbit(math::log1p(T{0})));
    CHECK(std::signbit(math::log1p(-T{0})));
    CHECK(math::log1p(least) == least);
    CHECK(math::log1p(-least) == -least);
    CHECK(math::log1p(T{-1}) == -infinity);
    CHECK(std::isnan(math::log1p(std::nextafter(T{-1}, T{-2}))));
    CHECK(std::isnan(math::log1p(-infinity)));
    CHECK(math::log1p(infinity) == infinity);
    CHECK(std::isnan(math::log1p(nan)));
}

TEST_CASE_TEMPLATE("exp, log, log1p: the bits that every build gives", T, float, double) {
    auto const x = tally::testing::arguments_of(T{});
    using expected = tally::testing::fingerprints<T>;
    auto const of = [&](auto const& f) { return tally::testing::fingerprint_of(map(x, f)); };
    CHECK(of([](T v) { return tally::math::exp(v); }) == expected::exp);
    CHECK(of([](T v) { return tally::math::log(v); }) == expected::log);
    CHECK(of([](T v) { return tally::math::log1p(v); }) == expected::log1p);
    // The same without asking the CPU.
    tally::detail::any_multiply_add const by{};
    CHECK(of([&](T v) { return tally::math::detail::exp_function::of(v, by); }) == expected::exp);
    CHECK(of([&](T v) { return tally::math::detail::log_function::of(v, by); }) == expected::log);
    CHECK(of([&](T v) { return tally::math::detail::log1p_function::of(v, by); }) == expected::log1p);
}

TEST_CASE("multiply_add of float: one rounding, also without an instruction for it") {
    auto const float_of = [](std::uint32_t bits) {
        float x;
        std::memcpy(&x, &bits, sizeof x);
        return x;
    };
    std::uint32_t state = 12345;
    auto const next = [&] { return state = state * 1664525U + 1013904223U; };
    int wrong = 0;
    for (int i = 0; i < 300000; ++i) {
        // Exponents near 0: sums that are close to halves of a unit.
        float const a = float_of(0x3f000000U + (next() >> 7));
        float const b = float_of(0x3f000000U + (i % 3 == 0 ? (next() >> 20) << 13 : next() >> 7));
        float const c = float_of((next() & 0x80000000U) | ((110U + static_cast<unsigned>(i) % 30U) << 23) |
                                 (i % 2 == 0 ? next() >> 9 : 1U << (next() >> 28)));
        wrong += tally::detail::multiply_add(a, b, c) != std::fmaf(a, b, c);
    }
    CHECK(wrong == 0);
    // 1 + 2^-23 + 2^-24 - 2^-60: rounded to double first it would be a tie, whose even neighbour is 1 + 2^-22.
    float const a = 1.0F + 0x1p-18F;
    float const b = 0x1p-24F * (1.0F - 0x1p-18F);
    CHECK(tally::detail::multiply_add(a, b, 1.0F + 0x1p-23F) == 1.0F + 0x1p-23F);
    CHECK(tally::detail::multiply_add(-a, b, -1.0F - 0x1p-23F) == -1.0F - 0x1p-23F);
}
