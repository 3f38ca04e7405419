// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The laws of metrics for classification metrics.
#include "support/feeds.hpp"
#include "support/metric_laws.hpp"

#include <tally/metric/accuracy.hpp>
#include <tally/metric/balanced_accuracy.hpp>
#include <tally/metric/cohen_kappa.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/exact_match.hpp>
#include <tally/metric/f_beta.hpp>
#include <tally/metric/jaccard.hpp>
#include <tally/metric/matthews_correlation.hpp>
#include <tally/metric/multilabel.hpp>
#include <tally/metric/precision_recall.hpp>
#include <tally/weighted.hpp>

using namespace tally::testing;

TEST_CASE("accuracy: laws") {
    check_metric_laws<tally::accuracy<>>("accuracy<>", feed::scores, exactly);
    check_metric_laws<tally::weighted<tally::accuracy<>>>("weighted accuracy<>", feed::weighted(feed::scores), exactly);
    check_metric_laws<tally::accuracy<>>("accuracy of labels", feed::labels, exactly);
    check_metric_laws<tally::accuracy<tally::top_k<2>>>("accuracy<top_k<2>>", feed::scores, exactly);
    check_metric_laws<tally::accuracy<tally::top_k<2, tally::ties::pessimistic>>>(
        "accuracy<top_k<2, ties::pessimistic>>", feed::scores, exactly);
    check_metric_laws<tally::accuracy<tally::top_k<2, tally::ties::average>>>("accuracy<top_k<2, ties::average>>",
                                                                              feed::scores, within(1e-12));
    check_metric_laws<tally::binary_accuracy<>>("binary_accuracy<>", feed::binary, exactly);
    check_metric_laws<tally::multilabel_accuracy<>>("multilabel_accuracy<>", feed::outputs, exactly);
    check_metric_laws<tally::hamming_loss<>>("hamming_loss<>", feed::labels, exactly);
    check_metric_laws<tally::exact_match<>>("exact_match<>", feed::outputs, exactly);
}

TEST_CASE("confusion matrix: laws") {
    check_metric_laws<tally::confusion_matrix<5>>("confusion_matrix<5>", feed::scores, exactly);
    check_metric_laws<tally::weighted<tally::confusion_matrix<5>>>("weighted confusion_matrix<5>",
                                                                   feed::weighted(feed::scores), within(1e-11));
    check_metric_laws<tally::confusion_matrix<>>("confusion_matrix<>", feed::labels, exactly, tally::num_classes{5});
}

TEST_CASE("precision and recall: laws") {
    using five = tally::classes<5>;
    check_metric_laws<tally::precision<five>>("precision<five>", feed::scores, exactly);
    check_metric_laws<tally::weighted<tally::precision<five>>>("weighted precision<five>", feed::weighted(feed::scores),
                                                               within(1e-11));
    check_metric_laws<tally::recall<five, tally::average::weighted>>("recall<five, average::weighted>", feed::labels,
                                                                     exactly);
    check_metric_laws<tally::specificity<tally::binary<>>>("specificity<binary<>>", feed::binary, exactly);
    check_metric_laws<tally::f1<tally::classes<>, tally::average::none>>("f1<classes<>, average::none>", feed::scores,
                                                                         exactly, tally::num_classes{5});
    check_metric_laws<tally::f1<tally::multilabel<3>>>("f1<multilabel<3>>", feed::outputs, exactly);
}

TEST_CASE("agreement: laws") {
    using five = tally::classes<5>;
    check_metric_laws<tally::jaccard<five>>("jaccard<five>", feed::labels, exactly);
    check_metric_laws<tally::balanced_accuracy<five>>("balanced_accuracy<five>", feed::labels, exactly);
    check_metric_laws<tally::cohen_kappa<five>>("cohen_kappa<five>", feed::scores, exactly);
    check_metric_laws<tally::matthews_correlation<five>>("matthews_correlation<five>", feed::scores, exactly);
}
