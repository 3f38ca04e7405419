// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/sum.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

static_assert(tally::accumulator<tally::sum<double>> && tally::accumulator<tally::sum<std::int64_t>>);
static_assert(sizeof(tally::sum<double>) == 8);
static_assert(tally::lanes_of<tally::sum<double>>() == tally::lane_sizes{0, 0, 8});
static_assert(tally::lanes_of<tally::sum<std::int32_t>>() == tally::lane_sizes{1, 0, 0});

// Integers take integers only: 0.5 + 0.5 would become 0, and a weight of 0.5 would delete its sample.
static_assert(tally::accepts<tally::sum<double>, float> && tally::accepts<tally::sum<double>, int>);
static_assert(!tally::accepts<tally::sum<std::int64_t>, double>);
static_assert(!tally::accepts_weighted<tally::sum<std::int64_t>, int, float>);
static_assert(tally::accepts_weighted<tally::sum<std::int64_t>, int, std::int64_t>);
static_assert(tally::accepts_weighted<tally::sum<double>, int, float>);

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double unit_roundoff = 0x1p-53;

template <class X>
std::array<X, 100> numbers() {
    std::mt19937_64 random{2026};
    std::array<X, 100> x{};
    for (auto& each : x) {
        if constexpr (std::is_floating_point_v<X>) {
            each = std::ldexp(static_cast<X>(static_cast<std::int64_t>(random() % 2'000'001) - 1'000'000),
                              static_cast<int>(random() % 40) - 20);
        } else {
            each = static_cast<X>(random());
        }
    }
    return x;
}

/// Block deposits of X into sum<T>, at every length and offset around the vector widths.
template <class T, class X>
void check_real_blocks() {
    auto const x = numbers<X>();
    for (std::size_t n = 0; n <= 70; ++n) {
        for (std::size_t offset = 0; offset < 9; ++offset) {
            tally::sum<T> block{T(0.5)};
            tally::deposit_block(block, x.data() + offset, n);
            long double exact = 0.5L;
            long double magnitude = 0.5L;
            for (std::size_t i = 0; i < n; ++i) {
                auto const term = static_cast<long double>(static_cast<T>(x[offset + i]));
                exact += term;
                magnitude += std::fabs(term);
            }
            auto const u = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
            auto const bound = static_cast<long double>(n + 1) * u * magnitude;
            CHECK(std::fabs(static_cast<long double>(block.value()) - exact) <= bound);
        }
    }
}

template <class T, class X>
void check_integer_blocks() {
    auto const x = numbers<X>();
    for (std::size_t n = 0; n <= 70; ++n) {
        for (std::size_t offset = 0; offset < 9; ++offset) {
            tally::sum<T> block{T{3}};
            tally::deposit_block(block, x.data() + offset, n);
            std::uint64_t expected = 3; // modulo 2^64
            for (std::size_t i = 0; i < n; ++i) {
                expected += static_cast<std::uint64_t>(x[offset + i]);
            }
            CHECK(block.value() == static_cast<T>(expected));
        }
    }
}

} // namespace

TEST_CASE("sum: blocks of floats are within the bound of the sum, at any length and offset") {
    check_real_blocks<double, double>();
    check_real_blocks<double, float>();
    check_real_blocks<float, float>();
    check_real_blocks<double, std::int32_t>();
    check_real_blocks<double, std::uint8_t>();
}

TEST_CASE("sum: blocks of integers are exact modulo 2^64, at any length and offset") {
    check_integer_blocks<std::int64_t, std::int64_t>();
    check_integer_blocks<std::uint64_t, std::uint32_t>();
    check_integer_blocks<std::int64_t, std::int8_t>();
    check_integer_blocks<std::int32_t, std::int32_t>();
    check_integer_blocks<std::uint64_t, bool>();
}

TEST_CASE("sum: integers wrap and never overflow") {
    tally::sum<std::int64_t> s{std::numeric_limits<std::int64_t>::max()};
    s.deposit(1);
    CHECK(s.value() == std::numeric_limits<std::int64_t>::min());
    tally::sum<std::int64_t> const low{std::numeric_limits<std::int64_t>::min()};
    s.merge(low);
    CHECK(s.value() == 0);
    s.deposit(std::numeric_limits<std::int64_t>::max(), std::int64_t{3});
    CHECK(s.value() == std::numeric_limits<std::int64_t>::max() - 2); // 3 (2^63 - 1) = 2^63 - 3 modulo 2^64
    tally::sum<std::uint64_t> large{std::uint64_t{1} << 53};
    large.deposit(tally::one);
    CHECK(large.value() == 9'007'199'254'740'993U); // a double has no such value
}

TEST_CASE("sum: NaN and infinities follow IEEE 754 in blocks as well") {
    for (std::size_t place = 0; place < 40; ++place) {
        std::vector<double> x(40, 1.0);
        x[place] = infinity;
        tally::sum<double> s;
        tally::deposit_block(s, x.data(), x.size());
        CHECK(s.value() == infinity);
        x[39 - place] = place == 39 - place ? infinity : -infinity;
        tally::sum<double> t;
        tally::deposit_block(t, x.data(), x.size());
        CHECK(std::isnan(t.value()));
    }
}

TEST_CASE("sum: keeps half of the largest double and the smallest") {
    constexpr auto largest = std::numeric_limits<double>::max();
    constexpr auto smallest = std::numeric_limits<double>::denorm_min();
    tally::sum<double> s;
    s.deposit(largest);
    s.deposit(-largest);
    s.deposit(smallest);
    CHECK(s.value() == smallest);
}

TEST_CASE("sum: weights multiply, one by one and in blocks") {
    auto const x = numbers<float>();
    auto const w = numbers<float>();
    for (std::size_t n = 0; n <= 70; ++n) {
        tally::sum<double> block;
        tally::sum<double> single;
        tally::sum<double> ones;
        auto const* const weights = w.data() + 20 + n % 7;
        tally::deposit_block(block, x.data() + n % 5, weights, n);
        tally::deposit_block(ones, &tally::one, weights, n);
        long double exact = 0;
        long double magnitude = 0;
        long double total = 0;
        long double total_magnitude = 0;
        for (std::size_t i = 0; i < n; ++i) {
            single.deposit(x[n % 5 + i], weights[i]);
            auto const term = static_cast<long double>(x[n % 5 + i]) * static_cast<long double>(weights[i]);
            exact += term;
            magnitude += std::fabs(term);
            total += static_cast<long double>(weights[i]);
            total_magnitude += std::fabs(static_cast<long double>(weights[i]));
        }
        auto const terms = static_cast<long double>(n) * unit_roundoff;
        CHECK(std::fabs(static_cast<long double>(block.value()) - exact) <= terms * magnitude);
        CHECK(std::fabs(static_cast<long double>(single.value()) - exact) <= terms * magnitude);
        CHECK(std::fabs(static_cast<long double>(ones.value()) - total) <= terms * total_magnitude);
    }
}

TEST_CASE("sum: unequal parts add up") {
    tally::sum<double> a;
    tally::sum<double> b;
    tally::sum<double> const identity;
    for (int i = 1; i <= 1000; ++i) {
        (i <= 3 ? a : b).deposit(i);
    }
    a.merge(identity);
    a.merge(b);
    CHECK(a.value() == 500'500.0);
    tally::sum<double> empty;
    empty.merge(a);
    CHECK(empty == a);
}

TEST_CASE("sum: integer sums travel as words") {
    tally::sum<std::int32_t> sent{-5};
    std::uint64_t word = 0;
    tally::word_writer writer{&word, nullptr};
    sent.travel(writer);
    CHECK(word == ~std::uint64_t{0} - 4);
    word += word; // two replicas
    tally::sum<std::int32_t> received;
    tally::word_reader reader{&word, nullptr};
    received.travel(reader);
    CHECK(received.value() == -10);
}
