// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/arg_extrema.hpp>
#include <tally/accumulator/extrema.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

static_assert(tally::accumulator<tally::minimum<float>> && tally::accumulator<tally::arg_maximum<double>>);
static_assert(sizeof(tally::minimum<float>) == 24 && sizeof(tally::arg_minimum<float>) == 32);
static_assert(tally::lanes_of<tally::maximum<double>>() == tally::lane_sizes{2, 1, 0});
static_assert(tally::lanes_of<tally::arg_maximum<double>>() == tally::lane_sizes{0, 0, 32});

namespace {

template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

/// Same value, and the same zero.
template <class T>
bool identical(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        return a == b && std::signbit(a) == std::signbit(b);
    } else {
        return a == b;
    }
}

template <class T>
bool less(T a, T b) { // -0 below +0
    if constexpr (std::is_floating_point_v<T>) {
        return a < b || (a == b && std::signbit(a) && !std::signbit(b));
    } else {
        return a < b;
    }
}

/// What an extreme should be, by comparisons of the values.
template <class T>
struct reference {
    std::optional<T> smallest;
    std::optional<T> largest;
    std::uint64_t seen = 0;
    std::uint64_t nans = 0;

    void take(T x) {
        if (x != x) {
            ++nans;
            return;
        }
        ++seen;
        smallest = !smallest || less(x, *smallest) ? x : *smallest;
        largest = !largest || less(*largest, x) ? x : *largest;
    }
};

template <class Extreme, class T>
void check_equal(Extreme const& extreme, std::optional<T> expected, reference<T> const& r) {
    CHECK(extreme.seen() == r.seen);
    CHECK(extreme.nans() == r.nans);
    CHECK(extreme.empty() == !expected.has_value());
    auto const value = extreme.value();
    CHECK(value.dropped() == r.nans);
    CHECK(value.has_value() == expected.has_value());
    if (expected) {
        CHECK(identical(value.value(), *expected));
    } else {
        CHECK(value.why() == tally::reason::no_samples);
    }
}

/// Values that are hard for a comparison, cycled.
template <class T>
std::vector<T> hard_values() {
    using limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) {
        auto const nan = not_a_number<T>;
        return {T(1.5),  -limits::infinity(),   limits::denorm_min(), nan,  T(0),
                T(-0.0), -limits::denorm_min(), limits::max(),        -nan, limits::lowest(),
                T(-1.5), limits::infinity(),    limits::min()};
    } else {
        return {T{0},
                T{1},
                limits::max(),
                limits::min(),
                static_cast<T>(limits::max() - 1),
                static_cast<T>(limits::min() + 1),
                static_cast<T>(limits::max() / 2)};
    }
}

template <class T>
void check_blocks() {
    auto const hard = hard_values<T>();
    // Windows of different content: each pair of neighbours repeated, so that most blocks lack the outer extremes.
    for (std::size_t pick = 0; pick < hard.size(); ++pick) {
        std::vector<T> x(90);
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = hard[(pick + i / 29 + i % 2) % hard.size()];
        }
        for (std::size_t n = 0; n <= 70; ++n) {
            std::size_t const offset = n % 7;
            tally::minimum<T> smallest;
            tally::maximum<T> largest;
            tally::minimum<T> single;
            reference<T> expected;
            tally::deposit_block(smallest, x.data() + offset, n);
            tally::deposit_block(largest, x.data() + offset, n);
            for (std::size_t i = 0; i < n; ++i) {
                single.deposit(x[offset + i]);
                expected.take(x[offset + i]);
            }
            check_equal(smallest, expected.smallest, expected);
            check_equal(largest, expected.largest, expected);
            CHECK(smallest == single);
        }
    }
}

template <class T>
void check_merges() {
    auto const hard = hard_values<T>();
    for (std::size_t cut = 0; cut <= hard.size(); ++cut) {
        tally::minimum<T> smallest[2];
        tally::maximum<T> largest[2];
        reference<T> expected;
        for (std::size_t i = 0; i < hard.size(); ++i) {
            smallest[i < cut ? 0 : 1].deposit(hard[i]);
            largest[i < cut ? 0 : 1].deposit(hard[i]);
            expected.take(hard[i]);
        }
        smallest[0].merge(smallest[1]);
        largest[0].merge(largest[1]);
        check_equal(smallest[0], expected.smallest, expected);
        check_equal(largest[0], expected.largest, expected);
    }
}

} // namespace

TEST_CASE_TEMPLATE("extremum: a block is the same as one by one, at any length and offset", T, float, double,
                   std::int8_t, std::uint8_t, std::int32_t, std::int64_t, std::uint64_t) {
    check_blocks<T>();
}

TEST_CASE_TEMPLATE("extremum: merges unequal parts, extremes of the type included", T, float, double, std::int8_t,
                   std::uint16_t, std::int64_t, std::uint64_t) {
    check_merges<T>();
}

TEST_CASE("extremum: the lowest value of a type is told from no value") {
    tally::maximum<std::uint64_t> largest;
    largest.deposit(0);
    CHECK(largest.value().value() == 0);
    tally::maximum<double> lowest;
    lowest.deposit(-std::numeric_limits<double>::infinity());
    CHECK(lowest.value().value() == -std::numeric_limits<double>::infinity());
    tally::maximum<double> const none;
    CHECK(none.value().why() == tally::reason::no_samples);
    tally::minimum<std::uint64_t> smallest;
    smallest.deposit(~std::uint64_t{0});
    CHECK(smallest.value().value() == ~std::uint64_t{0});
}

TEST_CASE("extremum: only NaN is no value, and counted") {
    tally::minimum<float> m;
    std::vector<float> const x(37, not_a_number<float>);
    tally::deposit_block(m, x.data(), x.size());
    CHECK(m.value().why() == tally::reason::no_samples);
    CHECK(m.value().dropped() == 37);
}

TEST_CASE("extremum: weight zero leaves a value out, every other weight counts alike") {
    tally::maximum<float> m;
    m.deposit(9.0F, 0.0F);
    CHECK(m.empty());
    m.deposit(1.0F, 0.25F);
    m.deposit(3.0F, -1.0F);
    m.deposit(not_a_number<float>, 0.0F);
    CHECK(m.value().value() == 3.0F);
    CHECK(m.seen() == 2);
    CHECK(m.nans() == 0);
    float const x[] = {5.0F, 7.0F};
    float const w[] = {1.0F, 0.0F};
    tally::deposit_block(m, x, w, 2);
    CHECK(m.value().value() == 5.0F);
}

TEST_CASE("extremum: minima travel in the same unsigned maximum as maxima") {
    std::uint64_t sums[2] = {};
    std::uint64_t key = 0;
    std::uint64_t highest = 0;
    for (float const x : {3.0F, -7.0F, 2.0F}) { // three replicas, by hand
        tally::minimum<float> m;
        m.deposit(x);
        std::uint64_t one_sums[2] = {};
        tally::word_writer writer{one_sums, &key};
        m.travel(writer);
        highest = key > highest ? key : highest;
        sums[0] += one_sums[0];
        sums[1] += one_sums[1];
    }
    tally::minimum<float> received;
    tally::word_reader reader{sums, &highest};
    received.travel(reader);
    CHECK(received.value().value() == -7.0F);
    CHECK(received.seen() == 3);
}

TEST_CASE("arg_extremum: of equal values the lowest position wins, in any order and split") {
    using located = tally::located_value<float>;
    std::vector<located> const x{{2.0F, 40}, {5.0F, 30}, {5.0F, 10}, {5.0F, 20}, {2.0F, 7}, {2.0F, 90}};
    for (std::size_t rotation = 0; rotation < x.size(); ++rotation) {
        for (std::size_t cut = 0; cut <= x.size(); ++cut) {
            tally::arg_maximum<float> largest[2];
            tally::arg_minimum<float> smallest[2];
            for (std::size_t i = 0; i < x.size(); ++i) {
                auto const each = x[(i + rotation) % x.size()];
                largest[i < cut ? 0 : 1].deposit(each);
                smallest[i < cut ? 0 : 1].deposit(each);
            }
            largest[0].merge(largest[1]);
            smallest[0].merge(smallest[1]);
            CHECK(largest[0].value().value() == 5.0F);
            CHECK(largest[0].position().value() == 10);
            CHECK(smallest[0].value().value() == 2.0F);
            CHECK(smallest[0].position().value() == 7);
        }
    }
}

TEST_CASE("arg_extremum: -0 is below +0, NaN and weight zero have no position") {
    tally::arg_minimum<double> m;
    m.deposit(tally::located(not_a_number<double>, 1));
    m.deposit(tally::located(-5.0, 2), 0.0F);
    CHECK(m.empty());
    CHECK(m.value().why() == tally::reason::no_samples);
    CHECK(m.position().why() == tally::reason::no_samples);
    CHECK(m.value().dropped() == 1);
    m.deposit(tally::located(0.0, 3));
    m.deposit(tally::located(-0.0, 4), 1.0F);
    CHECK(m.position().value() == 4);
    CHECK(m.nans() == 1);
}

TEST_CASE("arg_extremum: positions use all 64 bits, and position 0 is a position") {
    tally::arg_maximum<std::int64_t> m;
    m.deposit(tally::located(std::numeric_limits<std::int64_t>::min(), ~std::uint64_t{0}));
    CHECK(m.position().value() == ~std::uint64_t{0});
    m.deposit(tally::located(std::numeric_limits<std::int64_t>::min(), 0));
    CHECK(m.position().value() == 0);
    CHECK(m.value().value() == std::numeric_limits<std::int64_t>::min());
}
