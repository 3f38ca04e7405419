// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/across.hpp>
#include <tally/accumulator/cell_state.hpp>
#include <tally/accumulator/count.hpp>
#include <tally/accumulator/extrema.hpp>
#include <tally/accumulator/sum.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace {

struct counters {
    tally::count seen;
    tally::maximum<float> largest;
    tally::sum<std::int64_t> total;
};
struct with_real_sum {
    tally::sum<double> total;
    tally::across<tally::op::max, tally::sum<double>> seconds;
};

using cell = tally::cell_state<counters>;

} // namespace

static_assert(tally::accumulator<cell>);
// Words if every field names words, else the whole cell as bytes.
static_assert(tally::lanes_of<cell>() == tally::lane_sizes{1 + 2 + 1, 1, 0});
static_assert(tally::lanes_of<tally::cell_state<with_real_sum>>() == tally::lane_sizes{0, 0, sizeof(with_real_sum)});

TEST_CASE("cell_state: deposits field by field, conditions and gaps included") {
    cell c;
    c.deposit(tally::contribute(tally::one, 2.5F, 7));
    c.deposit(tally::contribute(tally::when(false, tally::one), tally::when(true, 9.0F), tally::nothing));
    CHECK(c.state().seen.value() == 1);
    CHECK(c.state().largest.value().value() == 9.0F);
    CHECK(c.state().total.value() == 7);
}

TEST_CASE("cell_state: weights go to every field") {
    tally::cell_state<with_real_sum> c;
    c.deposit(tally::contribute(2.0, 3.0F), 0.5F);
    CHECK(c.state().total.value() == 1.0);
    CHECK(c.state().seconds.value() == 1.5);
}

TEST_CASE("cell_state: merge is that of the fields, fold that between replicas") {
    tally::cell_state<with_real_sum> a;
    tally::cell_state<with_real_sum> b;
    a.deposit(tally::contribute(1.0, 10.0));
    b.deposit(tally::contribute(2.0, 4.0));
    auto merged = a;
    merged.merge(b);
    CHECK(merged.state().total.value() == 3.0);
    CHECK(merged.state().seconds.value() == 14.0);
    tally::fold(a, b);
    CHECK(a.state().total.value() == 3.0);
    CHECK(a.state().seconds.value() == 10.0);
}

TEST_CASE("cell_state: words travel in the order of the fields") {
    cell sent;
    sent.deposit(tally::contribute(tally::one, 2.5F, 7));
    std::uint64_t sums[4] = {};
    std::uint64_t max = 0;
    tally::word_writer writer{sums, &max};
    sent.travel(writer);
    CHECK(sums[0] == 1);
    CHECK(sums[3] == 7);
    cell received;
    tally::word_reader reader{sums, &max};
    received.travel(reader);
    CHECK(received.state().seen == sent.state().seen);
    CHECK(received.state().largest == sent.state().largest);
    CHECK(received.state().total == sent.state().total);
}
