// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Exact moments: values are the nearest doubles to what big integers give; states have the same words however the
// samples are split, ordered and blocked.
#include "support/big_integer.hpp"
#include "support/nearest.hpp"

#include <tally/accumulator/exact_co_moments.hpp>
#include <tally/accumulator/exact_moments.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/parts.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

using moments = tally::exact_moments<float>;
using co_moments = tally::exact_co_moments<float>;
using tally::testing::is_nearest;
using tally::testing::multiply;

static_assert(tally::accumulator<moments> && tally::accumulator<co_moments>);
static_assert(sizeof(moments) == 272 && sizeof(co_moments) == 704);
static_assert(tally::lanes_of<moments>() == tally::lane_sizes{34, 0, 0});
static_assert(tally::lanes_of<co_moments>() == tally::lane_sizes{88, 0, 0});
static_assert(tally::detail::merges_in_any_order<moments> && tally::detail::merges_in_any_order<co_moments>);
static_assert(tally::accepts<moments, float> && tally::accepts<moments, tally::half_bits>);
static_assert(!tally::accepts<moments, double> && !tally::accepts_weighted<moments, float, float>);

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float largest = std::numeric_limits<float>::max();
constexpr float smallest = std::numeric_limits<float>::denorm_min();

struct data_set {
    std::string name;
    std::vector<float> x;
    std::vector<float> y;
};

std::vector<data_set> data_sets(std::size_t n) {
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<float> normal;
    std::vector<data_set> sets;
    auto const add = [&](char const* name, auto const& make_x, auto const& make_y) {
        data_set set{name, std::vector<float>(n), std::vector<float>(n)};
        for (std::size_t i = 0; i < n; ++i) {
            set.x[i] = make_x(i);
            set.y[i] = make_y(i);
        }
        sets.push_back(std::move(set));
    };
    auto const from_bits = [](std::uint32_t bits) {
        float x = 0.0F;
        std::memcpy(&x, &bits, sizeof(x));
        return x;
    };
    auto const any_exponent = [&](std::size_t) {
        auto const x = from_bits(static_cast<std::uint32_t>(random()));
        return x - x == 0.0F ? x : 1.0F;
    };
    auto const plain = [&](std::size_t) { return normal(random); };
    add("normal", plain, plain);
    add(
        "far from zero", [&](std::size_t) { return 1e6F + normal(random); },
        [&](std::size_t) { return 0.1F * normal(random) - 1e7F; });
    add("every exponent", any_exponent, any_exponent);
    add(
        "60 binades", [&](std::size_t) { return std::ldexp(normal(random), -static_cast<int>(random() % 60)); }, plain);
    add(
        "subnormal", [&](std::size_t) { return from_bits(random() & 0x807f'ffffU); },
        [&](std::size_t) { return from_bits(random() & 0x807f'ffffU); });
    add(
        "largest, both signs", [&](std::size_t i) { return i % 2 == 0 ? largest : -largest; },
        [](std::size_t) { return largest; });
    add(
        "one huge, many tiny", [](std::size_t i) { return i == 3 ? 1e30F : 1e-30F; },
        [](std::size_t i) { return i == 5 ? -1e30F : smallest; });
    add(
        "zeros", [](std::size_t i) { return i % 2 == 0 ? 0.0F : -0.0F; },
        [](std::size_t i) { return i % 3 == 0 ? 0.0F : 2.0F; });
    add(
        "constant", [](std::size_t) { return 0.1F; }, [](std::size_t) { return -1e-3F; });
    // All but the last number equal: a spread of one unit in the last place, far below what sums in double resolve.
    add(
        "nearly constant",
        [&](std::size_t i) { return i + 1 == n ? std::nextafter(12345.678F, infinity) : 12345.678F; }, plain);
    return sets;
}

using big = tally::testing::big_integer<48>;
constexpr int unit = -298; // of products; of values -149

/// What moments stand for, from definitions, as integers.
struct reference {
    std::uint64_t n = 0;
    big x, y, xx, yy, xy;

    reference(std::vector<float> const& from_x, std::vector<float> const& from_y) : n{from_x.size()} {
        using tally::testing::to_big;
        using tally::testing::to_big_product;
        for (std::size_t i = 0; i < n; ++i) {
            x += to_big<48>(static_cast<double>(from_x[i]), -149);
            y += to_big<48>(static_cast<double>(from_y[i]), -149);
            xx += to_big_product<48>(from_x[i], from_x[i], unit);
            yy += to_big_product<48>(from_y[i], from_y[i], unit);
            xy += to_big_product<48>(from_x[i], from_y[i], unit);
        }
    }
    [[nodiscard]] static big number(std::uint64_t m) { return tally::testing::from_unsigned<48>(m); }
    /// n sum(a b) - sum(a) sum(b)
    [[nodiscard]] big deviations(big const& products, big const& a, big const& b) const {
        auto result = multiply(number(n), products);
        result += -multiply(a, b);
        return result;
    }
    [[nodiscard]] big divisor(std::uint64_t ddof) const { return multiply(number(n), number(n - ddof)); }
};

big minus(big a, big const& b) {
    a += -b;
    return a;
}

void check(co_moments const& got, reference const& r) {
    CHECK(got.deposits() == r.n);
    auto const n = reference::number(r.n);
    CHECK(is_nearest(got.mean_x(), r.x, -149, n));
    CHECK(is_nearest(got.mean_y(), r.y, -149, n));
    CHECK(is_nearest(got.mean_difference(), minus(r.x, r.y), -149, n));
    auto const xx = r.deviations(r.xx, r.x, r.x);
    auto const yy = r.deviations(r.yy, r.y, r.y);
    auto const xy = r.deviations(r.xy, r.x, r.y);
    CHECK(is_nearest(got.m2_x(), xx, unit, n));
    CHECK(is_nearest(got.m2_y(), yy, unit, n));
    CHECK(is_nearest(got.c_xy(), xy, unit, n));
    if (r.n > 1) {
        CHECK(is_nearest(got.variance_x(1), xx, unit, r.divisor(1)));
        CHECK(is_nearest(got.variance_y(1), yy, unit, r.divisor(1)));
        CHECK(is_nearest(got.covariance(1), xy, unit, r.divisor(1)));
    }
    CHECK(is_nearest(got.covariance(0), xy, unit, r.divisor(0)));
    auto differences = r.xx;
    differences += r.yy;
    differences += -(r.xy << 1);
    CHECK(is_nearest(got.squared_differences(), differences, unit, reference::number(1)));
    auto const apart = minus(r.x, r.y);
    CHECK(is_nearest(got.m2_difference(), minus(multiply(n, differences), multiply(apart, apart)), unit, n));
}

void check(moments const& got, reference const& r) {
    CHECK(got.deposits() == r.n);
    auto const squares = r.deviations(r.xx, r.x, r.x);
    CHECK(is_nearest(got.mean(), r.x, -149, reference::number(r.n)));
    CHECK(is_nearest(got.m2(), squares, unit, reference::number(r.n)));
    if (r.n > 1) {
        CHECK(is_nearest(got.variance(1), squares, unit, r.divisor(1)));
    }
    CHECK(is_nearest(got.variance(0), squares, unit, r.divisor(0)));
}

template <class Acc>
std::vector<std::uint64_t> words_of(Acc acc) {
    std::vector<std::uint64_t> words(tally::lanes_of<Acc>().sums);
    tally::word_writer writer{words.data(), nullptr};
    acc.travel(writer);
    return words;
}

/// The words that arrive when these states are combined by one sum.
template <class Acc>
std::vector<std::uint64_t> combined(std::vector<Acc> const& replicas) {
    std::vector<std::uint64_t> sums(tally::lanes_of<Acc>().sums);
    for (auto const& each : replicas) {
        auto const words = words_of(each);
        std::transform(sums.begin(), sums.end(), words.begin(), sums.begin(), std::plus<>{});
    }
    Acc result;
    tally::word_reader reader{sums.data(), nullptr};
    result.travel(reader);
    return words_of(result);
}

struct both {
    moments one;
    co_moments two;
    void deposit(float x, float y) {
        one.deposit(x);
        two.deposit(tally::paired(x, y));
    }
    void deposit_block(float const* x, float const* y, std::size_t n) {
        tally::deposit_block(one, x, n);
        tally::deposit_block(two, tally::pair_block<float, float>{x, y}, n);
    }
};

both whole(data_set const& set) {
    both result;
    for (std::size_t i = 0; i < set.x.size(); ++i) {
        result.deposit(set.x[i], set.y[i]);
    }
    return result;
}

} // namespace

TEST_CASE("exact_moments: means, variances and covariances are the nearest doubles") {
    for (std::size_t const n : {1U, 2U, 3U, 30U, 700U}) {
        for (auto const& set : data_sets(n)) {
            CAPTURE(n);
            CAPTURE(set.name);
            auto const got = whole(set);
            reference const expected{set.x, set.y};
            check(got.one, expected);
            check(got.two, expected);
        }
    }
}

TEST_CASE("exact_moments: blocks of any length and offset give the words of deposits one by one") {
    for (std::size_t const n : {0U, 1U, 23U, 24U, 25U, 31U, 64U, 511U, 512U, 513U, 1100U}) {
        for (auto set : data_sets(n + 3)) {
            CAPTURE(n);
            CAPTURE(set.name);
            for (std::size_t const offset : {0U, 3U}) {
                both one_by_one;
                both block;
                for (std::size_t i = 0; i < n; ++i) {
                    one_by_one.deposit(set.x[offset + i], set.y[offset + i]);
                }
                block.deposit_block(set.x.data() + offset, set.y.data() + offset, n);
                CHECK(words_of(block.one) == words_of(one_by_one.one));
                CHECK(words_of(block.two) == words_of(one_by_one.two));
                CHECK(block.one == one_by_one.one);
                CHECK(block.two == one_by_one.two);
            }
        }
    }
}

TEST_CASE("exact_moments: tiles at the ends of what one pass takes") {
    // Large numbers whose squares leave 7/16 of a unit below the common digit, all of the same sign, and a single
    // number so many binades below, with its last bit set.
    for (int const top : {-90, 0, 126}) {
        for (int binades = 15; binades <= 26; ++binades) {
            CAPTURE(top);
            CAPTURE(binades);
            std::vector<float> x(512, std::ldexp(0x0.fffffbp1F, top));
            x[100] = std::nextafter(std::ldexp(1.0F, top - binades + 1), 0.0F);
            auto const y = std::vector<float>(x.rbegin(), x.rend());
            auto const expected = whole({"", x, y});
            both block;
            block.deposit_block(x.data(), y.data(), x.size());
            CHECK(block.one == expected.one);
            CHECK(block.two == expected.two);
        }
    }
}

TEST_CASE("exact_moments: the same words for any number of replicas, partition and order") {
    constexpr std::size_t n = 1500;
    for (auto const& set : data_sets(n)) {
        CAPTURE(set.name);
        auto const expected = whole(set);
        std::mt19937 random(5);
        std::vector<std::size_t> order(n);
        for (std::size_t i = 0; i < n; ++i) {
            order[i] = i;
        }
        for (std::size_t const replicas : {1U, 2U, 3U, 8U}) {
            CAPTURE(replicas);
            std::shuffle(order.begin(), order.end(), random);
            std::vector<float> x(n);
            std::vector<float> y(n);
            for (std::size_t i = 0; i < n; ++i) {
                x[i] = set.x[order[i]];
                y[i] = set.y[order[i]];
            }
            std::vector<std::size_t> cuts{0, n};
            for (std::size_t r = 1; r < replicas; ++r) {
                cuts.push_back(random() % n);
            }
            std::sort(cuts.begin(), cuts.end());
            std::vector<moments> ones(replicas);
            std::vector<co_moments> twos(replicas);
            both merged;
            for (std::size_t r = 0; r < replicas; ++r) {
                both mine;
                for (auto begin = cuts[r]; begin < cuts[r + 1];) { // in updates of any size
                    auto const size = std::min<std::size_t>(cuts[r + 1] - begin, 1 + random() % 600);
                    mine.deposit_block(x.data() + begin, y.data() + begin, size);
                    begin += size;
                }
                ones[r] = mine.one;
                twos[r] = mine.two;
                merged.one.merge(mine.one);
                merged.two.merge(mine.two);
            }
            CHECK(combined(ones) == words_of(expected.one));
            CHECK(combined(twos) == words_of(expected.two));
            CHECK(merged.one == expected.one);
            CHECK(merged.two == expected.two);
        }
    }
}

TEST_CASE("exact_moments: counts beyond 2^32 by doubling") {
    std::vector<float> x{0.1F, 3.0F, -7.25F, largest, smallest};
    std::vector<float> y{1.0F, -1e-20F, 5.0F, 0.0F, -largest};
    auto got = whole({"", x, y});
    reference r{x, y};
    for (int doubling = 0; doubling < 28; ++doubling) { // 2^31 times the largest square is the limit of a sum
        auto const copy = got;
        got.one.merge(copy.one);
        got.two.merge(copy.two);
        r.n *= 2;
        for (auto* const each : {&r.x, &r.y, &r.xx, &r.yy, &r.xy}) {
            *each += *each;
        }
    }
    check(got.one, r);
    check(got.two, r);
    both small = whole({"", {1.0F, 1.5F}, {2.0F, -2.5F}});
    reference s{{1.0F, 1.5F}, {2.0F, -2.5F}};
    for (int doubling = 0; doubling < 62; ++doubling) {
        auto const copy = small;
        small.one.merge(copy.one);
        small.two.merge(copy.two);
        s.n *= 2;
        for (auto* const each : {&s.x, &s.y, &s.xx, &s.yy, &s.xy}) {
            *each += *each;
        }
    }
    CHECK(s.n == std::uint64_t{1} << 63);
    check(small.one, s);
    check(small.two, s);
}

TEST_CASE("exact_moments: NaN and infinities have no spread, in a block or one by one") {
    for (float const special : {not_a_number, infinity, -infinity}) {
        std::vector<float> x(100, 2.0F);
        std::vector<float> const y(100, 1.0F);
        x[70] = special;
        both one_by_one = whole({"", x, y});
        both block;
        block.deposit_block(x.data(), y.data(), x.size());
        CHECK(words_of(block.one) == words_of(one_by_one.one));
        CHECK(words_of(block.two) == words_of(one_by_one.two));
        for (auto const& each : {block, one_by_one}) {
            CHECK(std::isnan(each.one.m2()));
            CHECK(std::isnan(each.one.variance(1)));
            CHECK((each.one.mean() == static_cast<double>(special) || std::isnan(special)));
            CHECK(std::isnan(each.two.m2_x()));
            CHECK(std::isnan(each.two.c_xy()));
            CHECK(std::isnan(each.two.squared_differences()));
            CHECK(std::isnan(each.two.m2_difference()));
            CHECK(each.two.m2_y() == 0.0);
            CHECK(each.two.mean_y() == 1.0);
        }
    }
    // A sum of values that has left its range, while that of the squares has not.
    moments far;
    far.deposit(0x1p119F);
    for (int doubling = 0; doubling < 44; ++doubling) {
        auto const copy = far;
        far.merge(copy);
    }
    CHECK(std::isinf(far.mean()));
    CHECK(std::isnan(far.m2()));
}

TEST_CASE("exact_moments: no data, one sample") {
    CHECK(moments{}.mean() == 0.0);
    CHECK(moments{}.m2() == 0.0);
    CHECK(co_moments{}.m2_difference() == 0.0);
    CHECK(co_moments{}.mean_difference() == 0.0);
    moments one;
    one.deposit(0.1F);
    CHECK(one.m2() == 0.0);
    CHECK(one.mean() == static_cast<double>(0.1F));
}

TEST_CASE("exact_moments: NIST NumAcc1, certified values") {
    moments first;
    for (float const x : {10000001.0F, 10000003.0F, 10000002.0F}) {
        first.deposit(x);
    }
    CHECK(first.mean() == 10000002.0);
    CHECK(first.variance(1) == 1.0);
}
