// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// state_store and state_tuple: own the states and the cells of their tables; copies share nothing.
#include <tally/layout/grouped.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/mean.hpp>
#include <tally/state/store.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

namespace {

struct two_tables {
    tally::table<tally::count, tally::extents<tally::num_classes, tally::fixed<3>>> dynamic;
    tally::count samples;
    tally::table<tally::sum<double>, tally::extents<tally::fixed<5>>> fixed;
};
using store = tally::state_store<two_tables>;

store make(std::size_t classes = 4) { return store{std::tuple{tally::num_classes{classes}}}; }

} // namespace

TEST_CASE("state_store: shapes from the extents, everything at identity, cells on cache lines") {
    auto const s = make(7);
    CHECK(s.get().dynamic.cells() == 21);
    CHECK(s.get().dynamic.extent(0) == 7);
    CHECK(s.get().dynamic.extent(1) == 3);
    CHECK(s.get().fixed.cells() == 5);
    for (std::size_t i = 0; i < 21; ++i) {
        CHECK(s.get().dynamic.data()[i].value() == 0);
    }
    CHECK(reinterpret_cast<std::uintptr_t>(s.get().dynamic.data()) % 64 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(s.get().fixed.data()) % 64 == 0);
    // The tables don't overlap.
    CHECK(reinterpret_cast<char const*>(s.get().fixed.data()) - reinterpret_cast<char const*>(s.get().dynamic.data()) >=
          static_cast<std::ptrdiff_t>(21 * sizeof(tally::count)));
}

TEST_CASE("state_store: a copy is deep, in both directions") {
    auto a = make();
    a.get().dynamic.deposit(tally::at(1, 2));
    a.get().fixed.deposit(tally::at(4).add(2.5));
    a.get().dynamic.deposit(tally::at(9, 9));
    a.get().samples.deposit(tally::one);
    auto b = a;
    CHECK(b.get().dynamic.data() != a.get().dynamic.data());
    CHECK(b.get().dynamic(1, 2).value() == 1);
    CHECK(b.get().dynamic.outside() == 1);
    CHECK(b.get().fixed(4).value() == 2.5);
    b.get().dynamic.deposit(tally::at(1, 2));
    CHECK(b.get().dynamic(1, 2).value() == 2);
    CHECK(a.get().dynamic(1, 2).value() == 1);
    auto c = make(1);
    c = a;
    c.get().fixed.deposit(tally::at(4).add(1));
    CHECK(c.get().dynamic.extent(0) == 4); // takes over the shape
    CHECK(c.get().fixed(4).value() == 3.5);
    CHECK(a.get().fixed(4).value() == 2.5);
    auto const& self = c;
    c = self;
    CHECK(c.get().fixed(4).value() == 3.5);
}

TEST_CASE("state_store: a move takes the cells along") {
    auto a = make();
    a.get().dynamic.deposit(tally::at(3, 0));
    auto const* const cells = a.get().dynamic.data();
    auto b = std::move(a);
    CHECK(b.get().dynamic.data() == cells);
    CHECK(b.get().dynamic(3, 0).value() == 1);
    auto c = make(9);
    c = std::move(b);
    CHECK(c.get().dynamic.data() == cells);
    CHECK(c.get().dynamic.extent(0) == 4);
}

TEST_CASE("state_store: merge adds cells, outsiders and accumulators; reset forgets all of them and keeps the shape") {
    auto a = make();
    auto b = make();
    a.get().dynamic.deposit(tally::at(0, 0));
    b.get().dynamic.deposit(tally::at(0, 0));
    b.get().dynamic.deposit(tally::at(3, 2));
    b.get().dynamic.deposit(tally::at(-1, 0));
    b.get().fixed.deposit(tally::at(0).add(4.0));
    b.get().samples.deposit(5);
    a.merge(b);
    CHECK(a.get().dynamic(0, 0).value() == 2);
    CHECK(a.get().dynamic(3, 2).value() == 1);
    CHECK(a.get().dynamic.outside() == 1);
    CHECK(a.get().fixed(0).value() == 4.0);
    CHECK(a.get().samples.value() == 5);
    a.reset();
    CHECK(a.get().dynamic(0, 0).value() == 0);
    CHECK(a.get().dynamic.outside() == 0);
    CHECK(a.get().fixed(0).value() == 0.0);
    CHECK(a.get().samples.value() == 0);
    CHECK(a.get().dynamic.extent(0) == 4);
    CHECK(b.get().dynamic(3, 2).value() == 1);
}

TEST_CASE("state_store: impossible extents are refused before memory is asked for") {
    CHECK_THROWS_WITH_AS((void)make(0), "a table needs at least one cell along each extent, got an extent of 0",
                         tally::configuration_error);
    CHECK_THROWS_AS((void)make(std::numeric_limits<std::size_t>::max() / 2), tally::configuration_error);
    CHECK_THROWS_AS((void)make(std::numeric_limits<std::size_t>::max()), tally::configuration_error);
}

TEST_CASE("state_tuple: bookkeeping first, then the counters in the order of the collection, shared ones once") {
    using both = tally::collection<tally::named<"a", tally::mean<>>, tally::named<"b", tally::confusion_matrix<>>,
                                   tally::named<"c", tally::mean<>>>;
    tally::states_of<both> states{std::tuple{tally::num_classes{3}}};
    states.get<1>().total.deposit(2.0F);
    states.get<2>().cells.deposit(tally::at(2, 2));
    auto copy = states;
    copy.merge(states);
    CHECK(copy.get<1>().total.value() == 4.0);
    CHECK(copy.get<2>().cells(2, 2).value() == 2);
    std::size_t fields = 0;
    states.visit([&](auto const&) { ++fields; });
    CHECK(fields == 3 + 3 + 2); // bookkeeping, mean, confusion_matrix
    copy.reset();
    CHECK(copy.get<2>().cells(2, 2).value() == 0);
    CHECK(states.get<2>().cells(2, 2).value() == 1);
}
