// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/logarithmic_error.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using tally::testing::near;
using tally::testing::value_of;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class M>
auto of(std::vector<double> const& p, std::vector<double> const& t) {
    return value_of<M>(tally::predictions(p), tally::targets(t));
}

using msle = tally::mean_squared_log_error<double>;
using poisson = tally::poisson_loss<double>;
using log_cosh = tally::log_cosh_error<double>;

// Keras documentation, LogCoshError and Poisson: two outputs of two samples.
std::vector<double> const two_by_two_targets{0.0, 1.0, 0.0, 0.0};
std::vector<double> const two_by_two_predictions{1.0, 1.0, 0.0, 0.0};

template <class M>
double first_row_only() {
    return value_of<tally::weighted<M, double>>(tally::predictions(two_by_two_predictions.data(), 2, 2),
                                                tally::targets(two_by_two_targets.data(), 2, 2),
                                                tally::weights(std::vector<double>{1.0, 0.0}))
        .value();
}

} // namespace

TEST_CASE("mean_squared_log_error: scikit-learn documentation, mean_squared_log_error") {
    CHECK(of<msle>({2.5, 5.0, 4.0, 8.0}, {3.0, 5.0, 2.5, 7.0}).value() == near(0.039730122, 1e-7));
    CHECK(of<msle>({1e-9}, {0.0}).value() == near(1e-18, 1e-8)); // log1p keeps small numbers
}

TEST_CASE("mean_squared_log_error: numbers of -1 and below are left out and counted") {
    auto const result = of<msle>({-1.0, -2.0, 0.0, -0.5, nan_value}, {0.0, 0.0, -1.0, -0.5, 1.0});
    CHECK(result.value() == 0.0);
    CHECK(result.dropped() == 4);
    using propagating = tally::mean_squared_log_error<double, tally::default_sum<double>, tally::nan::propagate>;
    CHECK(std::isnan(of<propagating>({0.0, nan_value}, {0.0, 1.0}).value()));
}

TEST_CASE("poisson_loss: Keras documentation, Poisson, without its epsilon") {
    CHECK(value_of<poisson>(tally::predictions(two_by_two_predictions.data(), 2, 2),
                            tally::targets(two_by_two_targets.data(), 2, 2))
              .value() == 0.5);
    CHECK(first_row_only<poisson>() == 1.0);
}

TEST_CASE("poisson_loss: zeros, negative numbers, NaN") {
    CHECK(of<poisson>({0.0}, {0.0}).value() == 0.0);
    CHECK(of<poisson>({0.0}, {1.0}).value() == infinity);
    CHECK(of<poisson>({3.0}, {2.0}).value() == near(3.0 - 2.0 * std::log(3.0), 1e-15));
    auto const result = of<poisson>({-1.0, 1.0, nan_value, 2.0}, {1.0, -1.0, 0.0, 0.0});
    CHECK(result.value() == 2.0);
    CHECK(result.dropped() == 3);
    using propagating = tally::poisson_loss<double, tally::default_sum<double>, tally::nan::propagate>;
    CHECK(std::isnan(of<propagating>({nan_value}, {0.0}).value()));
    CHECK(std::isnan(of<propagating>({1.0}, {nan_value}).value()));
}

TEST_CASE("log_cosh_error: Keras documentation, LogCoshError") {
    CHECK(value_of<log_cosh>(tally::predictions(two_by_two_predictions.data(), 2, 2),
                             tally::targets(two_by_two_targets.data(), 2, 2))
              .value() == near(0.1084452076, 1e-9));
    CHECK(first_row_only<log_cosh>() == near(0.2168904152, 1e-9));
}

TEST_CASE("log_cosh_error: agrees with long double over the whole range, without overflow or cancellation") {
    for (double const x : {1e-150, 1e-9, 1e-3, 0.1, 0.5, 0.999, 1.0, 1.001, 2.0, 17.0, 300.0, 11000.0}) {
        auto const wide = static_cast<long double>(x);
        // log(cosh(x)) = log1p(cosh(x) - 1), with cosh(x) - 1 by its series where that cancels.
        auto const excess = x < 1e-2 ? wide * wide / 2 + wide * wide * wide * wide / 24 : std::cosh(wide) - 1;
        auto const expected = static_cast<double>(std::log1p(excess));
        CAPTURE(x);
        CHECK(of<log_cosh>({x}, {0.0}).value() == near(expected, 1e-14));
        CHECK(of<log_cosh>({0.0}, {x}).value() == of<log_cosh>({x}, {0.0}).value());
    }
    CHECK(of<log_cosh>({1e300}, {0.0}).value() == near(1e300, 1e-15));
    CHECK(of<log_cosh>({0.0}, {0.0}).value() == 0.0);
    auto const narrow = value_of<tally::log_cosh_error<>>(tally::predictions(std::vector<float>{1e-4F}),
                                                          tally::targets(std::vector<float>{0.0F}));
    CHECK(narrow.value() == near(5e-9, 1e-6));
}
