// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/accumulator/default_sum.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

using tally::by_weight;
using tally::default_sum;
using tally::exact_sum;
using tally::product;
using tally::sum;
using tally::total_of;
using tally::unweighted;

static_assert(std::is_same_v<default_sum<float>, exact_sum<float>>);
static_assert(std::is_same_v<default_sum<double>, sum<double>>);
static_assert(std::is_same_v<default_sum<std::uint8_t>, sum<std::uint64_t>>);
static_assert(std::is_same_v<default_sum<std::int16_t>, sum<std::int64_t>>);
static_assert(std::is_same_v<default_sum<bool>, sum<std::uint64_t>>);

static_assert(std::is_same_v<total_of<exact_sum<float>, unweighted>, exact_sum<float>>);
static_assert(std::is_same_v<total_of<exact_sum<float>, by_weight<float>>, exact_sum<product<float>>>);
static_assert(std::is_same_v<total_of<exact_sum<product<float>>, unweighted>, exact_sum<product<float>>>);
static_assert(std::is_same_v<total_of<sum<double>, by_weight<float>>, sum<double>>);

// No exact sum holds the product of a double and anything.
static_assert(std::is_same_v<total_of<exact_sum<float>, by_weight<double>>, sum<double>>);
static_assert(std::is_same_v<total_of<exact_sum<double>, by_weight<float>>, sum<double>>);

TEST_CASE("the weighted form of the default sum holds the products of floats, unrounded") {
    total_of<default_sum<float>, by_weight<float>> total;
    float const third = 1.0F / 3.0F; // its square needs 48 bits
    total.deposit(1.0F, 0x1p60F);
    total.deposit(third, third);
    total.deposit(1.0F, -0x1p60F);
    CHECK(total.value() == static_cast<double>(third) * static_cast<double>(third));
}
