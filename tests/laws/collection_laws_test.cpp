// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Collections: one pass, one message, shared sub-states, and the same values as each metric by itself.
#include "support/counting_communicator.hpp"
#include "support/dataset.hpp"
#include "support/engine.hpp"

#include <doctest/doctest.h>

#include <tally/tally.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tally;
using namespace tally::literals;
using namespace tally::testing;

using five = classes<5>;
/// Thirty metrics that use all three lanes of a message.
using thirty =
    collection<named<"01", accuracy<>>, named<"02", accuracy<top_k<2>>>, named<"03", accuracy<top_k<3>>>,
               named<"04", log_loss<>>, named<"05", perplexity<>>, named<"06", calibration_error<>>,
               named<"07", calibration_error<15, norm::max>>, named<"08", multiclass_brier_score<>>,
               named<"09", confusion_matrix<5>>, named<"10", precision<five>>, named<"11", recall<five>>,
               named<"12", f1<five>>, named<"13", f1<five, average::weighted>>, named<"14", f1<five, average::micro>>,
               named<"15", f1<five, average::none>>, named<"16", specificity<five>>, named<"17", jaccard<five>>,
               named<"18", balanced_accuracy<five>>, named<"19", cohen_kappa<five>>,
               named<"20", matthews_correlation<five>>, named<"21", multiclass_auroc<5>>, named<"22", mean<>>,
               named<"23", variance<>>, named<"24", standard_deviation<>>, named<"25", smallest<>>,
               named<"26", largest<>>, named<"27", total<>>, named<"28", hamming_loss<>>,
               named<"29", value_log_sum_exp<>>, named<"30", reliability_diagram<>>>;

template <class M>
void feed_scores(testing::tracker<M>& tracker, dataset const& d) {
    tracker.update(scores(d.scores.data(), d.size(), dataset::classes), targets(d.labels), values(d.values));
}

template <class M, class Feed>
counting_communicator<self_communicator>::record traffic_of(Feed feed) {
    self_communicator self;
    counting_communicator counted{self};
    testing::tracker<M> tracker;
    feed(tracker);
    (void)tracker.combine(counted); // agrees on the layout
    counted.forget();
    (void)tracker.combine(counted);
    return counted.counted();
}

} // namespace

TEST_CASE("collection: thirty metrics are combined by as many calls as one") {
    auto const d = make_dataset(100, 5, true);
    auto const thirty_metrics = traffic_of<thirty>([&](auto& tracker) { feed_scores(tracker, d); });
    CHECK(thirty_metrics.all_reduce_sum.calls == 1);
    CHECK(thirty_metrics.all_reduce_max.calls == 1);
    CHECK(thirty_metrics.all_gather.calls == 1);
    CHECK(thirty_metrics.total().calls == 3);
    CHECK(thirty_metrics.groups == 1);

    using lanes_of_one = collection<named<"a", largest<>>, named<"b", value_log_sum_exp<>>>; // all three lanes as well
    auto const two_metrics = traffic_of<lanes_of_one>([&](auto& tracker) { tracker.update(values(d.values)); });
    CHECK(two_metrics.total().calls == 3);
    CHECK(two_metrics.groups == 1);

    auto const counts_only = traffic_of<confusion_matrix<5>>(
        [&](auto& tracker) { tracker.update(predictions(d.predicted), targets(d.labels)); });
    CHECK(counts_only.total().calls == 1); // one integer sum; no lane without a word
}

TEST_CASE("collection: the number of calls doesn't depend on the data") {
    auto const empty = traffic_of<thirty>([](auto&) {});
    auto const some = traffic_of<thirty>([](auto& tracker) { feed_scores(tracker, make_dataset(3, 1, false)); });
    auto const many = traffic_of<thirty>([](auto& tracker) { feed_scores(tracker, make_dataset(900, 2, true)); });
    CHECK(empty == some);
    CHECK(some == many);
}

TEST_CASE("collection: metrics share counters by type, and only by type") {
    using counters = detail::plan<collection<named<"precision", precision<five>>, named<"recall", recall<five>>,
                                             named<"f1", f1<five, average::none>>>>::counters;
    CHECK(counters::size == 1);
    // Equal values are no reason: the minimum and the maximum of one sample are equal.
    using extremes = detail::plan<collection<named<"min", smallest<>>, named<"max", largest<>>>>::counters;
    CHECK(extremes::size == 2);
    // Another policy that changes what is counted is another type.
    using ignoring =
        detail::plan<collection<named<"a", f1<classes<5>>>, named<"b", f1<classes<5, labels::ignore<0>>>>>>::counters;
    CHECK(ignoring::size == 2);
}

TEST_CASE("collection: each value equals that of the metric by itself") {
    auto const d = make_dataset(300, 7, true);
    testing::tracker<thirty> together;
    feed_scores(together, d);
    auto const all = together.finalize();

    testing::tracker<f1<five>> f1_alone;
    f1_alone.update(scores(d.scores.data(), d.size(), dataset::classes), targets(d.labels));
    CHECK(all["12"_metric].value() == f1_alone.finalize().value());
    testing::tracker<largest<>> largest_alone;
    largest_alone.update(values(d.values));
    CHECK(all["26"_metric].value() == largest_alone.finalize().value());
    CHECK(all["26"_metric].dropped() == largest_alone.finalize().get().dropped());
    testing::tracker<log_loss<>> loss_alone;
    loss_alone.update(scores(d.scores.data(), d.size(), dataset::classes), targets(d.labels));
    CHECK(all["04"_metric].value() == loss_alone.finalize().value());

    std::vector<std::string> names;
    all.for_each([&](std::string_view name, auto const&) { names.emplace_back(name); });
    CHECK(names.size() == 30);
    CHECK(names.front() == "01");
    CHECK(names.back() == "30");
}

TEST_CASE("collection: replicas with different collections all throw, naming what differs") {
    using one_side = collection<named<"loss", mean<>>, named<"top-1", accuracy<>>>;
    using other_side = collection<named<"loss", mean<>>, named<"top-5", accuracy<top_k<5>>>>;
    auto const texts = replicas{3}.run([](thread_communicator& comm) -> std::string {
        try {
            if (comm.rank() == 2) {
                (void)testing::tracker<other_side>{}.combine(comm);
            } else {
                (void)testing::tracker<one_side>{}.combine(comm);
            }
        } catch (layout_mismatch const& difference) {
            return difference.what();
        }
        return "no exception";
    });
    CHECK(texts[0].find("\"top-1\"") != std::string::npos);
    CHECK(texts[0].find("\"top-5\"") != std::string::npos);
    CHECK(texts[0].find("replica 2") != std::string::npos);
    CHECK(texts[1] == texts[0]);
    CHECK(texts[2] == texts[0]);
}

TEST_CASE("collection: run-time extents that differ between replicas are a mismatch") {
    auto const thrown = replicas{2}.run([](thread_communicator& comm) {
        testing::tracker<confusion_matrix<>> tracker{num_classes{static_cast<std::size_t>(3 + comm.rank())}};
        try {
            (void)tracker.combine(comm);
        } catch (layout_mismatch const&) {
            return true;
        }
        return false;
    });
    CHECK(thrown[0]);
    CHECK(thrown[1]);
}
