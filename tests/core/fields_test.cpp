// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/sum.hpp>
#include <tally/core/fields.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/table.hpp>

#include <doctest/doctest.h>

#include <array>
#include <type_traits>

namespace {

struct none {};
struct one_field {
    int a;
};
struct two_fields {
    double a;
    tally::count b;
};
struct inner {
    int a = 1;
    int b = 2;
};
struct nested { // an aggregate or a std::array is one field, whatever it holds
    inner first;
    std::array<int, 5> second;
    tally::table<tally::count, tally::extents<tally::fixed<2>, tally::fixed<3>>> third;
    tally::sum<double> fourth{4.0};
};
struct only_nested {
    inner first;
};
struct twenty_four {
    int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23;
};
template <class State>
constexpr int sum_of_fields(State& state) {
    return tally::with_fields(state, [](auto&... field) { return (0 + ... + field); });
}

static_assert(tally::field_count<none> == 0);
static_assert(tally::field_count<one_field> == 1);
static_assert(tally::field_count<two_fields> == 2);
static_assert(tally::field_count<nested> == 4);
static_assert(tally::field_count<only_nested> == 1);
static_assert(tally::field_count<twenty_four> == 24);

static_assert(std::is_same_v<tally::field_types<none>, tally::type_list<>>);
static_assert(std::is_same_v<tally::field_types<two_fields>, tally::type_list<double, tally::count>>);
static_assert(std::is_same_v<tally::field_types<only_nested>, tally::type_list<inner>>);

} // namespace

#define TALLY_TEST_FIELDS(N, ...)                                                                                      \
    do {                                                                                                               \
        struct fields {                                                                                                \
            int __VA_ARGS__;                                                                                           \
        };                                                                                                             \
        static_assert(tally::field_count<fields> == (N));                                                              \
        fields state{};                                                                                                \
        int next = 0;                                                                                                  \
        tally::with_fields(state, [&](auto&... field) { ((field = ++next), ...); });                                   \
        CHECK(next == (N));                                                                                            \
        CHECK(sum_of_fields(state) == (N) * ((N) + 1) / 2);                                                            \
        CHECK(state.z == (N));                                                                                         \
    } while (false)

TEST_CASE("fields: every number of fields up to 24 is visited once, in order") {
    TALLY_TEST_FIELDS(1, z);
    TALLY_TEST_FIELDS(2, a, z);
    TALLY_TEST_FIELDS(3, a, b, z);
    TALLY_TEST_FIELDS(4, a, b, c, z);
    TALLY_TEST_FIELDS(5, a, b, c, d, z);
    TALLY_TEST_FIELDS(6, a, b, c, d, e, z);
    TALLY_TEST_FIELDS(7, a, b, c, d, e, f, z);
    TALLY_TEST_FIELDS(8, a, b, c, d, e, f, g, z);
    TALLY_TEST_FIELDS(9, a, b, c, d, e, f, g, h, z);
    TALLY_TEST_FIELDS(10, a, b, c, d, e, f, g, h, i, z);
    TALLY_TEST_FIELDS(11, a, b, c, d, e, f, g, h, i, j, z);
    TALLY_TEST_FIELDS(12, a, b, c, d, e, f, g, h, i, j, k, z);
    TALLY_TEST_FIELDS(13, a, b, c, d, e, f, g, h, i, j, k, l, z);
    TALLY_TEST_FIELDS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, z);
    TALLY_TEST_FIELDS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, z);
    TALLY_TEST_FIELDS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, z);
    TALLY_TEST_FIELDS(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, z);
    TALLY_TEST_FIELDS(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, z);
    TALLY_TEST_FIELDS(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z);
    TALLY_TEST_FIELDS(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, z);
    TALLY_TEST_FIELDS(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, z);
    TALLY_TEST_FIELDS(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, z);
    TALLY_TEST_FIELDS(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, z);
    TALLY_TEST_FIELDS(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, z);
}

TEST_CASE("fields: references reach the state, const stays const") {
    two_fields state{1.0, tally::count{2}};
    tally::with_fields(state, [](double& a, tally::count& b) {
        a = 3.0;
        b.deposit(tally::one);
    });
    CHECK(state.a == 3.0);
    CHECK(state.b.value() == 3);
    auto const& constant = state;
    tally::with_fields(constant, [&](auto& a, auto& b) {
        static_assert(std::is_same_v<decltype(a), double const&>);
        static_assert(std::is_same_v<decltype(b), tally::count const&>);
        CHECK(&a == &state.a);
    });
    CHECK(&tally::with_fields(state, [](auto& a, auto&) -> auto& { return a; }) == &state.a);
}

TEST_CASE("fields: defaults of the state stay, a state without fields has nothing to visit") {
    nested state;
    tally::with_fields(state, [](inner& a, auto&, auto&, tally::sum<double>& d) {
        CHECK(a.b == 2);
        CHECK(d.value() == 4.0);
    });
    none empty;
    CHECK(tally::with_fields(empty, [] { return 7; }) == 7);
}

TEST_CASE("fields: can be visited at compile time") {
    constexpr int total = [] {
        one_field state{41};
        tally::with_fields(state, [](int& a) { ++a; });
        return sum_of_fields(state);
    }();
    static_assert(total == 42);
}
