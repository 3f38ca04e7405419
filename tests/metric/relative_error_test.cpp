// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/relative_error.hpp>
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

using mape = tally::mean_absolute_percentage_error<double>;
using smape = tally::symmetric_mean_absolute_percentage_error<double>;
using wmape = tally::weighted_mean_absolute_percentage_error<double>;
using sum = tally::default_sum<double>;
using limit = tally::zero_target::limit;

template <class M>
auto of(std::vector<double> const& p, std::vector<double> const& t) {
    return value_of<M>(tally::predictions(p), tally::targets(t));
}

} // namespace

TEST_CASE("mean_absolute_percentage_error: targets of very different size (torchmetrics, mape)") {
    CHECK(of<mape>({0.9, 15.0, 1.2e6}, {1.0, 10.0, 1e6}).value() == near(0.8 / 3.0, 1e-14));
    CHECK(of<mape>({-1.0, -3.0}, {1.0, -2.0}).value() == 1.25);
}

TEST_CASE("mean_absolute_percentage_error: zero targets are left out and counted, or 0 or infinite by policy") {
    auto const skipped = of<mape>({1.5, 0.25, 0.0}, {1.0, 0.0, -0.0});
    CHECK(skipped.value() == 0.5);
    CHECK(skipped.dropped() == 2);
    CHECK(of<mape>({1.0}, {0.0}).why() == tally::reason::no_samples);

    using with_limit = tally::mean_absolute_percentage_error<double, sum, limit>;
    CHECK(of<with_limit>({1.5, 0.0}, {1.0, 0.0}).value() == 0.25);
    CHECK(of<with_limit>({1.5, 0.0}, {1.0, 0.0}).dropped() == 0);
    CHECK(of<with_limit>({1.5, 1e-300}, {1.0, 0.0}).value() == infinity);
    CHECK(of<with_limit>({1.5, nan_value}, {1.0, 0.0}).value() == 0.5);
    CHECK(of<with_limit>({1.5, nan_value}, {1.0, 0.0}).dropped() == 1);
    using propagating = tally::mean_absolute_percentage_error<double, sum, limit, tally::nan::propagate>;
    CHECK(std::isnan(of<propagating>({1.5, nan_value}, {1.0, 0.0}).value()));
}

TEST_CASE("symmetric_mean_absolute_percentage_error: an exact zero prediction (evaluate, smape)") {
    CHECK(of<smape>({2.5, 0.0, 2.0, 8.0}, {3.0, -0.5, 2.0, 7.0}).value() == near(0.5787878787878785, 1e-14));
}

TEST_CASE("symmetric_mean_absolute_percentage_error: 0/0 is left out and counted, or exact by policy") {
    CHECK(of<smape>({0.0, 1.0}, {0.0, 0.0}).value() == 2.0);
    CHECK(of<smape>({0.0, 1.0}, {0.0, 0.0}).dropped() == 1);
    using with_limit = tally::symmetric_mean_absolute_percentage_error<double, sum, limit>;
    CHECK(of<with_limit>({0.0, 1.0}, {0.0, 0.0}).value() == 1.0);
    CHECK(of<with_limit>({0.0, nan_value}, {0.0, 0.0}).value() == 0.0);
    CHECK(of<with_limit>({0.0, nan_value}, {0.0, 0.0}).dropped() == 1);
}

TEST_CASE("weighted_mean_absolute_percentage_error: quotient of sums") {
    CHECK(of<wmape>({1.0, 0.5, 4.0}, {2.0, 0.0, -2.0}).value() == 7.5 / 4.0);
    CHECK(of<wmape>({1.0}, {0.0}).why() == tally::reason::zero_denominator);
    CHECK(of<wmape>({}, {}).why() == tally::reason::no_samples);
    auto const skipped = of<wmape>({nan_value, 1.0, 3.0}, {1.0, nan_value, 2.0});
    CHECK(skipped.value() == 0.5);
    CHECK(skipped.dropped() == 2);
    using propagating = tally::weighted_mean_absolute_percentage_error<double, sum, tally::nan::propagate>;
    CHECK(std::isnan(of<propagating>({nan_value, 3.0}, {1.0, 2.0}).value()));
}

TEST_CASE("weighted_mean_absolute_percentage_error: replicas give the quotient of all sums") {
    // Mean of the replicas' quotients would be (1/10 + 1/1) / 2.
    auto const update = [](auto& tracker, int rank) {
        std::vector<double> const p{rank == 0 ? 11.0 : 2.0};
        std::vector<double> const t{rank == 0 ? 10.0 : 1.0};
        tracker.update(tally::predictions(p), tally::targets(t));
    };
    for (auto const& each : tally::testing::values_of_replicas<wmape>(2, update)) {
        CHECK(each.value() == 2.0 / 11.0);
    }
}

TEST_CASE("relative errors: weights, and float inputs") {
    std::vector<double> const p{2.0, 1.0};
    std::vector<double> const t{1.0, 2.0};
    auto const by = [&]<class M>(M const&, double first, double second) {
        return value_of<tally::weighted<M, double>>(tally::predictions(p), tally::targets(t),
                                                    tally::weights(std::vector<double>{first, second}))
            .value();
    };
    CHECK(by(mape{}, 3.0, 1.0) == 3.5 / 4.0);
    CHECK(by(smape{}, 3.0, 0.0) == near(2.0 / 3.0, 1e-15));
    CHECK(by(wmape{}, 3.0, 1.0) == 4.0 / 5.0);
    CHECK(by(wmape{}, 1.0, 1.0) == of<wmape>(p, t).value());
    CHECK(by(mape{}, 1.0, 1.0) == of<mape>(p, t).value());
    CHECK(value_of<tally::mean_absolute_percentage_error<>>(tally::predictions(std::vector<float>{0.5F}),
                                                            tally::targets(std::vector<float>{2.0F}))
              .value() == 0.75);
}
