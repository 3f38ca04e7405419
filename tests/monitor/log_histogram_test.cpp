// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/monitor/log_histogram.hpp>

#include "support/value_of.hpp"

#include <tally/core/inputs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace {

using bins = tally::logarithmic_bins<2, -20, 10>;
using log_histogram = tally::log_histogram<bins>;

constexpr double infinity = std::numeric_limits<double>::infinity();

log_histogram histogram_of(std::vector<double> const& x) {
    std::vector<std::uint64_t> cells(bins::cells);
    for (auto const each : x) {
        ++cells[bins::index(each)];
    }
    return log_histogram{cells};
}

TEST_CASE("log_histogram: totals, and the same from a histogram metric") {
    std::vector<double> const x{0, -0.0, 1, -1, infinity, -infinity, -infinity, std::nan(""), 1e-30, 1e30};
    auto const h = histogram_of(x);
    CHECK(h.total() == 10);
    CHECK(h.finite() == 6);
    CHECK(h.zeros() == 2);
    CHECK(h.nans() == 1);
    CHECK(h.positive_infinities() == 1);
    CHECK(h.negative_infinities() == 2);
    using metric = tally::histogram<bins, double>;
    CHECK(log_histogram{tally::testing::value_of<metric>(tally::values(x))} == h);
    CHECK_THROWS_AS(log_histogram{std::vector<std::uint64_t>(7)}, tally::shape_error);
}

TEST_CASE("log_histogram: a quantile brackets the number of that rank, and its value is within the stated error") {
    std::mt19937_64 random{3};
    std::normal_distribution<double> normal{0.0, 4.0};
    for (std::size_t const n : {1U, 2U, 7U, 1000U}) {
        std::vector<double> x(n);
        for (auto& each : x) {
            each = normal(random) * std::exp2(normal(random));
        }
        if (n > 5) {
            x[0] = x[1] = 0.0;
            x[2] = 1e-9;
            x[3] = -infinity;
            x[4] = 1e9;
        }
        auto const h = histogram_of(x);
        std::sort(x.begin(), x.end());
        for (int i = 0; i <= 100; ++i) {
            auto const q = i / 100.0;
            auto const exact = x[static_cast<std::size_t>(q * static_cast<double>(n - 1))];
            auto const quantile = h.quantile(q);
            CAPTURE(q);
            CAPTURE(exact);
            REQUIRE(quantile.has_value());
            CHECK(quantile.lower() <= exact);
            CHECK(exact <= quantile.upper());
            CHECK(quantile.lower() <= quantile.value());
            CHECK(quantile.value() <= quantile.upper());
            if (std::abs(exact) >= 0x1p-20 && std::abs(exact) < 0x1p10) {
                CHECK(std::abs(quantile.value() - exact) <= bins::relative_error * std::abs(exact) * (1 + 1e-12));
            }
        }
    }
}

TEST_CASE("log_histogram: quantiles of infinities, of nothing, and what is refused") {
    auto const h = histogram_of({-infinity, 1, infinity, std::nan("")});
    CHECK(h.quantile(0).value() == -infinity);
    CHECK(h.quantile(0.5).lower() == 1.0);
    CHECK(h.quantile(1).upper() == infinity);
    CHECK(h.quantile(1).dropped() == 1);
    CHECK(histogram_of({std::nan("")}).quantile(0.5).why() == tally::reason::no_samples);
    CHECK(histogram_of({std::nan("")}).quantile(0.5).dropped() == 1);
    CHECK_THROWS_AS((void)h.quantile(1.5), tally::configuration_error);
    CHECK_THROWS_AS((void)h.quantile(std::nan("")), tally::configuration_error);
}

/// What every sink asks of rows.
void check_rows(std::vector<tally::histogram_row> const& rows, std::uint64_t total) {
    double sum = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(std::isfinite(rows[i].left));
        CHECK(std::isfinite(rows[i].right));
        CHECK(rows[i].left <= rows[i].right);
        if (i > 0) {
            CHECK(rows[i - 1].right == rows[i].left); // no gaps: some readers see right edges only
        }
        sum += rows[i].count;
    }
    CHECK(sum == static_cast<double>(total));
    if (!rows.empty()) {
        CHECK(rows.front().count > 0);
        CHECK(rows.back().count > 0);
    }
}

TEST_CASE("log_histogram: rows ascend, touch, hold all finite values, and have no empty ones outside") {
    check_rows(histogram_of({}).rows(), 0);
    CHECK(histogram_of({std::nan(""), infinity}).rows().empty());
    auto const zeros = histogram_of({0, 0, -0.0}).rows();
    CHECK(zeros == std::vector<tally::histogram_row>{{0, 0, 3}});
    auto const one = histogram_of({1}).rows();
    CHECK(one == std::vector<tally::histogram_row>{{1, 1.25, 1}});
    check_rows(histogram_of({-1e30, -3, -1e-30, 0, 2, 5, 1e30, infinity}).rows(), 7);
    check_rows(histogram_of({-1e30, -3, -1e-30, 0, 2, 5, 1e30, infinity}).rows(1e30), 7);
}

TEST_CASE("log_histogram: rows end at the largest magnitude where it is known") {
    auto const rows = histogram_of({-1, 2.3, 5000}).rows(5000);
    check_rows(rows, 3);
    CHECK(rows.front() == tally::histogram_row{-1.25, -1, 1});
    CHECK(rows.back() == tally::histogram_row{1024, 5000, 1});
    CHECK(histogram_of({1.1}).rows(1.1).back() == tally::histogram_row{1, 1.1, 1});
}

TEST_CASE("log_histogram: rows over log2 of the magnitudes fold the signs and leave zero out") {
    auto const rows = histogram_of({-1, 1, 0, 2, 4.1, 1e-30, infinity}).log2_rows();
    check_rows(rows, 4);
    CHECK(rows.front() == tally::histogram_row{0, std::log2(1.25), 2});
    CHECK(rows.back().left == 2.0);
    auto const large = histogram_of({-1e9}).log2_rows();
    CHECK(large == std::vector<tally::histogram_row>{{10, 11, 1}});
    CHECK(histogram_of({0, 1e-30}).log2_rows().empty());
}

TEST_CASE("log_histogram: exponential buckets of scale 0 hold the octaves") {
    auto const b = histogram_of({1.5, 3, 3.5, -0.3, 0, 1e-30, std::nan(""), infinity, 5e5}).to_exponential();
    CHECK(b.scale == 0);
    CHECK(b.zero_count == 2);
    CHECK(b.zero_threshold == 0x1p-20);
    CHECK(b.positive == tally::exponential_range{0, {1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1}}); // the large one at 2^10
    CHECK(b.negative == tally::exponential_range{-2, {1}});
    CHECK(histogram_of({0}).to_exponential().positive.counts.empty());
}

TEST_CASE("log_histogram: exponential buckets of a higher scale keep all counts, off by one bucket at most") {
    std::mt19937_64 random{5};
    std::uniform_real_distribution<double> exponent{-19.0, 9.0};
    for (int const scale : {0, 1, 2}) {
        for (int i = 0; i < 500; ++i) {
            auto const x = std::exp2(exponent(random));
            auto const b = histogram_of({x, -x}).to_exponential(scale);
            auto const exact = static_cast<int>(std::ceil(std::log2(x) * (1 << scale))) - 1;
            CAPTURE(x);
            REQUIRE(b.positive.counts.size() == 1);
            CHECK(std::abs(b.positive.offset - exact) <= (scale == 0 ? 0 : 1));
            CHECK(b.negative == b.positive);
        }
    }
    CHECK_THROWS_AS((void)histogram_of({1}).to_exponential(3), tally::configuration_error);
    CHECK_THROWS_AS((void)histogram_of({1}).to_exponential(-1), tally::configuration_error);
}

} // namespace
