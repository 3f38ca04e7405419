// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The laws of accumulators, one body for all: identity, associativity, order of merges, blocks, travel over the wire.
// A new accumulator adds one line.
#include <doctest/doctest.h>

#include <tally/accumulator/across.hpp>
#include <tally/accumulator/arg_extrema.hpp>
#include <tally/accumulator/cell_state.hpp>
#include <tally/accumulator/co_moments.hpp>
#include <tally/accumulator/count.hpp>
#include <tally/accumulator/exact_co_moments.hpp>
#include <tally/accumulator/exact_moments.hpp>
#include <tally/accumulator/extrema.hpp>
#include <tally/accumulator/log_sum_exp.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/accumulator/probability_sum.hpp>
#include <tally/accumulator/sum.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace tally;

/// What an accumulator stands for, as numbers.
template <class Acc>
std::vector<double> look(Acc const& a) {
    if constexpr (requires { a.c_xy(); }) {
        return {static_cast<double>(a.deposits()), a.weight(), a.mean_x(), a.mean_y(), a.m2_x(), a.m2_y(), a.c_xy()};
    } else if constexpr (requires { a.get().m2(); }) {
        return look(a.get());
    } else if constexpr (requires { a.m2(); }) {
        return {static_cast<double>(a.deposits()), a.weight(), a.mean(), a.m2()};
    } else if constexpr (requires { a.position(); }) {
        return {static_cast<double>(a.value()), static_cast<double>(a.position()), static_cast<double>(a.nans())};
    } else if constexpr (requires { a.state(); }) {
        return {static_cast<double>(a.state().n.value()), static_cast<double>(a.state().largest.value())};
    } else {
        return {static_cast<double>(a.value())};
    }
}

template <class Acc>
void check_same(Acc const& got, Acc const& expected, double bound) {
    auto const a = look(got);
    auto const b = look(expected);
    for (std::size_t i = 0; i < a.size(); ++i) {
        CAPTURE(i);
        CAPTURE(a[i]);
        CAPTURE(b[i]);
        bool const same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        CHECK((same || std::fabs(a[i] - b[i]) <= bound * std::fmax(1.0, std::fabs(b[i]))));
    }
}

template <class Acc>
Acc over_the_wire(std::vector<Acc> const& replicas) {
    Acc result{};
    if constexpr (detail::travels_as_words<Acc>) {
        auto const lanes = lanes_of<Acc>();
        std::vector<std::uint64_t> sums(lanes.sums);
        std::vector<std::uint64_t> maxes(lanes.maxes);
        for (auto replica : replicas) {
            std::vector<std::uint64_t> s(lanes.sums);
            std::vector<std::uint64_t> m(lanes.maxes);
            word_writer writer{s.data(), m.data()};
            replica.travel(writer);
            for (std::size_t i = 0; i < s.size(); ++i) {
                sums[i] += s[i];
            }
            for (std::size_t i = 0; i < m.size(); ++i) {
                maxes[i] = std::max(maxes[i], m[i]);
            }
        }
        word_reader reader{sums.data(), maxes.data()};
        result.travel(reader);
    } else {
        for (auto const& replica : replicas) {
            tally::fold(result, replica);
        }
    }
    return result;
}

/// `make(i)` is the i-th contribution; bound 0 asks for the same bits.
template <class Acc, class Make>
void check_laws(std::string const& name, double bound, Make make, bool same_between_replicas = true) {
    CAPTURE(name);
    constexpr std::size_t n = 500;
    Acc whole{};
    for (std::size_t i = 0; i < n; ++i) {
        whole.deposit(make(i));
    }
    { // identity
        Acc left{};
        left.merge(whole);
        check_same(left, whole, 0.0);
        Acc right = whole;
        right.merge(Acc{});
        check_same(right, whole, 0.0);
    }
    { // unequal merges, either grouping
        std::size_t const cut[] = {0, 3, 3, 100, 499, n};
        std::vector<Acc> part(5);
        for (std::size_t p = 0; p < part.size(); ++p) {
            for (std::size_t i = cut[p]; i < cut[p + 1]; ++i) {
                part[p].deposit(make(i));
            }
        }
        Acc forward{};
        for (auto const& each : part) {
            forward.merge(each);
        }
        check_same(forward, whole, bound);
        Acc tail = part[3];
        tail.merge(part[4]);
        Acc head = part[0];
        head.merge(part[1]);
        head.merge(part[2]);
        head.merge(tail);
        check_same(head, whole, bound);
        if (same_between_replicas) {
            check_same(over_the_wire(part), whole, bound);
        }
    }
    { // a replica without data changes nothing
        std::vector<Acc> const replicas{Acc{}, whole, Acc{}};
        check_same(over_the_wire(replicas), whole, 0.0);
        check_same(over_the_wire(std::vector<Acc>{Acc{}, Acc{}}), Acc{}, 0.0);
    }
}

double number(std::size_t i) {
    std::mt19937_64 random{i};
    return std::normal_distribution<double>{3.0, 10.0}(random);
}

template <class F>
auto as(F convert) {
    return [convert](std::size_t i) { return convert(number(i)); };
}

struct pair_state {
    count n;
    maximum<float> largest;
};

struct keep_sum_of_larger {
    static void merge(sum<double>& into, sum<double> const& next) { into = next.value() > into.value() ? next : into; }
};

} // namespace

TEST_CASE("count, sum: laws") {
    check_laws<count>("count", 0.0, [](std::size_t i) { return i % 3; });
    check_laws<occurrences>("occurrences", 0.0, [](std::size_t i) { return i % 3; });
    check_laws<sum<std::int64_t>>("sum of integers", 0.0, as([](double x) { return static_cast<int>(x * 1e6); }));
    check_laws<probability_sum>("probability_sum", 0.0,
                                [](std::size_t i) { return static_cast<float>(std::fabs(std::sin(number(i)))); });
    check_laws<sum<double>>("sum of doubles", 1e-13, as([](double x) { return x; }));
}

TEST_CASE("extrema: laws") {
    check_laws<minimum<float>>("minimum", 0.0, as([](double x) { return static_cast<float>(x); }));
    check_laws<maximum<double>>("maximum", 0.0, as([](double x) { return x; }));
    check_laws<minimum<std::int8_t>>("minimum of bytes", 0.0, as([](double x) { return static_cast<std::int8_t>(x); }));
    auto const located_at = [](std::size_t i) { return located(static_cast<float>(i % 7), i); };
    check_laws<arg_maximum<float>>("arg_maximum", 0.0, located_at);
    check_laws<arg_minimum<float>>("arg_minimum", 0.0, located_at);
}

TEST_CASE("moments, log_sum_exp: laws") {
    check_laws<moments>("moments", 1e-13, as([](double x) { return x; }));
    check_laws<co_moments>("co_moments", 1e-12, [](std::size_t i) { return paired(number(i), number(i / 2)); });
    auto const narrow = [](std::size_t i) { return static_cast<float>(number(i)); };
    check_laws<exact_moments<float>>("exact_moments", 0.0, narrow);
    check_laws<exact_co_moments<float>>("exact_co_moments", 0.0,
                                        [narrow](std::size_t i) { return paired(narrow(i), narrow(i / 2)); });
    check_laws<log_sum_exp>("log_sum_exp", 1e-14, as([](double x) { return x; }));
}

TEST_CASE("across: laws") {
    auto const value = as([](double x) { return x; });
    // Another operation between replicas than inside one: splitting samples over replicas is meant to change the result.
    check_laws<across<op::max, sum<double>>>("across max", 1e-13, value, false);
    check_laws<across<op::min, sum<double>>>("across min", 1e-13, value, false);
    check_laws<across<op::first, sum<double>>>("across first", 1e-13, value, false);
    check_laws<across<op::replicated, sum<double>>>("across replicated", 1e-13, value, false);
    check_laws<across<keep_sum_of_larger, sum<double>>>("across a user's op", 1e-13, value, false);
    check_laws<across<op::sum, sum<double>>>("across sum", 1e-13, value);
    check_laws<across<op::ordered, moments>>(
        "across ordered", 1e-13, [](std::size_t i) { return number(i); }, false);
}

TEST_CASE("cell_state: laws") {
    check_laws<cell_state<pair_state>>("cell_state", 0.0, [](std::size_t i) {
        return contribute(one, when(i % 2 == 0, static_cast<float>(number(i))));
    });
}
