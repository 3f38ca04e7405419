// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The laws of metrics for regression metrics.
#include "support/feeds.hpp"
#include "support/metric_laws.hpp"

#include <tally/layout/per_column.hpp>
#include <tally/metric/absolute_error.hpp>
#include <tally/metric/correlation.hpp>
#include <tally/metric/logarithmic_error.hpp>
#include <tally/metric/mean_loss.hpp>
#include <tally/metric/r2_score.hpp>
#include <tally/metric/relative_error.hpp>
#include <tally/metric/squared_error.hpp>
#include <tally/metric/variance_weighted_r2.hpp>
#include <tally/weighted.hpp>

using namespace tally::testing;

TEST_CASE("squared error: laws") {
    check_metric_laws<tally::mean_squared_error<>>("mean_squared_error<>", feed::regression, exactly);
    check_metric_laws<tally::weighted<tally::mean_squared_error<>>>("weighted mean_squared_error<>",
                                                                    feed::weighted(feed::regression), exactly);
    check_metric_laws<tally::root_mean_squared_error<>>("root_mean_squared_error<>", feed::regression, exactly);
}

TEST_CASE("absolute error: laws") {
    check_metric_laws<tally::mean_absolute_error<>>("mean_absolute_error<>", feed::regression, exactly);
    check_metric_laws<tally::weighted<tally::mean_absolute_error<>>>("weighted mean_absolute_error<>",
                                                                     feed::weighted(feed::regression), exactly);
    check_metric_laws<tally::mean_error<>>("mean_error<>", feed::regression, exactly);
    check_metric_laws<tally::max_error<>>("max_error<>", feed::regression, exactly);
}

TEST_CASE("relative error: laws") {
    check_metric_laws<tally::mean_absolute_percentage_error<>>("mean_absolute_percentage_error<>", feed::regression,
                                                               exactly);
    check_metric_laws<tally::symmetric_mean_absolute_percentage_error<>>("symmetric_mean_absolute_percentage_error<>",
                                                                         feed::regression, exactly);
    check_metric_laws<tally::weighted_mean_absolute_percentage_error<>>("weighted_mean_absolute_percentage_error<>",
                                                                        feed::regression, exactly);
}

TEST_CASE("logarithmic error: laws") {
    check_metric_laws<tally::mean_squared_log_error<>>("mean_squared_log_error<>", feed::positive, exactly);
    check_metric_laws<tally::poisson_loss<>>("poisson_loss<>", feed::positive, exactly);
    check_metric_laws<tally::log_cosh_error<>>("log_cosh_error<>", feed::regression, exactly);
}

TEST_CASE("r2: laws") {
    check_metric_laws<tally::r2_score<>>("r2_score<>", feed::regression, exactly);
    check_metric_laws<tally::weighted<tally::r2_score<>>>("weighted r2_score<>", feed::weighted(feed::regression),
                                                          within(1e-11));
    check_metric_laws<tally::explained_variance<>>("explained_variance<>", feed::regression, exactly);
}

TEST_CASE("correlation: laws") {
    check_metric_laws<tally::pearson_correlation<>>("pearson_correlation<>", feed::regression, exactly);
    check_metric_laws<tally::weighted<tally::pearson_correlation<>>>("weighted pearson_correlation<>",
                                                                     feed::weighted(feed::regression), within(1e-11));
    check_metric_laws<tally::covariance<>>("covariance<>", feed::regression, exactly);
    check_metric_laws<tally::concordance<>>("concordance<>", feed::regression, exactly);
}

TEST_CASE("per column: laws") {
    check_metric_laws<tally::per_column<tally::mean_squared_error<>, 3>>("per_column<mean_squared_error<>, 3>",
                                                                         feed::outputs, exactly);
    check_metric_laws<tally::per_column<tally::r2_score<>>>("per_column<r2_score<>>", feed::outputs, exactly,
                                                            tally::num_columns{3});
    check_metric_laws<tally::variance_weighted_r2<float, 3>>("variance_weighted_r2<float, 3>", feed::outputs, exactly);
}
