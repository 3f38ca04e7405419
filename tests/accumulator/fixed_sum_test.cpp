// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include "support/big_integer.hpp"
#include "support/feeds.hpp"
#include "support/metric_laws.hpp"

#include <tally/accumulator/fixed_sum.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/core/parts.hpp>
#include <tally/core/wire.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/total.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace tally;
using namespace tally::testing;

static_assert(accumulator<fixed_sum<-20>> && sizeof(fixed_sum<-20>) == 16);
static_assert(lanes_of<fixed_sum<-20>>() == lane_sizes{3, 0, 0});
static_assert(tally::detail::count_parts<fixed_sum<-20>>() == 2);
static_assert([] {
    fixed_sum<-2> sum;
    sum.deposit(0.3F);   // one unit
    sum.deposit(-0.375); // a tie between one and two units goes to two
    return sum.value();
}() == -0.25);

namespace {

constexpr std::int64_t limit = std::int64_t{1} << 62;
constexpr auto infinity = std::numeric_limits<double>::infinity();

/// x / 2^lsb to the nearest integer, by big integers.
template <int Lsb>
double rounded(double x) {
    auto const scaled = std::ldexp(x, -Lsb); // exact here
    auto const down = std::floor(scaled);
    auto const rest = scaled - down;
    bool const up = rest > 0.5 || (rest == 0.5 && std::fmod(down, 2.0) != 0.0);
    return down + (up ? 1.0 : 0.0);
}

template <int Lsb, class X>
fixed_sum<Lsb> one_by_one(std::vector<X> const& x, std::size_t begin, std::size_t end) {
    fixed_sum<Lsb> sum;
    for (std::size_t i = begin; i < end; ++i) {
        sum.deposit(x[i]);
    }
    return sum;
}

template <class Acc>
Acc all_reduce(std::vector<Acc> replicas) {
    constexpr auto lanes = lanes_of<Acc>();
    std::vector<std::uint64_t> sums(lanes.sums);
    for (auto& replica : replicas) {
        std::vector<std::uint64_t> words(lanes.sums);
        word_writer writer{words.data(), nullptr};
        replica.travel(writer);
        for (std::size_t i = 0; i < words.size(); ++i) {
            sums[i] += words[i];
        }
    }
    Acc result;
    word_reader reader{sums.data(), nullptr};
    result.travel(reader);
    return result;
}

} // namespace

TEST_CASE("fixed_sum: rounds every number to the nearest multiple, ties to even") {
    std::mt19937_64 random{1};
    for (int i = 0; i < 20'000; ++i) {
        // 8 bits below the unit, so that one number in 256 is a tie.
        auto const x =
            std::ldexp(static_cast<double>(static_cast<std::int64_t>(random()) >> (24 + random() % 36)), -28);
        fixed_sum<-20> sum;
        sum.deposit(x);
        auto const expected = rounded<-20>(x);
        CAPTURE(x);
        if (std::fabs(expected) < 0x1p62) {
            CHECK(static_cast<double>(sum.units()) == expected);
            CHECK(sum.saturated() == 0);
        }
    }
    for (auto const& [x, units] : std::vector<std::pair<double, std::int64_t>>{{0.5, 0},
                                                                               {1.5, 2},
                                                                               {2.5, 2},
                                                                               {-0.5, 0},
                                                                               {-1.5, -2},
                                                                               {0x1p-1074, 0},
                                                                               {-0.0, 0},
                                                                               {0.49999999999999994, 0},
                                                                               {0x1.8p51, 0x18'0000'0000'0000 / 2},
                                                                               {-0x1p61, -(limit / 2)},
                                                                               {0x1p52 + 1.0, 0x10'0000'0000'0001}}) {
        fixed_sum<0> sum;
        sum.deposit(x);
        CHECK(sum.units() == units);
        CHECK(sum.saturated() == 0);
    }
    fixed_sum<100> coarse; // a significand wholly below the unit
    coarse.deposit(0x1.8p99);
    CHECK(coarse.units() == 1);
    coarse.deposit(0x1p99);
    coarse.deposit(1.0F);
    CHECK(coarse.units() == 1);
    CHECK(coarse.value() == 0x1p100);
}

TEST_CASE("fixed_sum: weights are multiplied before they are rounded") {
    fixed_sum<-10> sum;
    sum.deposit(0x1p-9F, 0.25F); // half a unit: to even
    CHECK(sum.units() == 0);
    sum.deposit(0x1p-9F, 0.75F); // one and a half
    CHECK(sum.units() == 2);
    sum.deposit(one, 3.0F);
    CHECK(sum.value() == 3.0 + 0x1p-9);
    sum.deposit(2.0, 0.5);
    sum.deposit(half_bits{0x3c00}, 2.0F);
    sum.deposit(7);
    CHECK(sum.value() == 3.0 + 0x1p-9 + 1.0 + 2.0 + 7.0);
}

TEST_CASE("fixed_sum: a block is its elements, in any mode of rounding") {
    std::mt19937 random{2};
    std::normal_distribution<float> normal;
    std::vector<float> x;
    std::vector<double> wide;
    for (int i = 0; i < 5000; ++i) {
        auto const kind = random() % 400;
        auto const bits = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        x.push_back(kind == 0   ? bits
                    : kind < 30 ? std::ldexp(static_cast<float>(random() % 100), -21)
                                : normal(random));
        wide.push_back(static_cast<double>(x.back()) + 1e-9 * static_cast<double>(normal(random)));
    }
    for (int const mode : {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO}) {
        for (std::size_t const end : {0U, 1U, 7U, 8U, 17U, 1023U, 1024U, 1025U, 2500U, 5000U}) {
            for (std::size_t const begin : {0U, 1U}) {
                if (begin > end) {
                    continue;
                }
                fixed_sum<-20> block;
                fixed_sum<-20> of_doubles;
                std::fesetround(mode);
                block.deposit_block(x.data() + begin, end - begin);
                of_doubles.deposit_block(wide.data() + begin, end - begin);
                auto const after = std::fegetround();
                std::fesetround(FE_TONEAREST);
                CHECK(after == mode);
                CHECK((block == one_by_one<-20>(x, begin, end)));
                CHECK((of_doubles == one_by_one<-20>(wide, begin, end)));
            }
        }
    }
}

TEST_CASE("fixed_sum: blocks of numbers about 2^51 units in size") {
    for (double const sign : {1.0, -1.0}) {
        for (double const x : {0x1p51 - 1.0, 0x1p51, 0x1p51 + 1.0, 0x1p52 - 1.0, 0x1p52 + 1.0}) {
            std::vector<double> const block(400, sign * x);
            fixed_sum<0> sum;
            sum.deposit_block(block.data(), block.size());
            CHECK((sum == one_by_one<0>(block, 0, block.size())));
            CHECK(sum.units() == 400 * static_cast<std::int64_t>(sign * x));
        }
    }
}

TEST_CASE("fixed_sum: the same bits for any partition") {
    std::mt19937 random{3};
    std::normal_distribution<float> normal;
    std::vector<float> x(3000);
    for (auto& each : x) {
        each = 100.0F * normal(random);
    }
    auto const whole = one_by_one<-30>(x, 0, x.size());
    for (std::size_t const replica_count : {1U, 2U, 3U, 8U, 64U}) {
        auto const at = cuts(x.size(), replica_count, replica_count);
        std::vector<fixed_sum<-30>> replicas;
        fixed_sum<-30> merged;
        for (std::size_t r = 0; r < replica_count; ++r) {
            replicas.push_back(one_by_one<-30>(x, at[r], at[r + 1]));
            merged.merge(replicas.back());
        }
        CHECK((all_reduce(replicas) == whole));
        CHECK((merged == whole));
    }
}

TEST_CASE("fixed_sum: what doesn't fit is counted") {
    fixed_sum<0> sum;
    sum.deposit(1.0);
    sum.deposit(std::nan(""));
    CHECK(sum.units() == 1);
    CHECK(sum.saturated() == 1);
    sum.deposit(-infinity);
    CHECK(sum.units() == 1);
    CHECK(sum.saturated() == 2);
    fixed_sum<0> large;
    large.deposit(0x1p62);
    CHECK(large.units() == 0);
    CHECK(large.saturated() == 1);
    fixed_sum<0> just_fits;
    just_fits.deposit(0x1p62 - 0x1p9);
    CHECK(just_fits.saturated() == 0);
    just_fits.deposit(0x1p9 - 2);
    CHECK(just_fits.saturated() == 0);
    CHECK(just_fits.units() == limit - 2);
    just_fits.deposit(2);
    CHECK(just_fits.saturated() == 1);
    CHECK(just_fits.units() == limit - 1);
    fixed_sum<0> block;
    double const values[] = {1.0, infinity, 2.0, -0x1p70, 5.0, 6.0, 7.0, 8.0};
    block.deposit_block(values, 8);
    CHECK(block.saturated() == 2);
    CHECK(block.value() == 29.0);
}

TEST_CASE("fixed_sum: replicas that together leave the range are found out") {
    for (double const sign : {1.0, -1.0}) {
        fixed_sum<0> one_replica;
        one_replica.deposit(sign * 0x1p61);
        CHECK(all_reduce(std::vector<fixed_sum<0>>(1, one_replica)).saturated() == 0);
        // 8 times 2^61 is 2^64: without the upper halves it would come out as 0.
        for (std::size_t const replica_count : {2U, 4U, 8U, 16U, 1000U}) {
            auto const sum = all_reduce(std::vector<fixed_sum<0>>(replica_count, one_replica));
            CAPTURE(replica_count);
            CHECK((sum.saturated() != 0) == (replica_count > 2 || sign > 0.0));
            CHECK(sum.value() * sign >= 0x1p62 - 0x1p10);
        }
    }
    fixed_sum<0> small;
    small.deposit(-3.0);
    auto const sum = all_reduce(std::vector<fixed_sum<0>>(1000, small));
    CHECK(sum.units() == -3000);
    CHECK(sum.saturated() == 0);
}

TEST_CASE("fixed_sum: laws of metrics, with the same bits") {
    using sum = fixed_sum<-24>;
    using sum_of_values = total<float, sum>;
    check_metric_laws<mean<float, sum>>("mean", feed::values, exactly);
    check_metric_laws<sum_of_values>("total", feed::values, exactly);
    check_metric_laws<weighted<sum_of_values>>("weighted total", feed::weighted(feed::values), exactly);
}
