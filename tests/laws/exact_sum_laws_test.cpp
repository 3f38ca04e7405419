// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The laws of metrics for metrics of exact sums, which hold bit by bit.
#include "support/feeds.hpp"
#include "support/metric_laws.hpp"

#include <tally/accumulator/exact_sum.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/squared_error.hpp>
#include <tally/metric/total.hpp>

using namespace tally::testing;

TEST_CASE("exact_sum: laws of metrics, with the same bits") {
    using floats = tally::exact_sum<float>;
    using total_of_floats = tally::total<float, floats>;
    check_metric_laws<tally::mean<float, floats>>("mean", feed::values, exactly);
    check_metric_laws<total_of_floats>("total", feed::values, exactly);
    check_metric_laws<tally::mean_squared_error<float, floats>>("mean squared error", feed::regression, exactly);
}
