// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/accumulator/sum.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/table.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

namespace {

using shape = tally::extents<tally::fixed<2>, tally::num_classes, tally::num_labels>;
using cube = tally::table<tally::count, shape>;

shape make_shape() { return shape::from(std::tuple{tally::num_labels{4}, tally::num_classes{3}}); }

static_assert(std::is_trivially_copyable_v<cube> && std::is_trivially_destructible_v<cube>);
static_assert(cube::rank == 3);
// A table is no accumulator: it only refers to its cells.
static_assert(!tally::accumulator<cube>);
static_assert(tally::accepts<cube, tally::cell<3, tally::one_t>> &&
              !tally::accepts<cube, tally::cell<2, tally::one_t>>);
static_assert(!tally::accepts<cube, tally::cell<3, float>> && !tally::accepts<cube, tally::one_t>);
static_assert(!tally::accepts_weighted<cube, tally::cell<3, tally::one_t>, float>);
static_assert(!shape::is_static && tally::extents<tally::fixed<2>, tally::fixed<5>>::is_static);

} // namespace

TEST_CASE("extents: run-time ones by their type, whatever the order they are given in") {
    auto const s = make_shape();
    CHECK(s.size[0] == 2);
    CHECK(s.size[1] == 3);
    CHECK(s.size[2] == 4);
    CHECK(s.cells() == 24);
    static_assert(std::is_same_v<tally::detail::extent_or<7, tally::num_groups>, tally::fixed<7>>);
    static_assert(std::is_same_v<tally::detail::extent_or<tally::dynamic, tally::num_groups>, tally::num_groups>);
}

TEST_CASE("extents: row-major, the last index varies fastest; outside is cells()") {
    auto const s = make_shape();
    std::size_t next = 0;
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
            for (int k = 0; k < 4; ++k) {
                int const index[3] = {i, j, k};
                CHECK(s.offset(index) == next++);
            }
        }
    }
    constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
    constexpr auto highest = std::numeric_limits<std::int64_t>::max();
    for (auto const& index : {std::array<std::int64_t, 3>{2, 0, 0},
                              {0, 3, 0},
                              {0, 0, 4},
                              {-1, 0, 0},
                              {0, -1, 3},
                              {1, 2, -1},
                              {lowest, 0, 0},
                              {0, highest, 0},
                              {highest, highest, highest},
                              {0, 0, 1LL << 32}}) {
        std::int64_t const raw[3] = {index[0], index[1], index[2]};
        CHECK(s.offset(raw) == s.cells());
    }
}

TEST_CASE("extents: zero and what no memory can hold are refused") {
    using plane = tally::extents<tally::num_classes, tally::num_labels>;
    auto const make = [](std::size_t a, std::size_t b) {
        return plane::from(std::tuple{tally::num_classes{a}, tally::num_labels{b}});
    };
    CHECK_THROWS_AS((void)make(0, 5), tally::configuration_error);
    CHECK_THROWS_AS((void)make(5, 0), tally::configuration_error);
    CHECK_THROWS_WITH_AS((void)make(std::size_t{1} << 40, std::size_t{1} << 40),
                         "the extents of a table multiply to more cells than memory can hold",
                         tally::configuration_error);
    CHECK_THROWS_AS((void)make(std::numeric_limits<std::size_t>::max(), 1), tally::configuration_error);
    CHECK(make(1000, 1000).cells() == 1'000'000);
}

TEST_CASE("table: an index outside is counted, never written") {
    std::array<tally::count, 26> memory{}; // a guard on both sides
    cube t;
    t.bind(make_shape(), memory.data() + 1);
    constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
    std::int64_t const candidates[] = {lowest, -4, -1, 0, 1, 2, 3, 4, 24, std::numeric_limits<std::int64_t>::max()};
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
    for (auto const i : candidates) {
        for (auto const j : candidates) {
            for (auto const k : candidates) {
                t.deposit(tally::at(i, j, k));
                bool const fits = i >= 0 && i < 2 && j >= 0 && j < 3 && k >= 0 && k < 4;
                (fits ? inside : outside) += 1;
            }
        }
    }
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < t.cells(); ++i) {
        CHECK(t.data()[i].value() == 1); // each cell once
        total += t.data()[i].value();
    }
    CHECK(total == inside);
    CHECK(t.outside() == outside);
    CHECK(memory.front().value() == 0);
    CHECK(memory.back().value() == 0);
    t.add_outside(5);
    CHECK(t.outside() == outside + 5);
}

TEST_CASE("table: cells take values and weights like their accumulator") {
    using row = tally::table<tally::sum<double>, tally::extents<tally::fixed<3>>>;
    std::array<tally::sum<double>, 3> memory{};
    row t;
    t.bind(tally::extents<tally::fixed<3>>{{3}}, memory.data());
    t.deposit(tally::at(1).add(2.5F));
    t.deposit(tally::at(1).add(4), 0.25F);
    t.deposit(tally::at(2), -2.0F); // one, weighted
    t.deposit(tally::at(3).add(4), 0.5F);
    CHECK(t(0).value() == 0.0);
    CHECK(t(1).value() == 3.5);
    CHECK(t(2).value() == -2.0);
    CHECK(t.outside() == 1);
}

TEST_CASE("table: merges cell by cell, resets, and reads by index") {
    using row = tally::table<tally::moments, tally::extents<tally::fixed<2>>>;
    tally::extents<tally::fixed<2>> const two{{2}};
    std::array<tally::moments, 2> a_memory{};
    std::array<tally::moments, 2> b_memory{};
    row a;
    row b;
    a.bind(two, a_memory.data());
    b.bind(two, b_memory.data());
    a.deposit(tally::at(0).add(1.0));
    b.deposit(tally::at(0).add(3.0));
    b.deposit(tally::at(1).add(7.0));
    b.deposit(tally::at(7).add(7.0));
    a.merge(b);
    CHECK(a(0).mean() == 2.0);
    CHECK(a(0).m2() == 2.0);
    CHECK(a(1).mean() == 7.0);
    CHECK(a.outside() == 1);
    CHECK(b(0).mean() == 3.0);
    a.reset();
    CHECK(a(0) == tally::moments{});
    CHECK(a.outside() == 0);
    CHECK(a.shape() == two);
    CHECK(a.extent(0) == 2);
}
