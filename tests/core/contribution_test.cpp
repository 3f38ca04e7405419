// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/core/class_index.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/roles.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace {

namespace detail = tally::detail;

constexpr auto mixed = tally::contribute(1.5F, tally::one, tally::when(true, 3), tally::nothing);
static_assert(decltype(mixed)::size == 4);
static_assert(
    std::is_same_v<detail::contribution_types<std::remove_const_t<decltype(mixed)>>::type,
                   tally::type_list<float, tally::one_t, tally::optional_contribution<int>, tally::nothing_t>>);
static_assert(detail::slot<0>(mixed) == 1.5F);
static_assert(detail::slot<1>(mixed) == 1);
static_assert(detail::slot<2>(mixed).value == 3 && detail::slot<2>(mixed).keep);

static_assert(detail::is_contribution_v<tally::contribution<int>> && !detail::is_contribution_v<int>);
static_assert(std::is_same_v<detail::kept<tally::optional_contribution<float>>::type, float>);
static_assert(detail::kept<tally::optional_contribution<float>>::conditional && !detail::kept<float>::conditional);
static_assert(tally::contribution<>::size == 0);

// Nobody can make an index of a float, whose NaN would be one that the compiler chooses.
template <class X>
concept an_index = requires(X x) { tally::at(x); };
static_assert(an_index<int> && an_index<std::uint64_t> && an_index<tally::class_index> && an_index<bool>);
static_assert(an_index<tally::target<tally::class_index>> && an_index<tally::target<std::int64_t>>);
static_assert(!an_index<float> && !an_index<double> && !an_index<tally::prediction<float>>);

} // namespace

TEST_CASE("contribution: fields of one type keep their places") {
    auto const c = tally::contribute(1, 2, 3);
    CHECK(detail::slot<0>(c) == 1);
    CHECK(detail::slot<1>(c) == 2);
    CHECK(detail::slot<2>(c) == 3);
}

TEST_CASE("at: an index of any integer type, negative ones stay recognisable") {
    auto const c = tally::at(std::int8_t{-1}, std::uint32_t{7}, std::int64_t{1} << 40);
    CHECK(c.index[0] == -1);
    CHECK(c.index[1] == 7);
    CHECK(c.index[2] == std::int64_t{1} << 40);
    static_assert(std::is_same_v<decltype(c.value), tally::one_t>);
    // An unsigned index beyond int64 turns negative, so it is outside of every table as well.
    CHECK(tally::at(std::numeric_limits<std::uint64_t>::max()).index[0] < 0);
}

TEST_CASE("at: add keeps the indices and takes a value") {
    auto const c = tally::at(4, 5).add(2.5);
    CHECK(c.index[0] == 4);
    CHECK(c.index[1] == 5);
    CHECK(c.value == 2.5);
    CHECK(tally::at(4, 5).add(2.5).add(7).value == 7);
}

TEST_CASE("located and paired carry both parts") {
    auto const l = tally::located(2.0F, ~std::uint64_t{0});
    CHECK(l.value == 2.0F);
    CHECK(l.position == ~std::uint64_t{0});
    auto const p = tally::paired(1, 2.5);
    CHECK(p.first == 1);
    CHECK(p.second == 2.5);
}
