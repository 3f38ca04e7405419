// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/metric/score_bins.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

template <class T>
std::vector<T> ascending_scores() {
    std::vector<T> scores{-std::numeric_limits<T>::infinity(), std::numeric_limits<T>::lowest()};
    for (int exponent = 12; exponent >= -30; --exponent) {
        for (int step = 199; step >= 100; --step) {
            scores.push_back(-std::ldexp(static_cast<T>(step) / 100, exponent));
        }
    }
    auto const negatives = scores.size();
    scores.push_back(-std::numeric_limits<T>::denorm_min());
    scores.push_back(0);
    for (std::size_t i = negatives; i-- > 0;) {
        scores.push_back(-scores[i]);
    }
    return scores;
}

/// Every score is in a bin, no bin comes before one of a lower score, and each bin's lower edge is below its scores.
template <class Bins, class T>
void check_order(std::vector<T> const& scores) {
    std::int32_t last = 0;
    for (auto const score : scores) {
        auto const bin = Bins::index(score);
        CAPTURE(score);
        REQUIRE(bin >= last);
        REQUIRE(bin < static_cast<std::int32_t>(Bins::bins));
        REQUIRE(Bins::lower(static_cast<std::size_t>(bin)) <= static_cast<double>(score));
        last = bin;
    }
    for (std::size_t b = 1; b < Bins::bins; ++b) {
        REQUIRE(Bins::lower(b) > Bins::lower(b - 1));
    }
}

TEST_CASE("logit_bins: keep the order of all scores, float and double") {
    check_order<tally::logit_bins<>>(ascending_scores<float>());
    check_order<tally::logit_bins<4, -20, 0>>(ascending_scores<float>());
    check_order<tally::logit_bins<1, -1, 0>>(ascending_scores<float>());
    check_order<tally::logit_bins<256, 3, 5>>(ascending_scores<float>());
    // A double just below an edge is rounded up to it: the order is kept, the edge is not exact.
    std::int32_t last = 0;
    for (auto const score : ascending_scores<double>()) {
        auto const bin = tally::logit_bins<>::index(score);
        REQUIRE(bin >= last);
        last = bin;
    }
}

TEST_CASE("logit_bins: 98 and 99 differ, as do -98 and -99; signs of zero do not") {
    using bins = tally::logit_bins<>;
    CHECK(bins::bins == 1408);
    CHECK(bins::index(99.0F) == bins::index(98.0F) + 1);
    CHECK(bins::index(-98.0F) == bins::index(-99.0F) + 1);
    CHECK(bins::index(0.0F) == bins::index(-0.0F));
    CHECK(bins::index(99.0) == bins::index(99.0F));
}

TEST_CASE("logit_bins: bins are mirrored and as wide as documented; infinities are valid, NaN is not") {
    using bins = tally::logit_bins<>;
    auto const zero = bins::index(0.0F);
    CHECK(bins::lower(static_cast<std::size_t>(zero)) == 0.0);
    CHECK(bins::lower(static_cast<std::size_t>(zero) + 1) == 1.0 / 64);
    CHECK(bins::lower(static_cast<std::size_t>(bins::index(1.0F))) == 1.0);
    CHECK(bins::lower(static_cast<std::size_t>(bins::index(4.0F)) + 1) == 4.0 + 1.0 / 16);
    CHECK(bins::index(-1.0F) - zero == zero - bins::index(1.0F) - 1);
    CHECK(bins::lower(0) == -std::numeric_limits<double>::infinity());
    CHECK(bins::index(std::numeric_limits<float>::infinity()) == static_cast<std::int32_t>(bins::bins) - 1);
    CHECK(bins::index(1024.0F) == static_cast<std::int32_t>(bins::bins) - 1);
    CHECK(bins::index(-std::numeric_limits<double>::infinity()) == 0);
    CHECK(bins::index(std::numeric_limits<float>::quiet_NaN()) == -1);
    CHECK(bins::index(-std::numeric_limits<double>::quiet_NaN()) == -1);
}

TEST_CASE("probability_bins: order, both ends closed, everything else invalid") {
    using bins = tally::probability_bins<>;
    std::vector<float> scores;
    for (int i = 0; i <= 100000; ++i) {
        scores.push_back(static_cast<float>(i) / 100000.0F);
    }
    std::int32_t last = 0;
    for (auto const score : scores) {
        auto const bin = bins::index(score);
        REQUIRE(bin >= last);
        REQUIRE(std::fabs(bins::lower(static_cast<std::size_t>(bin)) - static_cast<double>(score)) < 0.001 + 1e-7);
        last = bin;
    }
    CHECK(bins::index(0.0F) == 0);
    CHECK(bins::index(-0.0F) == 0);
    CHECK(bins::index(1.0F) == 999);
    CHECK(bins::index(1.0) == 999);
    CHECK(bins::index(std::nextafter(1.0F, 2.0F)) == -1);
    CHECK(bins::index(-std::numeric_limits<float>::denorm_min()) == -1);
    CHECK(bins::index(std::numeric_limits<float>::infinity()) == -1);
    CHECK(bins::index(std::numeric_limits<float>::quiet_NaN()) == -1);
}

} // namespace
