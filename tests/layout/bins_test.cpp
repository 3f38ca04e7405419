// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/layout/bins.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ratio>
#include <vector>

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The bin by comparison with all edges.
template <class Bins>
std::size_t reference(double x) {
    if (std::isnan(x)) {
        return Bins::nan;
    }
    if (x < Bins::lower) {
        return Bins::below;
    }
    if (x > Bins::upper) {
        return Bins::above;
    }
    std::size_t bin = 0;
    while (bin + 1 < Bins::bins && x >= Bins::edge(bin + 1)) {
        ++bin;
    }
    return bin + 1;
}

template <class Bins>
void check_bins() {
    CHECK(Bins::edge(0) == Bins::lower);
    CHECK(Bins::edge(Bins::bins) == Bins::upper);
    CHECK(Bins::cells == Bins::bins + 3);
    std::vector<double> hard{Bins::lower,
                             Bins::upper,
                             0.0,
                             -0.0,
                             infinity,
                             -infinity,
                             std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::lowest(),
                             std::numeric_limits<double>::denorm_min()};
    for (std::size_t k = 0; k <= Bins::bins; ++k) {
        auto const edge = Bins::edge(k);
        for (double const x : {std::nextafter(edge, -infinity), edge, std::nextafter(edge, infinity)}) {
            hard.push_back(x);
        }
        // A number equal to the left edge of a bin is in it, the last right edge as well.
        CHECK(Bins::index(edge) == (k == Bins::bins ? Bins::bins : k + 1));
    }
    for (int i = -50; i < 1050; ++i) {
        hard.push_back(Bins::lower + i * (Bins::upper - Bins::lower) / 1000.0);
    }
    std::size_t faults = 0;
    for (double const x : hard) {
        faults += Bins::index(x) != reference<Bins>(x);
        faults += Bins::index(static_cast<float>(x)) != reference<Bins>(static_cast<double>(static_cast<float>(x)));
    }
    CHECK(faults == 0);
}

} // namespace

TEST_CASE("linear_bins: the edges decide, also for numbers next to them") {
    check_bins<tally::linear_bins<1>>();
    check_bins<tally::linear_bins<3>>();
    check_bins<tally::linear_bins<10>>();
    check_bins<tally::linear_bins<15>>();
    check_bins<tally::linear_bins<4096>>();
    check_bins<tally::linear_bins<7, std::ratio<0>, std::ratio<12>>>();
    check_bins<tally::linear_bins<49, std::ratio<-1, 3>, std::ratio<2, 7>>>();
    check_bins<tally::linear_bins<100, std::ratio<-1'000'000'000'000>, std::ratio<1'000'000'000'001>>>();
    check_bins<tally::linear_bins<33, std::ratio<1, 1'000'000'000'000>, std::ratio<1, 999'999'999'999>>>();
}

TEST_CASE("linear_bins: integers of any type, negative ones included") {
    using bins = tally::linear_bins<4, std::ratio<-60>, std::ratio<60>>;
    CHECK(bins::index(std::int8_t{-60}) == 1);
    CHECK(bins::index(std::int8_t{-1}) == 2);
    CHECK(bins::index(std::uint8_t{60}) == 4);
    CHECK(bins::index(std::uint8_t{255}) == bins::above);
    CHECK(bins::index(std::int8_t{-61}) == bins::below);
    CHECK(bins::index(std::numeric_limits<std::int64_t>::min()) == bins::below);
    CHECK(bins::index(std::numeric_limits<std::uint64_t>::max()) == bins::above);
}

TEST_CASE("linear_bins: one tenth is at an edge that a double can't hold") {
    using tenths = tally::linear_bins<10>;
    CHECK(tenths::index(0.3) == 3); // 0.3 is below 3 * 0.1 in double, the edge of numpy.linspace too
    CHECK(tenths::edge(3) > 0.3);
    CHECK(tenths::index(0.7) == 7);
    CHECK(tenths::edge(7) > 0.7);
    CHECK(tenths::index(0.5) == 6);
}
