// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/layout/logarithmic_bins.hpp>

#include "support/feeds.hpp"
#include "support/metric_laws.hpp"
#include "support/value_of.hpp"

#include <tally/core/half_bits.hpp>
#include <tally/core/inputs.hpp>
#include <tally/metric/histogram.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace {

using tally::logarithmic_bins;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The cell by comparison with all edges: slow and obvious.
template <class Bins>
std::size_t reference(double x) {
    if (std::isnan(x)) {
        return Bins::nan;
    }
    if (std::isinf(x)) {
        return x < 0 ? Bins::below : Bins::above;
    }
    if (x == 0.0) {
        return Bins::zero;
    }
    // By the magnitude: a positive bin holds its left edge, a negative one its right edge.
    std::size_t k = Bins::zero_bin + 1;
    while (k + 1 < Bins::bins && std::abs(x) >= Bins::edge(k + 1)) {
        ++k;
    }
    return 1 + (x > 0 ? k : 2 * Bins::zero_bin - k);
}

template <class Bins>
void check_value(double x) {
    CAPTURE(x);
    CHECK(Bins::index(x) == reference<Bins>(x));
    auto const single = static_cast<float>(x);
    CHECK(Bins::index(single) == reference<Bins>(static_cast<double>(single)));
    CHECK(Bins::index(static_cast<double>(single)) == Bins::index(single));
}

template <class Bins>
void check_bins() {
    CAPTURE(Bins::sub_bits);
    CAPTURE(Bins::min_exponent);
    static_assert(Bins::cells == Bins::bins + 3 && Bins::nan + 1 == Bins::cells);
    for (double const x : {0.0, -0.0, infinity, -infinity, std::nan(""), -std::nan(""), DBL_MAX, -DBL_MAX, DBL_MIN,
                           5e-324, -5e-324, 1e-45, static_cast<double>(FLT_MAX), static_cast<double>(FLT_MIN)}) {
        check_value<Bins>(x);
    }
    for (std::size_t k = 0; k <= Bins::bins; ++k) {
        auto const edge = Bins::edge(k);
        REQUIRE(std::isfinite(edge));
        CHECK(edge == -Bins::edge(Bins::bins - k));
        if (k > 0) {
            CHECK((k - 1 == Bins::zero_bin ? edge == Bins::edge(k - 1) : edge > Bins::edge(k - 1)));
        }
        for (double const x : {std::nextafter(edge, -infinity), edge, std::nextafter(edge, infinity)}) {
            check_value<Bins>(x);
        }
        auto const nearby = static_cast<float>(edge);
        check_value<Bins>(static_cast<double>(std::nextafterf(nearby, -INFINITY)));
        check_value<Bins>(static_cast<double>(std::nextafterf(nearby, INFINITY)));
    }
}

TEST_CASE("logarithmic_bins: the cell agrees with a search of the edges, for float and double") {
    check_bins<logarithmic_bins<0>>();
    check_bins<logarithmic_bins<2>>();
    check_bins<logarithmic_bins<2, -48, 16>>();
    check_bins<logarithmic_bins<5, -3, 4>>();
    check_bins<logarithmic_bins<7, 0, 1>>();
    static_assert(logarithmic_bins<2, -48, 16>::cells == 520);
    static_assert(logarithmic_bins<3>::index(1.0F) == logarithmic_bins<3>::index(1)); // at compile time, integers too
}

TEST_CASE("logarithmic_bins: random bit patterns of float and double") {
    using narrow = logarithmic_bins<3, -20, 7>;
    std::mt19937_64 random{7};
    for (int i = 0; i < 20000; ++i) {
        auto const bits = random();
        check_value<narrow>(std::bit_cast<double>(bits));
        auto const single = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        if (!std::isnan(single)) {
            check_value<narrow>(static_cast<double>(single));
        }
        CHECK(narrow::index(single) == reference<narrow>(static_cast<double>(single)));
    }
}

TEST_CASE("logarithmic_bins: tiny is exactly subnormal over the range of float, and no float is large") {
    using all = logarithmic_bins<1>;
    CHECK(all::index(FLT_TRUE_MIN) == all::zero + 1);
    CHECK(all::index(std::nextafterf(FLT_MIN, 0.0F)) == all::zero + 1);
    CHECK(all::index(FLT_MIN) == all::zero + 2);
    CHECK(all::index(-FLT_TRUE_MIN) == all::zero - 1);
    CHECK(all::index(FLT_MAX) == all::bins - 1);
    CHECK(all::index(1e39) == all::bins);
    CHECK(all::index(-1e39) == 1);
}

TEST_CASE("logarithmic_bins: the estimate is within relative_error of every value of a regular bin") {
    using some = logarithmic_bins<2, -10, 10>;
    CHECK(some::relative_error == doctest::Approx(1.0 / 9.0));
    double worst = 0.0;
    for (std::size_t k = some::zero_bin + 2; k + 1 < some::bins; ++k) {
        for (double const x : {some::edge(k), std::nextafter(some::edge(k + 1), 0.0)}) {
            worst = std::max(worst, std::abs(some::estimate(k) - x) / x);
        }
        CHECK(some::estimate(k) == -some::estimate(some::bins - 1 - k));
        CHECK(some::index(some::estimate(k)) == k + 1);
    }
    CHECK(worst <= some::relative_error * (1 + 1e-12));
    CHECK(worst > some::relative_error * (1 - 1e-3)); // the bound is met, not only kept
    CHECK(some::estimate(some::zero_bin) == 0.0);
    CHECK(some::index(some::estimate(some::zero_bin + 1)) == some::zero + 1);
    CHECK(some::index(some::estimate(some::bins - 1)) == some::bins);
}

TEST_CASE("logarithmic_bins: histogram counts in them; half, bfloat16 and double agree with float") {
    using bins = logarithmic_bins<2, -48, 16>;
    using metric = tally::histogram<bins, double>;
    using tally::testing::value_of;
    std::vector<double> wide;
    std::vector<float> single;
    std::vector<tally::bfloat16_bits> short_ones;
    std::vector<tally::half_bits> halves;
    for (unsigned bits = 0; bits < 65536; bits += 7) {
        short_ones.push_back({static_cast<std::uint16_t>(bits)});
        wide.push_back(static_cast<double>(tally::widen_bits(short_ones.back())));
        single.push_back(tally::widen_bits(short_ones.back()));
    }
    auto const expected = value_of<metric>(tally::values(wide));
    CHECK(value_of<metric>(tally::values(single)).counts == expected.counts);
    CHECK(value_of<metric>(tally::values(short_ones)).counts == expected.counts);
    std::uint64_t total = expected.below + expected.above + expected.nans;
    for (auto const n : expected.counts) {
        total += n;
    }
    CHECK(total == wide.size());
    CHECK(expected.nans > 0);
    std::vector<float> widened;
    for (unsigned bits = 0; bits < 65536; bits += 5) {
        halves.push_back({static_cast<std::uint16_t>(bits)});
        widened.push_back(tally::widen_bits(halves.back()));
    }
    CHECK(value_of<metric>(tally::values(halves)).counts == value_of<metric>(tally::values(widened)).counts);
}

TEST_CASE("logarithmic_bins: the laws of metrics hold for a histogram in them") {
    using bins = logarithmic_bins<2, -48, 16>;
    tally::testing::check_metric_laws<tally::histogram<bins>>("log histogram", tally::testing::feed::values,
                                                              tally::testing::exactly);
}

} // namespace
