// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: constant scores that look perfect, because every class ties with the target (TensorFlow's in_top_k),
// and rows with NaN that look right.
#include "support/value_of.hpp"

#include <tally/metric/accuracy.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

namespace {

using namespace tally;
using tally::testing::value_of;

template <class Ties>
using top_2 = accuracy<top_k<2, Ties>>;

} // namespace

TEST_CASE("constant scores: no better than chance by default") {
    std::vector<float> const s(4 * 4, 0.25F);
    std::vector<int> const t{0, 1, 2, 3};
    CHECK(value_of<accuracy<>>(scores(s, 4), targets(t)).value() == 0.25);
    CHECK(value_of<top_2<ties::lowest_index>>(scores(s, 4), targets(t)).value() == 0.5);
    CHECK(value_of<top_2<ties::average>>(scores(s, 4), targets(t)).value() == 0.5);
    CHECK(value_of<top_2<ties::pessimistic>>(scores(s, 4), targets(t)).value() == 0.0);
    CHECK(value_of<top_2<ties::optimistic>>(scores(s, 4), targets(t)).value() == 1.0); // what the fault did unasked
}

TEST_CASE("constant scores: NaN in every row is never right, whatever the rule for ties") {
    std::vector<float> const s(4 * 4, std::numeric_limits<float>::quiet_NaN());
    std::vector<int> const t{0, 1, 2, 3};
    CHECK(value_of<accuracy<>>(scores(s, 4), targets(t)).value() == 0.0);
    CHECK(value_of<top_2<ties::lowest_index>>(scores(s, 4), targets(t)).value() == 0.0);
    CHECK(value_of<top_2<ties::average>>(scores(s, 4), targets(t)).value() == 0.0);
    CHECK(value_of<top_2<ties::optimistic>>(scores(s, 4), targets(t)).value() == 0.0);
}
