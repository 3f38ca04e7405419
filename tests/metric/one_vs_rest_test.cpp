// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/metric/one_vs_rest.hpp>

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

using bins = tally::probability_bins<>;
constexpr float nan_score = std::numeric_limits<float>::quiet_NaN();
constexpr double rounding = 1e-12;

std::vector<float> const label_scores{.75F, .05F, .35F, .45F, .75F, .05F, .05F, .55F, .75F, .05F, .65F, .05F};
std::vector<int> const label_targets{1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1};

TEST_CASE("multilabel_auroc and multilabel_average_precision: torchmetrics documentation, one state for all") {
    using metrics =
        tally::collection<tally::named<"auc", tally::multilabel_auroc<3, bins, tally::average::none>>,
                          tally::named<"auc_macro", tally::multilabel_auroc<3>>,
                          tally::named<"ap", tally::multilabel_average_precision<3, bins, tally::average::none>>,
                          tally::named<"ap_macro", tally::multilabel_average_precision<3>>>;
    static_assert(tally::detail::plan<metrics>::counters::size == 1);
    auto const r =
        results_of<metrics>(tally::predictions(label_scores.data(), 4, 3), tally::targets(label_targets.data(), 4, 3));
    auto const auc = r["auc"_metric];
    REQUIRE(auc.size() == 3);
    CHECK(auc[0].value() == 0.625);
    CHECK(auc[1].value() == 0.5);
    CHECK(auc[2].value() == near(5.0 / 6, 1e-12));
    CHECK(r["auc_macro"_metric].value() == near(0.6527777778, 1e-9));
    auto const ap = r["ap"_metric];
    CHECK(ap[0].value() == 0.75);
    CHECK(ap[1].value() == near(0.5833333333, 1e-9));
    CHECK(ap[2].value() == near(0.9166666667, 1e-9));
    CHECK(r["ap_macro"_metric].value() == near(0.75, 1e-12));
}

TEST_CASE("multiclass_auroc: torchmetrics documentation; the absent class has a reason and no part in the mean") {
    std::vector<float> p(20, .05F);
    for (std::size_t row = 0; row < 4; ++row) {
        p[row * 5 + row] = .75F;
    }
    std::vector<int> const t{0, 1, 3, 2};
    using metrics =
        tally::collection<tally::named<"each", tally::multiclass_auroc<5, bins, tally::average::none>>,
                          tally::named<"macro", tally::multiclass_auroc<5>>,
                          tally::named<"weighted", tally::multiclass_auroc<5, bins, tally::average::weighted>>>;
    static_assert(tally::detail::plan<metrics>::counters::size == 1);
    auto const r = results_of<metrics>(tally::probabilities(p, 5), tally::targets(t));
    auto const each = r["each"_metric];
    CHECK(each[0].value() == 1.0);
    CHECK(each[1].value() == 1.0);
    CHECK(each[2].value() == near(1.0 / 3, 1e-12));
    CHECK(each[3].value() == near(1.0 / 3, 1e-12));
    CHECK(each[4].why() == tally::reason::absent_class);
    CHECK(r["macro"_metric].value() == near(2.0 / 3, 1e-12));
    CHECK(r["weighted"_metric].value() == near(2.0 / 3, 1e-12));
}

/// Rows of probabilities and labels that favour the true class a little.
struct rows {
    static constexpr std::size_t classes = 4;
    std::vector<float> p;
    std::vector<float> scores;
    std::vector<int> t;

    explicit rows(int n) {
        for (int row = 0; row < n; ++row) {
            t.push_back((row * 5 + row / 7) % 4);
            float total = 0;
            for (int c = 0; c < 4; ++c) {
                p.push_back(static_cast<float>((row * 19 + c * 37) % 53 + 1 + (c == t.back() ? 9 : 0)));
                total += p.back();
            }
            for (std::size_t c = 0; c < classes; ++c) {
                auto& each = p[p.size() - classes + c];
                each /= total;
                scores.push_back(std::log(each));
            }
        }
    }
    [[nodiscard]] std::vector<ranked> against_rest(std::size_t c) const {
        std::vector<ranked> samples;
        for (std::size_t row = 0; row < t.size(); ++row) {
            samples.push_back(
                {static_cast<double>(p[row * classes + c]), static_cast<std::size_t>(t[row]) == c ? 1 : 0});
        }
        return samples;
    }
};

TEST_CASE("multiclass one-vs-rest: brackets hold the exact values of each class and of all averages") {
    rows const data{400};
    using metrics =
        tally::collection<tally::named<"auc", tally::multiclass_auroc<4, bins, tally::average::none>>,
                          tally::named<"ap", tally::multiclass_average_precision<4, bins, tally::average::none>>,
                          tally::named<"macro", tally::multiclass_auroc<4>>,
                          tally::named<"weighted", tally::multiclass_auroc<4, bins, tally::average::weighted>>,
                          tally::named<"micro", tally::multiclass_auroc<4, bins, tally::average::micro>>>;
    auto const holds = [](tally::bracketed const& value, double exact) {
        CHECK(value.lower() <= exact + rounding);
        CHECK(value.upper() >= exact - rounding);
        CHECK(value.upper() - value.lower() < 0.02);
    };
    auto const r = results_of<metrics>(tally::probabilities(data.p, 4), tally::targets(data.t));
    double macro = 0;
    double weighted = 0;
    std::vector<ranked> pooled;
    for (std::size_t c = 0; c < 4; ++c) {
        auto const samples = data.against_rest(c);
        auto const exact = tally::testing::exact_auroc(samples);
        holds(r["auc"_metric][c], exact);
        holds(r["ap"_metric][c], tally::testing::exact_average_precision(samples));
        double positives = 0;
        for (auto const& each : samples) {
            positives += each.label;
        }
        macro += exact / 4;
        weighted += exact * positives / 400;
        pooled.insert(pooled.end(), samples.begin(), samples.end());
    }
    holds(r["macro"_metric], macro);
    holds(r["weighted"_metric], weighted);
    holds(r["micro"_metric], tally::testing::exact_auroc(pooled));
    // The same from scores by softmax, up to scores that rounding moves over the edge of a bin.
    CHECK(results_of<tally::multiclass_auroc<4>>(tally::scores(data.scores, 4), tally::targets(data.t)).value() ==
          near(r["macro"_metric].value(), 1e-3));
}

TEST_CASE("multiclass_auroc: run-time number of classes, weights of 1, and a class that has all samples") {
    rows const data{50};
    using fixed_classes = tally::multiclass_auroc<4>;
    using run_time_classes = tally::multiclass_auroc<tally::dynamic>;
    auto const expected = results_of<fixed_classes>(tally::probabilities(data.p, 4), tally::targets(data.t)).value();
    tally::testing::tracker<run_time_classes> tracker{tally::num_classes{4}};
    tracker.update(tally::probabilities(data.p, 4), tally::targets(data.t));
    CHECK(tracker.finalize().value() == expected);
    auto const ones = results_of<tally::weighted<fixed_classes>>(
        tally::probabilities(data.p, 4), tally::targets(data.t), tally::weights(std::vector<float>(50, 1)));
    CHECK(ones.value() == near(expected, 1e-14));

    std::vector<int> const same(50, 2);
    using each = tally::multiclass_auroc<4, bins, tally::average::none>;
    auto const values = results_of<each>(tally::probabilities(data.p, 4), tally::targets(same)).get();
    CHECK(values[2].why() == tally::reason::single_class);
    CHECK(values[0].why() == tally::reason::absent_class);
    CHECK(results_of<fixed_classes>(tally::probabilities(data.p, 4), tally::targets(same)).get().why() ==
          tally::reason::single_class);
    using precision = tally::multiclass_average_precision<4>;
    CHECK(results_of<precision>(tally::probabilities(data.p, 4), tally::targets(same)).value() == 1.0);
    CHECK(tally::testing::tracker<fixed_classes>{}.finalize().get().why() == tally::reason::no_samples);
}

TEST_CASE("multiclass_auroc: bad rows and elements are dropped and counted, columns beyond the classes too") {
    std::vector<float> const p{.2F, .8F, .7F, .3F, .6F, .4F, nan_score, .5F, .5F, 1.5F};
    std::vector<int> const t{1, 0, 2, 1, 0};
    // Row 2: label out of range, two elements. Row 3 and row 4: one element each.
    auto const r = results_of<tally::multiclass_auroc<2>>(tally::probabilities(p, 2), tally::targets(t)).get();
    CHECK(r.dropped() == 4);
    CHECK(r.value() == 1.0);
    auto const narrow =
        results_of<tally::multiclass_auroc<1>>(tally::probabilities(p.data(), 2, 2), tally::targets(t.data(), 2));
    CHECK(narrow.get().dropped() == 2);
    std::vector<float> const scores{0, nan_score, 1, 0, 0, 1};
    auto const from_scores =
        results_of<tally::multiclass_auroc<2>>(tally::scores(scores, 2), tally::targets(std::vector<int>{0, 0, 1}));
    CHECK(from_scores.get().dropped() == 2);
    CHECK(from_scores.value() == 1.0);
}

TEST_CASE("multiclass_auroc: no softmax of valid scores is dropped, however sure it is") {
    std::vector<float> scores;
    std::vector<int> t;
    for (int i = 0; i < 4096; ++i) {
        scores.push_back(static_cast<float>(i) / 100.0F);
        scores.push_back(0);
        t.push_back(i % 2);
    }
    auto const r = results_of<tally::multiclass_auroc<2>>(tally::scores(scores, 2), tally::targets(t));
    CHECK(r.get().dropped() == 0);
    std::vector<double> const wide(scores.begin(), scores.end());
    using metric = tally::multiclass_auroc<2, bins, tally::average::macro, double>;
    CHECK(results_of<metric>(tally::scores(wide, 2), tally::targets(t)).get().dropped() == 0);
}

TEST_CASE("multilabel_auroc: masked rows count nowhere, bad elements are counted, weights are by row") {
    std::vector<float> const s{.2F, .9F, .8F, nan_score, .1F, .1F};
    std::vector<int> const t{0, 1, 1, 1, 1, 5};
    using each = tally::multilabel_auroc<2, bins, tally::average::none>;
    auto const masked = results_of<each>(tally::predictions(s.data(), 3, 2), tally::targets(t.data(), 3, 2),
                                         tally::mask(std::vector<int>{1, 1, 0}))
                            .get();
    CHECK(masked[0].value() == 1.0);
    CHECK(masked[0].dropped() == 1);
    CHECK(masked[1].why() == tally::reason::single_class);
    auto const weighted =
        results_of<tally::weighted<each>>(tally::predictions(s.data(), 3, 2), tally::targets(t.data(), 3, 2),
                                          tally::weights(std::vector<float>{1, 3, 1}))
            .get();
    CHECK(weighted[0].value() == 0.75);
    CHECK(weighted[0].dropped() == 2);
    tally::testing::tracker<tally::multilabel_auroc<tally::dynamic>> tracker{tally::num_labels{2}};
    tracker.update(tally::predictions(s.data(), 3, 2), tally::targets(t.data(), 3, 2));
    CHECK(tracker.finalize().value() == 0.5);
}

TEST_CASE("multiclass_auroc: of unequal replicas is that of all rows") {
    rows const data{60};
    using metric = tally::multiclass_auroc<4>;
    auto const whole = results_of<metric>(tally::probabilities(data.p, 4), tally::targets(data.t)).value();
    std::size_t const from[]{0, 7, 7, 60};
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        auto const rank = static_cast<std::size_t>(comm.rank());
        auto const n = from[rank + 1] - from[rank];
        tally::testing::tracker<metric> tracker;
        tracker.update(tally::probabilities(data.p.data() + 4 * from[rank], n, 4),
                       tally::targets(data.t.data() + from[rank], n));
        CHECK(tracker.combine(comm).value() == whole);
    });
}

} // namespace
