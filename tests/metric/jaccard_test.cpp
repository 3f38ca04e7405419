// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// jaccard: published values, weighted, with a void label, and against a slow reference.
#include "support/class_reference.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/accuracy.hpp>
#include <tally/metric/binary.hpp>
#include <tally/metric/jaccard.hpp>
#include <tally/metric/multilabel.hpp>
#include <tally/metric/precision_recall.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <ratio>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

} // namespace

TEST_CASE("jaccard: published values") {
    SUBCASE("per class") { // scikit-learn documentation, jaccard_score
        std::vector<int> const p{0, 2, 1, 2};
        std::vector<int> const t{0, 1, 2, 2};
        auto const each = value_of<jaccard<classes<3>, average::none>>(predictions(p), targets(t));
        REQUIRE(each.size() == 3);
        CHECK(each[0].value() == 1.0);
        CHECK(each[1].value() == 0.0);
        CHECK(each[2].value() == near(1.0 / 3, 1e-12));
    }
    SUBCASE("mean IoU") { // Keras documentation, metrics.MeanIoU
        std::vector<int> const p{0, 1, 0, 1};
        std::vector<int> const t{0, 0, 1, 1};
        CHECK(value_of<jaccard<classes<2>>>(predictions(p), targets(t)).value() == near(1.0 / 3, 1e-12));
    }
    SUBCASE("mean IoU of both classes of a threshold") { // Keras documentation, metrics.BinaryIoU
        std::vector<float> const p{0.1F, 0.2F, 0.4F, 0.7F};
        std::vector<int> const t{0, 1, 0, 1};
        using at = threshold<std::ratio<3, 10>>;
        CHECK(value_of<jaccard<two_classes<at>>>(predictions(p), targets(t)).value() == near(1.0 / 3, 1e-12));
    }
    SUBCASE("mean IoU, weighted samples") { // Keras documentation, metrics.OneHotMeanIoU
        std::vector<float> const p{0.2F, 0.3F, 0.5F, 0.1F, 0.2F, 0.7F, 0.5F, 0.3F, 0.1F, 0.1F, 0.4F, 0.5F};
        std::vector<int> const t{2, 0, 1, 0};
        std::vector<float> const w{0.1F, 0.2F, 0.3F, 0.4F};
        auto const value = value_of<weighted<jaccard<classes<3>>>>(probabilities(p, 3), targets(t), weights(w));
        CHECK(value.value() == near(0.1 / 0.7 / 3, 1e-7)); // 0.048; the weights are decimal fractions rounded to float
    }
}

TEST_CASE("jaccard: published values of a segmentation with a void label") {
    // Hugging Face evaluate, mean_iou: three images, one after another
    std::vector<std::uint8_t> const p{1, 2, 3, 4, 5, 255, 2, 7, 9, 2, 3, 6, 2, 2, 3, 8, 2, 4, 3, 255, 2};
    std::vector<std::uint8_t> const t{0, 3, 5, 4, 6, 255, 1, 7, 9, 2, 3, 6, 1, 2, 2, 8, 2, 1, 3, 255, 1};
    using pixels = classes<10, labels::ignore<255>>;
    CHECK(value_of<jaccard<pixels>>(predictions(p), targets(t)).value() == near(0.4775, 1e-9));
    CHECK(value_of<recall<pixels>>(predictions(p), targets(t)).value() == near(0.59166666, 1e-7));
    auto const overall = value_of<accuracy<pixels>>(predictions(p), targets(t));
    CHECK(overall.value() == near(0.52631579, 1e-7));
    CHECK(overall.dropped() == 0);
}

TEST_CASE("jaccard: random labels agree with the slow reference") {
    using counts = tally::testing::slow_counts;
    for (bool const weigh : {false, true}) {
        auto const d = tally::testing::random_labels(900, 7, 31, weigh);
        auto const slow = [](counts c) { return tally::testing::divide(c.tp, c.tp + c.fp + c.fn); };
        auto const expected = *mean_over_classes(d, 7, slow, [](counts) { return 1.0L; });
        auto const p = predictions(d.predictions);
        auto const t = targets(d.targets);
        if (weigh) {
            CHECK(value_of<weighted<jaccard<classes<7>>>>(p, t, weights(d.weights)).value() == near(expected, 1e-12));
        } else {
            CHECK(value_of<jaccard<classes<7>>>(p, t).value() == near(expected, 1e-12));
            auto const right = static_cast<double>(d.where([](int a, int b) { return a == b; }));
            auto const wrong = static_cast<double>(d.targets.size()) - right;
            CHECK(value_of<jaccard<classes<7>, average::micro>>(p, t).value() ==
                  near(right / (right + 2 * wrong), 1e-12));
        }
    }
}

TEST_CASE("jaccard: a multilabel row of weights is broadcast to its labels") {
    std::vector<float> const p{0.9F, 0.9F, 0.9F, 0.1F};
    std::vector<int> const t{1, 0, 0, 1}; // label 0: hit, false alarm; label 1: false alarm, miss
    std::vector<float> const w{1, 3};
    auto const of = value_of<weighted<jaccard<multilabel<2>, average::none>>>(predictions(matrix(p, 2)),
                                                                              targets(matrix(t, 2)), weights(w));
    CHECK(of[0].value() == 0.25);
    CHECK(of[1].value() == 0.0);
}

TEST_CASE("jaccard: counters near 2^24 stay exact") {
    using metric = jaccard<binary<>>;
    std::uint64_t const n = (1U << 24) - 1;
    metric::counters::state s{tally::count{n}, tally::count{n}, tally::count{n}, tally::count{n}, {}, {}, {}};
    for (int i = 0; i < 3; ++i) s.true_positives.deposit(one);
    CHECK(metric::finalize(s).value() == static_cast<double>(n + 3) / static_cast<double>(3 * n + 3));
}
