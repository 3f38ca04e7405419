// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: a label at or above the number of classes, or below 0, written outside of the counters (Keras).
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/accuracy.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/f_beta.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

} // namespace

TEST_CASE("label out of range: dropped, counted, nothing written") {
    for (std::int64_t const label :
         {std::int64_t{5}, std::int64_t{2}, std::int64_t{-1}, std::int64_t{1} << 32,
          std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
        std::vector<std::int64_t> const labels{label};
        auto const f = value_of<f1<classes<2>>>(predictions(labels), targets(labels));
        CHECK(f.why() == reason::no_samples);
        CHECK(f.dropped() == 1);
        auto const m = value_of<confusion_matrix<2>>(predictions(labels), targets(labels));
        CHECK(m.total() == 0);
        CHECK(m.outside() == 1);
        std::vector<float> const s{0.1F, 0.9F};
        auto const ranked = value_of<accuracy<top_k<1>>>(scores(s, 2), targets(labels));
        CHECK(ranked.why() == reason::no_samples);
        CHECK(ranked.dropped() == 1);
    }
}

TEST_CASE("label out of range: the samples beside it are counted as if it were not there") {
    std::vector<int> const p{0, 5, 1, 1, -1};
    std::vector<int> const t{0, 5, 1, -1, 0};
    using metric = f1<classes<2>, average::none>;
    auto const each = value_of<metric>(predictions(p), targets(t));
    CHECK(each[0].value() == near(2.0 / 3, 1e-12)); // tp 1, fn 1
    CHECK(each[1].value() == 1.0);
    CHECK(each[1].dropped() == 2);
}
