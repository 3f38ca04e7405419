// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The laws of metrics for losses, calibration and curves.
#include "support/feeds.hpp"
#include "support/metric_laws.hpp"

#include <tally/metric/auroc.hpp>
#include <tally/metric/average_precision.hpp>
#include <tally/metric/binary_log_loss.hpp>
#include <tally/metric/brier_score.hpp>
#include <tally/metric/calibration_error.hpp>
#include <tally/metric/log_loss.hpp>
#include <tally/metric/one_vs_rest.hpp>
#include <tally/weighted.hpp>

using namespace tally::testing;

TEST_CASE("log loss: laws") {
    check_metric_laws<tally::log_loss<>>("log_loss<>", feed::scores, exactly);
    check_metric_laws<tally::weighted<tally::log_loss<>>>("weighted log_loss<>", feed::weighted(feed::scores), exactly);
    check_metric_laws<tally::perplexity<>>("perplexity<>", feed::probabilities, exactly);
    check_metric_laws<tally::binary_log_loss<>>("binary_log_loss<>", feed::binary, exactly);
    check_metric_laws<tally::normalised_entropy<>>("normalised_entropy<>", feed::binary, exactly);
}

TEST_CASE("Brier score: laws") {
    check_metric_laws<tally::brier_score<>>("brier_score<>", feed::binary, exactly);
    check_metric_laws<tally::multiclass_brier_score<>>("multiclass_brier_score<>", feed::scores, exactly);
    check_metric_laws<tally::weighted<tally::multiclass_brier_score<>>>("weighted multiclass_brier_score<>",
                                                                        feed::weighted(feed::scores), exactly);
}

TEST_CASE("calibration: laws") {
    check_metric_laws<tally::calibration_error<>>("calibration_error<>", feed::scores, exactly);
    check_metric_laws<tally::weighted<tally::calibration_error<>>>("weighted calibration_error<>",
                                                                   feed::weighted(feed::scores), within(1e-11));
    check_metric_laws<tally::reliability_diagram<>>("reliability_diagram<>", feed::probabilities, exactly);
    check_metric_laws<tally::binary_calibration_error<>>("binary_calibration_error<>", feed::binary, exactly);
}

TEST_CASE("auroc: laws") {
    check_metric_laws<tally::auroc<>>("auroc<>", feed::binary, exactly);
    check_metric_laws<tally::weighted<tally::auroc<>>>("weighted auroc<>", feed::weighted(feed::binary), within(1e-11));
    check_metric_laws<tally::roc_curve<tally::probability_bins<20>>>("roc_curve<probability_bins<20>>", feed::binary,
                                                                     exactly);
    check_metric_laws<tally::average_precision<>>("average_precision<>", feed::binary, exactly);
    check_metric_laws<tally::precision_recall_curve<tally::probability_bins<20>>>(
        "precision_recall_curve<probability_bins<20>>", feed::binary, exactly);
}

TEST_CASE("one-vs-rest: laws") {
    check_metric_laws<tally::multiclass_auroc<5>>("multiclass_auroc<5>", feed::scores, exactly);
    check_metric_laws<tally::multiclass_auroc<tally::dynamic>>("multiclass_auroc<dynamic>", feed::probabilities,
                                                               exactly, tally::num_classes{5});
    check_metric_laws<tally::multilabel_auroc<3>>("multilabel_auroc<3>", feed::outputs, exactly);
}
