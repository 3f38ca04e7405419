// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/weight_sum.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/parts.hpp>
#include <tally/core/weighting.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using tally::exact_weight_sum;
using tally::one;

static_assert(tally::accumulator<exact_weight_sum> && tally::accumulator<tally::weight_sum>);
static_assert(sizeof(exact_weight_sum) == 104 && sizeof(tally::weight_sum) == 16);
static_assert(tally::lanes_of<exact_weight_sum>() == tally::lane_sizes{13, 0, 0});
static_assert(tally::lanes_of<tally::weight_sum>() == tally::lane_sizes{0, 0, 16});
static_assert(tally::detail::merges_in_any_order<exact_weight_sum>);
static_assert(std::is_same_v<tally::count_of<tally::by_weight<float>>, exact_weight_sum>);
static_assert(std::is_same_v<tally::count_of<tally::by_weight<double>>, tally::weight_sum>);
static_assert(std::is_same_v<tally::cell_count_of<tally::by_weight<float>>, tally::weight_sum>);
static_assert(std::is_same_v<tally::count_of<tally::unweighted>, tally::count>);
static_assert(std::is_same_v<tally::cell_count_of<tally::unweighted>, tally::count>);

TEST_CASE("exact_weight_sum: nothing is lost, whatever the order, one by one or in blocks") {
    std::vector<float> weights;
    for (int i = 0; i < 300; ++i) {
        weights.push_back(i % 3 == 0 ? 0x1p100F : i % 3 == 1 ? -0x1p100F : 0x1p-100F);
    }
    exact_weight_sum forward;
    exact_weight_sum backward;
    exact_weight_sum block;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        forward.deposit(one, weights[i]);
        backward.deposit(one, weights[weights.size() - 1 - i]);
    }
    tally::deposit_block(block, &one, weights.data(), weights.size());
    CHECK(forward.value() == 100 * 0x1p-100);
    CHECK(forward.deposits() == 300);
    CHECK(backward == forward);
    CHECK(block == forward);

    exact_weight_sum merged = forward;
    merged.merge(block);
    CHECK(merged.value() == 200 * 0x1p-100);
    CHECK(merged.deposits() == 600);
    std::vector<std::uint64_t> words(13);
    tally::word_writer writer{words.data(), nullptr};
    merged.travel(writer);
    exact_weight_sum arrived;
    tally::word_reader reader{words.data(), nullptr};
    arrived.travel(reader);
    CHECK(arrived == merged);
}

TEST_CASE("exact_weight_sum: no samples are told from weights that sum to zero") {
    exact_weight_sum sum;
    CHECK(sum.empty());
    sum.deposit(one, 0.1F);
    sum.deposit(one, -0.1F);
    CHECK(!sum.empty());
    CHECK(sum.value() == 0.0);
    CHECK(exact_weight_sum{2.5, 3}.value() == 2.5);
}
