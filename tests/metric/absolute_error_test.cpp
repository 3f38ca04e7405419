// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/value_of.hpp"

#include <tally/metric/absolute_error.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using tally::testing::value_of;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("mean_absolute_error: scikit-learn documentation, mean_absolute_error") {
    std::vector<double> const t{3.0, -0.5, 2.0, 7.0};
    std::vector<double> const p{2.5, 0.0, 2.0, 8.0};
    CHECK(value_of<tally::mean_absolute_error<double>>(tally::predictions(p), tally::targets(t)).value() == 0.5);
    std::vector<float> const narrow_t{3.0F, -0.5F, 2.0F, 7.0F};
    CHECK(value_of<tally::mean_absolute_error<>>(tally::predictions(std::vector<float>{2.5F, 0.0F, 2.0F, 8.0F}),
                                                 tally::targets(narrow_t))
              .value() == 0.5);
    // Two outputs: 0.5 and 1, averaged.
    std::vector<double> const outputs_t{0.5, 1.0, -1.0, 1.0, 7.0, -6.0};
    std::vector<double> const outputs_p{0.0, 2.0, -1.0, 2.0, 8.0, -5.0};
    CHECK(value_of<tally::mean_absolute_error<double>>(tally::predictions(outputs_p.data(), 3, 2),
                                                       tally::targets(outputs_t.data(), 3, 2))
              .value() == 0.75);
}

TEST_CASE("mean_error: positive if predictions are too high") {
    std::vector<double> const p{3.0, 1.0};
    std::vector<double> const t{1.0, 2.0};
    CHECK(value_of<tally::mean_error<double>>(tally::predictions(p), tally::targets(t)).value() == 0.5);
    CHECK(value_of<tally::mean_error<double>>(tally::predictions(t), tally::targets(p)).value() == -0.5);
    CHECK(value_of<tally::weighted<tally::mean_error<double>, double>>(tally::predictions(p), tally::targets(t),
                                                                       tally::weights(std::vector<double>{1.0, 3.0}))
              .value() == -0.25);
}

TEST_CASE("max_error: largest absolute error, negative errors included") {
    std::vector<double> const t{3.0, 2.0, 7.0, 1.0};
    std::vector<double> const p{4.0, 2.0, 7.0, 1.0};
    using metric = tally::max_error<double>;
    CHECK(value_of<metric>(tally::predictions(p), tally::targets(t)).value() == 1.0); // scikit-learn, max_error
    CHECK(value_of<metric>(tally::predictions(t), tally::targets(p)).value() == 1.0);
    std::vector<double> const none;
    CHECK(value_of<metric>(tally::predictions(none), tally::targets(none)).why() == tally::reason::no_samples);
    CHECK(value_of<metric>(tally::predictions(t), tally::targets(t)).value() == 0.0);
}

TEST_CASE("max_error: NaN and cancelled infinities are counted and never win, weight zero takes no part") {
    std::vector<double> const p{nan_value, infinity, 1.0, 9.0};
    std::vector<double> const t{0.0, infinity, 0.5, 0.0};
    using metric = tally::max_error<double>;
    auto const plain = value_of<metric>(tally::predictions(p), tally::targets(t));
    CHECK(plain.value() == 9.0);
    CHECK(plain.dropped() == 2);
    CHECK(value_of<tally::weighted<metric, double>>(tally::predictions(p), tally::targets(t),
                                                    tally::weights(std::vector<double>{1, 1, 1, 0}))
              .value() == 0.5);
    CHECK(value_of<metric>(tally::predictions(std::vector<double>{infinity}), tally::targets(std::vector<double>{0.0}))
              .value() == infinity);
}
