// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The laws of metrics for metrics of values. (throughput is no such metric: its seconds are added up inside a replica and
// not between replicas, so splitting samples differently is meant to change it.)
#include "support/feeds.hpp"
#include "support/metric_laws.hpp"

#include <tally/layout/bins.hpp>
#include <tally/layout/grouped.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/histogram.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/total.hpp>
#include <tally/metric/value_log_sum_exp.hpp>
#include <tally/metric/variance.hpp>
#include <tally/weighted.hpp>

using namespace tally::testing;

TEST_CASE("mean: laws") {
    check_metric_laws<tally::mean<>>("mean<>", feed::values, exactly);
    check_metric_laws<tally::weighted<tally::mean<>>>("weighted mean<>", feed::weighted(feed::values), exactly);
}

TEST_CASE("grouped: laws") {
    check_metric_laws<tally::grouped<tally::mean<>, 4>>("grouped<mean<>, 4>", feed::grouped, exactly);
    check_metric_laws<tally::grouped<tally::mean<>>>("grouped, run-time groups", feed::grouped, exactly,
                                                     tally::num_groups{4});
}

TEST_CASE("total: laws") {
    check_metric_laws<tally::total<>>("total<>", feed::values, exactly);
    check_metric_laws<tally::weighted<tally::total<>>>("weighted total<>", feed::weighted(feed::values), exactly);
}

TEST_CASE("extremes: laws") {
    check_metric_laws<tally::smallest<>>("smallest<>", feed::values, exactly);
    check_metric_laws<tally::weighted<tally::smallest<>>>("weighted smallest<>", feed::weighted(feed::values),
                                                          within(1e-11));
    check_metric_laws<tally::largest<>>("largest<>", feed::values, exactly);
    check_metric_laws<tally::smallest_at<>>("smallest_at<>", feed::located, exactly);
    check_metric_laws<tally::largest_at<>>("largest_at<>", feed::located, exactly);
}

TEST_CASE("variance: laws") {
    check_metric_laws<tally::variance<>>("variance<>", feed::values, exactly);
    check_metric_laws<tally::weighted<tally::variance<>>>("weighted variance<>", feed::weighted(feed::values),
                                                          within(1e-11));
    check_metric_laws<tally::standard_deviation<>>("standard_deviation<>", feed::values, exactly);
}

TEST_CASE("value_log_sum_exp: laws") {
    check_metric_laws<tally::value_log_sum_exp<>>("value_log_sum_exp<>", feed::values, within(1e-13));
}

TEST_CASE("histogram: laws") {
    using bins = tally::linear_bins<7, std::ratio<8>, std::ratio<12>>;
    check_metric_laws<tally::histogram<bins>>("histogram<bins>", feed::values, exactly);
    check_metric_laws<tally::weighted<tally::histogram<bins>>>("weighted histogram<bins>", feed::weighted(feed::values),
                                                               within(1e-11));
}
