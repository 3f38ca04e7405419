// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/co_moments.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <utility>
#include <vector>

static_assert(tally::accumulator<tally::moments> && tally::accumulator<tally::co_moments>);
static_assert(sizeof(tally::moments) == 32 && sizeof(tally::co_moments) == 56);
static_assert(tally::lanes_of<tally::moments>() == tally::lane_sizes{0, 0, 32});
static_assert(tally::lanes_of<tally::co_moments>() == tally::lane_sizes{0, 0, 56});

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct sample {
    double x;
    double y;
    double weight;
};

std::vector<sample> samples(std::size_t n, double shift) {
    std::mt19937_64 random{7};
    std::normal_distribution<double> normal;
    std::vector<sample> result(n);
    for (auto& each : result) {
        auto const x = normal(random);
        each = {shift + x, 0.25 * x + normal(random) - shift, 0.125 * static_cast<double>(1 + random() % 16)};
    }
    return result;
}

/// Weighted means, squared deviations and products of deviations, in two passes.
struct reference {
    long double weight = 0;
    long double mean_x = 0;
    long double mean_y = 0;
    long double m2_x = 0;
    long double m2_y = 0;
    long double c_xy = 0;

    reference(sample const* s, std::size_t n, bool weighted) {
        auto const w = [&](std::size_t i) { return weighted ? static_cast<long double>(s[i].weight) : 1.0L; };
        for (std::size_t i = 0; i < n; ++i) {
            weight += w(i);
            mean_x += w(i) * s[i].x;
            mean_y += w(i) * s[i].y;
        }
        if (weight != 0) {
            mean_x /= weight;
            mean_y /= weight;
        }
        for (std::size_t i = 0; i < n; ++i) {
            auto const dx = s[i].x - mean_x;
            auto const dy = s[i].y - mean_y;
            m2_x += w(i) * dx * dx;
            m2_y += w(i) * dy * dy;
            c_xy += w(i) * dx * dy;
        }
    }
};

/// Chan, Golub, LeVeque 1983: the error of squared deviations relative to them is at most about n u kappa, with
/// kappa = sqrt(1 + n mean^2 / M2) the condition of the data; that of a mean n u max|x|.
struct bounds {
    double terms;
    double largest = 0;
    double spread = 0;
    double condition = 0;

    bounds(sample const* s, std::size_t n) : terms{static_cast<double>(n + 8) * 0x1p-53} {
        reference const r{s, n, true};
        for (std::size_t i = 0; i < n; ++i) {
            largest = std::max({largest, std::fabs(s[i].x), std::fabs(s[i].y)});
        }
        spread = static_cast<double>(std::max(r.m2_x, r.m2_y));
        condition = std::sqrt(static_cast<double>(n) * 2) * largest / std::sqrt(std::max(spread, 1e-300));
    }
    [[nodiscard]] double of_mean() const { return terms * largest; }
    [[nodiscard]] double of_spread() const { return terms * (1 + condition) * spread; }
};

double distance(double a, long double b) { return static_cast<double>(std::fabs(static_cast<long double>(a) - b)); }

void check(tally::moments const& m, sample const* s, std::size_t n, bool weighted) {
    reference const expected{s, n, weighted};
    bounds const bound{s, n};
    CHECK(m.deposits() == n);
    CHECK(distance(m.weight(), expected.weight) == 0.0); // small multiples of 1/8
    CHECK(distance(m.mean(), expected.mean_x) <= bound.of_mean());
    CHECK(distance(m.m2(), expected.m2_x) <= bound.of_spread());
}

void check(tally::co_moments const& m, sample const* s, std::size_t n, bool weighted) {
    reference const expected{s, n, weighted};
    bounds const bound{s, n};
    CHECK(m.deposits() == n);
    CHECK(distance(m.weight(), expected.weight) == 0.0);
    CHECK(distance(m.mean_x(), expected.mean_x) <= bound.of_mean());
    CHECK(distance(m.mean_y(), expected.mean_y) <= bound.of_mean());
    CHECK(distance(m.m2_x(), expected.m2_x) <= bound.of_spread());
    CHECK(distance(m.m2_y(), expected.m2_y) <= bound.of_spread());
    CHECK(distance(m.c_xy(), expected.c_xy) <= bound.of_spread());
}

struct both {
    tally::moments one;
    tally::co_moments two;

    void deposit(sample const& s, bool weighted) {
        if (weighted) {
            one.deposit(s.x, s.weight);
            two.deposit(tally::paired(s.x, s.y), s.weight);
        } else {
            one.deposit(s.x);
            two.deposit(tally::paired(s.x, s.y));
        }
    }
    void deposit_block(sample const* s, std::size_t n) {
        std::vector<double> x;
        std::vector<tally::value_pair<double>> pairs;
        for (std::size_t i = 0; i < n; ++i) {
            x.push_back(s[i].x);
            pairs.push_back(tally::paired(s[i].x, s[i].y));
        }
        tally::deposit_block(one, x.data(), n);
        tally::deposit_block(two, pairs.data(), n);
    }
    void merge(both const& other) {
        one.merge(other.one);
        two.merge(other.two);
    }
    void check(sample const* s, std::size_t n, bool weighted) const {
        ::check(one, s, n, weighted);
        ::check(two, s, n, weighted);
    }
};

} // namespace

TEST_CASE("moments: one by one and in blocks, at any length and offset") {
    for (double const shift : {0.0, 3.0, 1e6}) {
        auto const s = samples(700, shift);
        for (std::size_t n = 0; n <= 70; ++n) {
            both single;
            both weighted;
            both block;
            auto const* const from = s.data() + n % 9;
            for (std::size_t i = 0; i < n; ++i) {
                single.deposit(from[i], false);
                weighted.deposit(from[i], true);
            }
            block.deposit_block(from, n);
            single.check(from, n, false);
            weighted.check(from, n, true);
            block.check(from, n, false);
        }
        for (std::size_t const n : {256U, 257U, 700U}) { // longer than the runs that co_moments converts at a time
            both block;
            block.deposit_block(s.data(), n);
            block.check(s.data(), n, false);
        }
    }
}

TEST_CASE("moments: blocks read floats at unaligned places") {
    std::vector<float> x;
    for (int i = 0; i < 90; ++i) {
        x.push_back(static_cast<float>(i * i % 31) * 0.25F);
    }
    for (std::size_t n = 1; n <= 70; ++n) {
        std::vector<sample> s;
        for (std::size_t i = 0; i < n; ++i) {
            s.push_back({static_cast<double>(x[n % 11 + i]), 0.0, 1.0});
        }
        tally::moments m;
        tally::deposit_block(m, x.data() + n % 11, n);
        check(m, s.data(), n, false);
    }
}

TEST_CASE("moments: unequal parts merge as squared deviations, never as variances") {
    for (double const shift : {0.0, 1e6}) {
        auto const s = samples(400, shift);
        for (std::size_t const cut : {0U, 1U, 2U, 13U, 200U, 399U, 400U}) {
            for (bool const weighted : {false, true}) {
                both parts[2];
                for (std::size_t i = 0; i < s.size(); ++i) {
                    parts[i < cut ? 0 : 1].deposit(s[i], weighted);
                }
                parts[0].merge(parts[1]);
                parts[0].check(s.data(), s.size(), weighted);
            }
        }
    }
}

TEST_CASE("co_moments: two replicas of unequal size, a known correlation") {
    tally::co_moments first;
    tally::co_moments second;
    first.deposit(tally::paired(1, 1));
    first.deposit(tally::paired(2, 2));
    first.deposit(tally::paired(3, 4));
    second.deposit(tally::paired(10, 5));
    second.deposit(tally::paired(11, 3));
    first.merge(second);
    // numpy.corrcoef([1, 2, 3, 10, 11], [1, 2, 4, 5, 3])
    CHECK(first.c_xy() / std::sqrt(first.m2_x() * first.m2_y()) == doctest::Approx(0.6361670537).epsilon(1e-10));
}

TEST_CASE("moments: constant data have no spread, exactly, however they are split") {
    for (double const value : {0.1, -1e300, 1e-300, 12345.678}) {
        std::vector<double> const x(300, value);
        tally::moments a;
        tally::moments b;
        tally::deposit_block(a, x.data(), 3);
        tally::deposit_block(a, x.data(), 70);
        tally::deposit_block(b, x.data(), 227);
        a.merge(b);
        CHECK(a.mean() == value);
        CHECK(a.m2() == 0.0);

        std::vector<tally::value_pair<double>> const pairs(300, tally::paired(value, -value));
        tally::co_moments c;
        tally::deposit_block(c, pairs.data(), 299);
        c.deposit(pairs[0]);
        CHECK(c.m2_x() == 0.0);
        CHECK(c.m2_y() == 0.0);
        CHECK(c.c_xy() == 0.0);
    }
}

TEST_CASE("moments: NIST NumAcc1 and NumAcc3, certified values") {
    tally::moments first;
    for (double const x : {10000001.0, 10000003.0, 10000002.0}) {
        first.deposit(x);
    }
    CHECK(first.mean() == 10000002.0);
    CHECK(first.m2() / 2 == 1.0);

    std::vector<double> x{1000000.2};
    for (int i = 0; i < 500; ++i) {
        x.push_back(1000000.1);
        x.push_back(1000000.3);
    }
    tally::moments third;
    tally::deposit_block(third, x.data(), x.size());
    CHECK(third.mean() == doctest::Approx(1000000.2).epsilon(1e-15));
    // The doubles nearest the data have this deviation, not the certified 0.1.
    CHECK(std::sqrt(third.m2() / 1000) == doctest::Approx(0.1000000000349).epsilon(1e-10));
}

TEST_CASE("moments: the identity on either side changes nothing") {
    both full;
    for (auto const& each : samples(9, 2.0)) {
        full.deposit(each, true);
    }
    both copy = full;
    copy.merge(both{});
    CHECK(copy.one == full.one);
    CHECK(copy.two == full.two);
    both empty;
    empty.merge(full);
    CHECK(empty.one == full.one);
    CHECK(empty.two == full.two);
    CHECK(both{}.one.deposits() == 0);
}

TEST_CASE("moments: weight zero is counted and changes no value, not even if it is no number") {
    both m;
    m.deposit({1.0, 2.0, 1.0}, true);
    m.deposit({2.0, 5.0, 0.5}, true);
    auto const before = m;
    for (double const x : {17.0, infinity, not_a_number}) {
        m.deposit({x, x, 0.0}, true);
    }
    CHECK(m.one.mean() == before.one.mean());
    CHECK(m.one.m2() == before.one.m2());
    CHECK(m.two.c_xy() == before.two.c_xy());
    CHECK(m.two.m2_y() == before.two.m2_y());
    CHECK(m.one.deposits() == 5);
    CHECK(m.two.deposits() == 5);
}

TEST_CASE("moments: an infinity or a NaN has no spread, in whatever way it is deposited") {
    for (double const x : {infinity, -infinity, not_a_number}) {
        for (std::size_t n = 1; n <= 20; ++n) {
            std::vector<sample> s(n, sample{1.0, 2.0, 1.0});
            s[n / 2].x = x;
            both single;
            both weighted;
            both block;
            for (auto const& each : s) {
                single.deposit(each, false);
                weighted.deposit(each, true);
            }
            block.deposit_block(s.data(), n);
            for (auto const* each : {&single, &weighted, &block}) {
                CHECK(std::isnan(each->one.m2()));
                CHECK(std::isnan(each->two.m2_x()));
                CHECK(std::isnan(each->two.c_xy()));
                CHECK(each->two.m2_y() == 0.0);
            }
            both merged;
            merged.deposit({4.0, 4.0, 1.0}, false);
            merged.merge(block);
            CHECK(std::isnan(merged.one.m2()));
        }
    }
}

TEST_CASE("moments: weights that cancel on the way leave no number, instead of a wrong one") {
    // Weights 1, -1, 1 of values 1, 2, 5: the weighted mean would be 4, but between the second and the third there is none.
    both m;
    m.deposit({1.0, 1.0, 1.0}, true);
    m.deposit({2.0, 2.0, -1.0}, true);
    both last;
    last.deposit({5.0, 5.0, 1.0}, true);
    both reversed = last;
    auto deposited = m;
    deposited.deposit({5.0, 5.0, 1.0}, true);
    reversed.merge(m);
    m.merge(last);
    for (auto const* each : {&m, &reversed, &deposited}) {
        CHECK(each->one.weight() == 1.0);
        CHECK(std::isnan(each->one.mean()));
        CHECK(std::isnan(each->one.m2()));
        CHECK(std::isnan(each->two.mean_x()));
        CHECK(std::isnan(each->two.mean_y()));
        CHECK(std::isnan(each->two.c_xy()));
    }
}

TEST_CASE("moments: a negative weight has no spread: NaN in every order, never a number that depends on it") {
    std::vector<std::pair<double, double>> samples{{1.0, 0.1}, {5.0, 0.2}, {2.0, -0.3}, {10.0, 1.0}};
    std::sort(samples.begin(), samples.end());
    do {
        tally::moments one;
        tally::co_moments two;
        tally::moments tail;
        for (auto const& [x, w] : samples) {
            (w == 1.0 ? tail : one).deposit(x, w);
            two.deposit(tally::paired(x, x), w);
        }
        one.merge(tail);
        CHECK(std::isnan(one.m2()));
        CHECK(std::isnan(two.m2_x()));
        CHECK(std::isnan(two.c_xy()));
    } while (std::next_permutation(samples.begin(), samples.end()));
}
