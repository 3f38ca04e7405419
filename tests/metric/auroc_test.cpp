// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/metric/auroc.hpp>

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

template <class Bins>
tally::bracketed binned(std::vector<ranked> const& samples) {
    std::vector<double> s;
    std::vector<int> t;
    for (auto const& each : samples) {
        s.push_back(each.score);
        t.push_back(each.label);
    }
    return results_of<tally::auroc<Bins, double>>(tally::predictions(s), tally::targets(t)).get();
}

template <class Bins>
tally::bracketed binned_weighted(std::vector<ranked> const& samples) {
    std::vector<double> s;
    std::vector<int> t;
    std::vector<double> w;
    for (auto const& each : samples) {
        s.push_back(each.score);
        t.push_back(each.label);
        w.push_back(each.weight);
    }
    using metric = tally::weighted<tally::auroc<Bins, double>, double>;
    return results_of<metric>(tally::predictions(s), tally::targets(t), tally::weights(w)).get();
}

TEST_CASE("auroc: scikit-learn documentation, roc_auc_score") {
    std::vector<float> const s{.1F, .4F, .35F, .8F};
    auto const area =
        results_of<tally::auroc<>>(tally::predictions(s), tally::targets(std::vector<int>{0, 0, 1, 1})).get();
    CHECK(area.value() == 0.75);
    CHECK(area.lower() == 0.75);
    CHECK(area.upper() == 0.75);
}

TEST_CASE("auroc: torcheval documentation, and scikit-learn tests, test_roc_curve_toydata") {
    std::vector<float> const s{.1F, .5F, .7F, .8F};
    CHECK(results_of<tally::auroc<>>(tally::predictions(s), tally::targets(std::vector<int>{1, 0, 1, 1})).value() ==
          near(2.0 / 3, 1e-12));
    std::vector<float> const reversed{.25F, .75F};
    CHECK(results_of<tally::auroc<>>(tally::predictions(reversed), tally::targets(std::vector<int>{1, 0})).value() ==
          0.0);
}

TEST_CASE("auroc: the bracket holds the exact area, for few and many bins, and halves bound the error") {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        auto const samples = tally::testing::overlapping_scores(600, seed);
        auto unweighted = samples;
        for (auto& each : unweighted) {
            each.weight = 1;
        }
        auto const exact = tally::testing::exact_auroc(unweighted);
        auto const exact_weighted = tally::testing::exact_auroc(samples);
        auto const check = [&](tally::bracketed const& area, double reference) {
            CHECK(area.lower() <= reference + rounding);
            CHECK(area.upper() >= reference - rounding);
            CHECK(std::fabs(area.value() - reference) <= (area.upper() - area.lower()) / 2 + rounding);
            CHECK(area.lower() <= area.value());
            CHECK(area.value() <= area.upper());
        };
        check(binned<tally::probability_bins<1>>(samples), exact);
        check(binned<tally::probability_bins<7>>(samples), exact);
        check(binned<tally::probability_bins<>>(samples), exact);
        check(binned<tally::logit_bins<2, -3, 0>>(samples), exact);
        check(binned_weighted<tally::probability_bins<7>>(samples), exact_weighted);
        check(binned_weighted<tally::probability_bins<>>(samples), exact_weighted);
        // Every score of the sample has a bin of its own: nothing is left open but what is tied.
        CHECK(binned<tally::probability_bins<4096>>(samples).value() == near(exact, 1e-12));
        CHECK(binned_weighted<tally::probability_bins<4096>>(samples).value() == near(exact_weighted, 1e-12));
    }
}

TEST_CASE("auroc: the default bins leave a bracket of about a thousandth for scores spread over [0, 1]") {
    auto const area = binned<tally::probability_bins<>>(tally::testing::overlapping_scores(20000, 9));
    CHECK(area.upper() - area.lower() < 0.0015);
}

TEST_CASE("auroc: logits that a sigmoid would merge are told apart") {
    std::vector<float> const s{98, 99};
    using metric = tally::auroc<tally::logit_bins<>>;
    auto const area = results_of<metric>(tally::predictions(s), tally::targets(std::vector<int>{0, 1})).get();
    CHECK(area.value() == 1.0);
    CHECK(area.lower() == 1.0);
    auto const infinity = std::numeric_limits<float>::infinity();
    std::vector<float> const ends{-infinity, infinity};
    CHECK(results_of<metric>(tally::predictions(ends), tally::targets(std::vector<int>{0, 1})).value() == 1.0);
}

TEST_CASE("auroc: NaN, probabilities outside [0, 1] and labels other than 0 and 1 are dropped and counted") {
    std::vector<float> const s{nan_score, 1.5F, -.5F, .5F, .5F, .25F, .75F};
    std::vector<float> const t{1, 1, 0, 2, .5F, 0, 1};
    auto const area = results_of<tally::auroc<>>(tally::predictions(s), tally::targets(t)).get();
    CHECK(area.value() == 1.0);
    CHECK(area.dropped() == 5);
    auto const logits = results_of<tally::auroc<tally::logit_bins<>>>(tally::predictions(s), tally::targets(t)).get();
    CHECK(logits.dropped() == 3);
}

TEST_CASE("auroc: no data and one class give a reason and a bracket of NaN") {
    tally::testing::tracker<tally::auroc<>> tracker;
    CHECK(tracker.finalize().get().why() == tally::reason::no_samples);
    tracker.update(tally::predictions(std::vector<float>{nan_score, .5F}), tally::targets(std::vector<int>{0, 1}));
    auto const area = tracker.finalize().get();
    CHECK(area.why() == tally::reason::single_class);
    CHECK(area.dropped() == 1);
    CHECK(std::isnan(area.lower()));
    CHECK(std::isnan(area.upper()));
    CHECK(std::isnan(static_cast<double>(area)));
}

TEST_CASE("auroc: weights that are all 1 change nothing, masked samples count nowhere") {
    auto samples = tally::testing::overlapping_scores(100, 3);
    for (auto& each : samples) {
        each.weight = 1;
    }
    using bins = tally::probability_bins<50>;
    CHECK(binned_weighted<bins>(samples).value() == binned<bins>(samples).value());

    std::vector<float> const s{.1F, .4F, .35F, .8F, 0};
    auto const area = results_of<tally::auroc<>>(tally::predictions(s), tally::targets(std::vector<int>{0, 0, 1, 1, 1}),
                                                 tally::mask(std::vector<int>{1, 1, 1, 1, 0}));
    CHECK(area.value() == 0.75);
}

TEST_CASE("auroc: half and bfloat16 scores") {
    std::vector<tally::half_bits> const half{{0x3400}, {0x3800}};      // 1/4, 1/2
    std::vector<tally::bfloat16_bits> const brain{{0x3e80}, {0x3f00}}; // 1/4, 1/2
    std::vector<int> const t{0, 1};
    CHECK(results_of<tally::auroc<>>(tally::predictions(half), tally::targets(t)).value() == 1.0);
    CHECK(results_of<tally::auroc<>>(tally::predictions(brain), tally::targets(t)).value() == 1.0);
}

TEST_CASE("roc_curve: starts at (0, 0), ends at (1, 1), its trapezoids add up to auroc, one state for both") {
    auto const samples = tally::testing::overlapping_scores(500, 4);
    std::vector<double> s;
    std::vector<int> t;
    for (auto const& each : samples) {
        s.push_back(each.score);
        t.push_back(each.label);
    }
    using bins = tally::probability_bins<40>;
    using both = tally::collection<tally::named<"area", tally::auroc<bins, double>>,
                                   tally::named<"curve", tally::roc_curve<bins, double>>>;
    static_assert(tally::detail::plan<both>::counters::size == 1);
    auto const r = results_of<both>(tally::predictions(s), tally::targets(t));
    auto const roc = r["curve"_metric];
    REQUIRE(roc.points.size() > 2);
    CHECK(roc.points.front().true_positive_rate == 0.0);
    CHECK(roc.points.back().true_positive_rate == 1.0);
    CHECK(roc.points.back().false_positive_rate == 1.0);
    double area = 0;
    for (std::size_t i = 1; i < roc.points.size(); ++i) {
        auto const& from = roc.points[i - 1];
        auto const& to = roc.points[i];
        CHECK(to.threshold < from.threshold);
        area +=
            (to.false_positive_rate - from.false_positive_rate) * (to.true_positive_rate + from.true_positive_rate) / 2;
    }
    CHECK(area == near(r["area"_metric].value(), 1e-12));
}

TEST_CASE("roc_curve: one class has no curve but a reason") {
    auto const r = results_of<tally::roc_curve<>>(tally::predictions(std::vector<float>{.5F}),
                                                  tally::targets(std::vector<int>{1}));
    CHECK(r.get().points.empty());
    CHECK(r.get().why == tally::reason::single_class);
}

TEST_CASE("auroc: counts beyond 2^32 with more than 2^53 pairs, and never above 1") {
    using metric = tally::auroc<tally::probability_bins<2>>;
    auto const n = (std::uint64_t{1} << 33) + 1;
    tally::count cells[]{tally::count{n}, tally::count{}, tally::count{}, tally::count{n + 2}};
    metric::state s{};
    s.samples.bind({{2, 2}}, cells);
    CHECK(metric::finalize(s).value() == 1.0);
    CHECK(metric::finalize(s).upper() <= 1.0);
    cells[1] = tally::count{n + 2}; // as many positives among the negatives
    CHECK(metric::finalize(s).value() == near(0.75, 1e-15));
}

TEST_CASE("auroc: of unequal replicas is that of all samples") {
    auto const samples = tally::testing::overlapping_scores(300, 8);
    std::vector<double> s;
    std::vector<int> t;
    for (auto const& each : samples) {
        s.push_back(each.score);
        t.push_back(each.label);
    }
    auto const whole = binned<tally::probability_bins<>>(samples);
    std::size_t const from[]{0, 10, 10, 300}; // 10, none, 290
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        auto const rank = static_cast<std::size_t>(comm.rank());
        auto const n = from[rank + 1] - from[rank];
        tally::testing::tracker<tally::auroc<tally::probability_bins<>, double>> tracker;
        tracker.update(tally::predictions(s.data() + from[rank], n), tally::targets(t.data() + from[rank], n));
        auto const area = tracker.combine(comm).get();
        CHECK(area.value() == whole.value());
        CHECK(area.lower() == whole.lower());
        CHECK(area.upper() == whole.upper());
    });
}

} // namespace
