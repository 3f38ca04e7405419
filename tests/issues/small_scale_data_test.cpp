// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: absolute thresholds and narrow intermediate results. A correlation of small numbers came out as NaN,
// because its variances were below a fixed limit, or below the range of float.
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/correlation.hpp>
#include <tally/metric/r2_score.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using tally::testing::near;
using tally::testing::value_of;

TEST_CASE("pearson_correlation: float data of any scale") {
    for (float const scale : {1.0F, 1e-5F, 1e-20F, 1e20F}) {
        std::vector<float> const p{1 * scale, 2 * scale, 4 * scale, 3 * scale};
        std::vector<float> const t{1 * scale, 3 * scale, 4 * scale, 2 * scale};
        CAPTURE(scale);
        CHECK(value_of<tally::pearson_correlation<>>(tally::predictions(p), tally::targets(t)).value() ==
              near(0.8, 1e-6));
        CHECK(value_of<tally::r2_score<>>(tally::predictions(p), tally::targets(t)).value() == near(0.6, 1e-6));
    }
}

TEST_CASE("pearson_correlation: the scale of a mean far above the spread is no reason either") {
    // A mean of 1e6 with a spread of about 1: sums of squares in float lose everything.
    std::vector<float> p;
    std::vector<float> t;
    std::vector<float> shifted_p;
    std::vector<float> shifted_t;
    for (int i = 0; i < 1000; ++i) {
        auto const x = static_cast<float>((i * 37) % 16) / 4.0F;
        auto const y = x + static_cast<float>((i * 11) % 4) / 4.0F;
        p.push_back(x);
        t.push_back(y);
        shifted_p.push_back(1e6F + x); // exact: float holds multiples of 1/16 there
        shifted_t.push_back(1e6F + y);
    }
    auto const near_zero = value_of<tally::pearson_correlation<>>(tally::predictions(p), tally::targets(t)).value();
    auto const far = value_of<tally::pearson_correlation<>>(tally::predictions(shifted_p), tally::targets(shifted_t));
    CHECK(near_zero > 0.9);
    CHECK(far.value() == near(near_zero, 1e-9));
}
