// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The terms of one group at numbers of samples that no test holds in memory, and weights at the ends of their range.
#include <tally/ranking/detail/label_arithmetic.hpp>

#include "support/near.hpp"

#include <tally/core/weighting.hpp>
#include <tally/ranking/ranked_labels.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace {

using tally::testing::near;
using counts = tally::detail::label_arithmetic<tally::unweighted>;
template <class W>
using weights = tally::detail::label_arithmetic<tally::by_weight<W>>;
using amounts = tally::detail::by_label<std::uint64_t>;

TEST_CASE("label_arithmetic: 2^31 samples in two groups") {
    std::uint64_t const half = (std::uint64_t{1} << 30) - 1;
    amounts const all{half, half};
    // One group: everything is tied.
    auto const tied = counts{}.terms({}, all, all);
    CHECK(counts::area(tied, all) == 0.5);
    CHECK(counts::average_precision(tied, all) == 0.5);
    // All positives above all negatives.
    amounts const below{half, 0};
    auto const apart = counts{}.terms({}, below, all) + counts{}.terms(below, all, all);
    CHECK(counts::area(apart, all) == 1.0);
    CHECK(counts::average_precision(apart, all) == 1.0);
    // The other way round; a lone positive at the very bottom.
    amounts const first{0, 1};
    amounts const many{2 * half, 1};
    auto const lost = counts{}.terms({}, first, many) + counts{}.terms(first, many, many);
    CHECK(counts::area(lost, many) == 0.0);
    CHECK(counts::average_precision(lost, many) == 1.0 / static_cast<double>(2 * half + 1));
}

TEST_CASE("label_arithmetic: precisions are summed with 96 bits of fraction") {
    // 2/5 is no binary fraction; cut off at 2^-96, it rounds to the double nearest to it.
    amounts const all{3, 2};
    auto const first = counts{}.terms({2, 1}, {3, 2}, all);  // found 1 of called 2
    auto const second = counts{}.terms({0, 0}, {1, 1}, all); // found 2 of called 5
    CHECK(first.precise.to_double(-96) == 0.5);
    CHECK(second.precise.to_double(-96) == 0.4);
    CHECK((first + second).precise.to_double(-96) == 0.9);
}

template <class W>
double weighted_area(W negative_below, W positive, W negative_above) {
    using samples = tally::ranked_labels<float, tally::by_weight<W>>;
    using arithmetic = weights<W>;
    auto const payload = [](W weight, int label) {
        return samples::weigh(samples::observe({0.0F}, {{label}}), weight).payload;
    };
    auto const low = payload(negative_below, 0);
    auto const middle = payload(positive, 1);
    auto const high = payload(negative_above, 0);
    auto const larger = negative_below > negative_above ? low : high;
    arithmetic const units{{arithmetic::weight_bits(larger) + 1, arithmetic::weight_bits(middle) + 1}};
    auto const one = units.prefix_of(low);
    auto const two = one + units.prefix_of(middle);
    auto const all = two + units.prefix_of(high);
    auto const sum = units.terms({}, one, all) + units.terms(one, two, all) + units.terms(two, all, all);
    return arithmetic::area(sum, all);
}

TEST_CASE("label_arithmetic: weights from the smallest to the largest") {
    constexpr float small = std::numeric_limits<float>::denorm_min();
    constexpr float large = std::numeric_limits<float>::max();
    CHECK(weighted_area<float>(1, 1, 3) == 0.25);
    CHECK(weighted_area<float>(3 * small, large, small) == 0.75);
    CHECK(weighted_area<float>(large, small, large) == 0.5);
    CHECK(weighted_area<float>(small, 1, large) < 1e-80);
    constexpr double tiny = std::numeric_limits<double>::denorm_min();
    constexpr double huge = std::numeric_limits<double>::max();
    CHECK(weighted_area<double>(3 * tiny, huge, tiny) == 0.75);
    CHECK(weighted_area<double>(huge, tiny, huge) == 0.5);
    CHECK(weighted_area<double>(0.1, 0.3, 0.2) == near(1.0 / 3.0, 1e-15));
}

TEST_CASE("label_arithmetic: nothing is cut off of weights within a factor of 2^71") {
    using arithmetic = weights<float>;
    using samples = tally::ranked_labels<float, tally::by_weight<float>>;
    auto const bits = [](float w) { return samples::weigh(samples::observe({0.0F}, {{1}}), w).payload; };
    float const largest = 0x1.fffffep10F;
    float const smallest = 0x1.fffffep-61F; // last bit 2^-84
    arithmetic const units{{0, arithmetic::weight_bits(bits(largest)) + 1}};
    // 2^11 is the first power of two above, so the unit is 2^-84.
    CHECK(units.prefix_of(bits(smallest)).positives.low == 0xff'ffffU);
    CHECK(units.prefix_of(bits(largest)).positives.to_double(-84) == static_cast<double>(largest));
}

} // namespace
