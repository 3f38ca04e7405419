// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/metric/average_precision.hpp>

#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/ranking_reference.hpp"
#include "support/value_of.hpp"

#include <tally/collection.hpp>
#include <tally/comm/replicas.hpp>
#include <tally/core/inputs.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using namespace tally::literals;
using tally::testing::near;
using tally::testing::ranked;
using tally::testing::results_of;

constexpr float nan_score = std::numeric_limits<float>::quiet_NaN();
constexpr double rounding = 1e-12;

struct columns {
    std::vector<double> scores;
    std::vector<int> labels;
    std::vector<double> weights;

    explicit columns(std::vector<ranked> const& samples) {
        for (auto const& each : samples) {
            scores.push_back(each.score);
            labels.push_back(each.label);
            weights.push_back(each.weight);
        }
    }
};

template <class Bins>
tally::bracketed binned(std::vector<ranked> const& samples) {
    columns const data{samples};
    return results_of<tally::average_precision<Bins, double>>(tally::predictions(data.scores),
                                                              tally::targets(data.labels))
        .get();
}

template <class Bins>
tally::bracketed binned_weighted(std::vector<ranked> const& samples) {
    columns const data{samples};
    using metric = tally::weighted<tally::average_precision<Bins, double>, double>;
    return results_of<metric>(tally::predictions(data.scores), tally::targets(data.labels),
                              tally::weights(data.weights))
        .get();
}

TEST_CASE("average_precision: torcheval documentation, binary_auprc") {
    std::vector<float> const s{.1F, .5F, .7F, .8F};
    CHECK(results_of<tally::average_precision<>>(tally::predictions(s), tally::targets(std::vector<int>{1, 0, 1, 1}))
              .value() == near(0.9166666667, 1e-9));
}

TEST_CASE("precision_recall_curve: scikit-learn documentation, thresholds within a bin; one state for all") {
    std::vector<float> const s{.1F, .4F, .35F, .8F};
    std::vector<int> const t{0, 0, 1, 1};
    using both = tally::collection<tally::named<"curve", tally::precision_recall_curve<>>,
                                   tally::named<"ap", tally::average_precision<>>, tally::named<"auc", tally::auroc<>>>;
    static_assert(tally::detail::plan<both>::counters::size == 1);
    auto const points = results_of<both>(tally::predictions(s), tally::targets(t))["curve"_metric].points;
    double const precision[]{.5, 2.0 / 3, .5, 1, 1};
    double const recall[]{1, 1, .5, .5, 0};
    double const threshold[]{.1, .35, .4, .8};
    REQUIRE(points.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(points[i].precision == near(precision[i], 1e-12));
        CHECK(points[i].recall == recall[i]);
        if (i < 4) {
            CHECK(std::fabs(points[i].threshold - threshold[i]) <= 0.001);
        }
    }
    CHECK(points[4].threshold == std::numeric_limits<double>::infinity());
}

TEST_CASE("average_precision: the bracket holds the exact value, for few and many bins, with weights and without") {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        auto const samples = tally::testing::overlapping_scores(600, seed);
        auto unweighted = samples;
        for (auto& each : unweighted) {
            each.weight = 1;
        }
        auto const exact = tally::testing::exact_average_precision(unweighted);
        auto const exact_weighted = tally::testing::exact_average_precision(samples);
        auto const check = [](tally::bracketed const& ap, double reference) {
            CHECK(ap.lower() <= reference + rounding);
            CHECK(ap.upper() >= reference - rounding);
            CHECK(ap.lower() <= ap.value() + rounding);
            CHECK(ap.value() <= ap.upper() + rounding);
        };
        check(binned<tally::probability_bins<1>>(samples), exact);
        check(binned<tally::probability_bins<7>>(samples), exact);
        check(binned<tally::probability_bins<>>(samples), exact);
        check(binned_weighted<tally::probability_bins<1>>(samples), exact_weighted);
        check(binned_weighted<tally::probability_bins<7>>(samples), exact_weighted);
        check(binned_weighted<tally::probability_bins<>>(samples), exact_weighted);
        CHECK(binned<tally::probability_bins<4096>>(samples).value() == near(exact, 1e-12));
        CHECK(binned_weighted<tally::probability_bins<4096>>(samples).value() == near(exact_weighted, 1e-12));
    }
}

TEST_CASE("average_precision: both ends of the bracket are reached by some order within the bins") {
    // One bin of [0, 1] is split by the order: negatives first is the worst, positives tied ahead the best.
    for (int const positives : {1, 3, 64, 65, 200}) {
        std::vector<ranked> worst;
        std::vector<ranked> best;
        for (int i = 0; i < positives; ++i) {
            worst.push_back({0.5 - 0.001 * (i + 1), 1});
            best.push_back({0.9, 1});
        }
        for (int i = 0; i < 5; ++i) {
            worst.push_back({0.6, 0});
            best.push_back({0.1, 0});
        }
        auto const ap = binned<tally::probability_bins<1>>(worst);
        CHECK(ap.upper() == near(tally::testing::exact_average_precision(best), 1e-12));
        auto const least = tally::testing::exact_average_precision(worst);
        CHECK(ap.lower() <= least + rounding);
        CHECK(ap.lower() == near(least, positives <= 64 ? 1e-12 : 1e-3));
    }
}

TEST_CASE("average_precision: all positive is 1, all negative and no data have a reason") {
    std::vector<float> const s{1, .5F, .3F};
    auto const all =
        results_of<tally::average_precision<>>(tally::predictions(s), tally::targets(std::vector<int>{1, 1, 1}));
    CHECK(all.value() == 1.0);
    CHECK(all.get().lower() == 1.0);
    auto const none =
        results_of<tally::average_precision<>>(tally::predictions(s), tally::targets(std::vector<int>{0, 0, 0}));
    CHECK(none.get().why() == tally::reason::single_class);
    CHECK(tally::testing::tracker<tally::average_precision<>>{}.finalize().get().why() == tally::reason::no_samples);
    auto const curve =
        results_of<tally::precision_recall_curve<>>(tally::predictions(s), tally::targets(std::vector<int>{0, 0, 0}));
    CHECK(curve.get().points.empty());
    CHECK(curve.get().why == tally::reason::single_class);
}

TEST_CASE("average_precision: bad samples are dropped and counted; weights of 1 and masks") {
    std::vector<float> const s{nan_score, 2, .5F, .75F, .25F};
    std::vector<int> const t{1, 1, 7, 1, 0};
    auto const ap = results_of<tally::average_precision<>>(tally::predictions(s), tally::targets(t)).get();
    CHECK(ap.value() == 1.0);
    CHECK(ap.dropped() == 3);
    auto const masked = results_of<tally::average_precision<>>(tally::predictions(s), tally::targets(t),
                                                               tally::mask(std::vector<int>{0, 0, 0, 1, 0}));
    CHECK(masked.get().dropped() == 0);
    auto samples = tally::testing::overlapping_scores(100, 3);
    for (auto& each : samples) {
        each.weight = 1;
    }
    using bins = tally::probability_bins<50>;
    CHECK(binned_weighted<bins>(samples).value() == near(binned<bins>(samples).value(), 1e-14));
}

TEST_CASE("average_precision: counts beyond 2^32") {
    using metric = tally::average_precision<tally::probability_bins<2>>;
    auto const n = (std::uint64_t{1} << 33) + 1;
    tally::count cells[]{tally::count{n}, tally::count{n}, tally::count{}, tally::count{n}};
    metric::state s{};
    s.samples.bind({{2, 2}}, cells);
    // Half of the positives at precision 1, half at 2/3.
    CHECK(metric::finalize(s).value() == near((1 + 2.0 / 3) / 2, 1e-15));
    CHECK(metric::finalize(s).upper() == near(1.0, 1e-15));
    // The integral of x / (x + n) from n to 2n is n (1 - ln(3/2)).
    CHECK(metric::finalize(s).lower() == near((1 + 1 - std::log(1.5)) / 2, 1e-9));
}

TEST_CASE("average_precision: of unequal replicas is that of all samples") {
    columns const data{tally::testing::overlapping_scores(300, 8)};
    using metric = tally::average_precision<tally::probability_bins<>, double>;
    auto const whole = results_of<metric>(tally::predictions(data.scores), tally::targets(data.labels)).value();
    std::size_t const from[]{0, 290, 290, 300};
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        auto const rank = static_cast<std::size_t>(comm.rank());
        auto const n = from[rank + 1] - from[rank];
        tally::testing::tracker<metric> tracker;
        tracker.update(tally::predictions(data.scores.data() + from[rank], n),
                       tally::targets(data.labels.data() + from[rank], n));
        CHECK(tracker.combine(comm).value() == whole);
    });
}

} // namespace
