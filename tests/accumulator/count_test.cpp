// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/count.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

static_assert(tally::accumulator<tally::count> && tally::accumulator<tally::occurrences>);
static_assert(sizeof(tally::count) == 8);
static_assert(tally::lanes_of<tally::count>() == tally::lane_sizes{1, 0, 0});
static_assert(tally::accepts<tally::count, tally::one_t> && tally::accepts<tally::count, int>);
static_assert(!tally::accepts<tally::count, float> && !tally::accepts<tally::count, double>);
// A count refuses weights; occurrences take them and count one each.
static_assert(!tally::accepts_weighted<tally::count, tally::one_t, float>);
static_assert(tally::accepts_weighted<tally::occurrences, tally::one_t, float>);
static_assert(!tally::accepts_weighted<tally::occurrences, float, float>);

TEST_CASE("count: goes on where a float would stop, up to 2^64") {
    std::uint64_t const starts[] = {std::uint64_t{1} << 24, std::uint64_t{1} << 32, std::uint64_t{1} << 53,
                                    std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max() - 10};
    for (auto const start : starts) {
        tally::count counter{start - 1};
        counter.deposit(tally::one);
        counter.deposit(tally::one);
        CHECK(counter.value() == start + 1);
        tally::deposit_block(counter, &tally::one, 7);
        CHECK(counter.value() == start + 8);
        tally::count const other{2};
        counter.merge(other);
        CHECK(counter.value() == start + 10);
    }
}

TEST_CASE("count: wraps at 2^64, as replicas' sums do") {
    tally::count counter{std::numeric_limits<std::uint64_t>::max()};
    counter.deposit(tally::one);
    CHECK(counter.value() == 0);
}

TEST_CASE("count: deposits integers of any width") {
    tally::count counter;
    counter.deposit(std::uint8_t{255});
    counter.deposit(std::int16_t{1000});
    counter.deposit(std::uint64_t{1} << 40);
    counter.deposit(true);
    CHECK(counter.value() == 255 + 1000 + (std::uint64_t{1} << 40) + 1);
}

TEST_CASE("count: a block is the same as one by one") {
    std::vector<std::uint32_t> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 4'294'967'200U); // the sum of two passes 2^32
    for (std::size_t n = 0; n <= 70; ++n) {
        for (std::size_t offset = 0; offset < 5; ++offset) {
            tally::count block{17};
            tally::count single{17};
            tally::deposit_block(block, numbers.data() + offset, n);
            std::uint64_t expected = 17;
            for (std::size_t i = 0; i < n; ++i) {
                single.deposit(numbers[offset + i]);
                expected += numbers[offset + i];
            }
            CHECK(block.value() == expected);
            CHECK(single.value() == expected);
        }
    }
}

TEST_CASE("occurrences: a weight changes nothing") {
    tally::occurrences counter;
    counter.deposit(tally::one, 0.0F);
    counter.deposit(tally::one, -3.5);
    float const weights[] = {0.25F, 0.5F, 100.0F};
    tally::deposit_block(counter, &tally::one, weights, 0);
    CHECK(counter.value() == 2);
    counter.deposit(5, 0.5F);
    CHECK(counter.value() == 7);
}

TEST_CASE("count: travels as one sum") {
    tally::count sent{0xfedc'ba98'7654'3210U};
    std::uint64_t word = 0;
    tally::word_writer writer{&word, nullptr};
    sent.travel(writer);
    CHECK(word == 0xfedc'ba98'7654'3210U);
    tally::count received;
    tally::word_reader reader{&word, nullptr};
    received.travel(reader);
    CHECK(received == sent);
}
