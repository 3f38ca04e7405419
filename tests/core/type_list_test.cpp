// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/core/type_list.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <type_traits>

namespace {

using tally::type_list;
namespace detail = tally::detail;

static_assert(type_list<>::size == 0);
static_assert(type_list<int, int>::size == 2);

static_assert(!detail::contains_v<type_list<>, int>);
static_assert(detail::contains_v<type_list<float, int>, int>);
static_assert(!detail::contains_v<type_list<float, int>, int const>);

static_assert(detail::index_of_v<type_list<float, int, char>, float> == 0);
static_assert(detail::index_of_v<type_list<float, int, int>, int> == 1);
static_assert(detail::index_of_v<type_list<float, int>, char> == 2, "not found: the size");

static_assert(std::is_same_v<detail::unique_t<type_list<>>, type_list<>>);
static_assert(std::is_same_v<detail::unique_t<type_list<int, float, int, char, float>>, type_list<int, float, char>>);

static_assert(std::is_same_v<detail::concat_t<>, type_list<>>);
static_assert(std::is_same_v<detail::concat_t<type_list<int>>, type_list<int>>);
static_assert(std::is_same_v<detail::concat_t<type_list<int>, type_list<>, type_list<int, char>, type_list<float>>,
                             type_list<int, int, char, float>>);

static_assert(std::is_same_v<detail::at_t<type_list<int, float, char>, 0>, int>);
static_assert(std::is_same_v<detail::at_t<type_list<int, float, char>, 2>, char>);

} // namespace

TEST_CASE("type_list: is visited in order") {
    std::string sizes;
    detail::for_each_type(type_list<char, double, char, float>{},
                          [&]<class T>() { sizes += std::to_string(sizeof(T)); });
    CHECK(sizes == "1814");
    detail::for_each_type(type_list<>{}, [&]<class T>() { sizes.clear(); });
    CHECK(sizes == "1814");
}
