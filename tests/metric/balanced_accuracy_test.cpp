// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// balanced_accuracy: published values and its relation to recall.
#include "support/class_reference.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/balanced_accuracy.hpp>
#include <tally/metric/binary.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

} // namespace

TEST_CASE("balanced_accuracy: published values") {
    SUBCASE("macro accuracy of 3 classes") { // torchmetrics documentation, MulticlassAccuracy
        std::vector<int> const p{2, 1, 0, 1};
        std::vector<int> const t{2, 1, 0, 0};
        CHECK(value_of<balanced_accuracy<classes<3>>>(predictions(p), targets(t)).value() == near(2.5 / 3, 1e-12));
    }
    SUBCASE("binary") { // scikit-learn documentation, balanced_accuracy_score
        std::vector<int> const t{0, 1, 0, 0, 1, 0};
        std::vector<float> const p{0, 1, 0, 0, 0, 1};
        CHECK(value_of<balanced_accuracy<binary<>>>(predictions(p), targets(t)).value() == 0.625);
    }
}

TEST_CASE("balanced_accuracy: random labels agree with the slow reference") {
    using counts = tally::testing::slow_counts;
    auto const slow = [](counts c) { return tally::testing::divide(c.tp, c.tp + c.fn); };
    for (bool const weigh : {false, true}) {
        // The last class is predicted but has no samples.
        auto const d = tally::testing::random_labels(800, 5, 41, weigh);
        auto const expected = *mean_over_classes(d, 5, slow, [](counts) { return 1.0L; });
        auto const p = predictions(d.predictions);
        auto const t = targets(d.targets);
        if (weigh) {
            auto const value = value_of<weighted<balanced_accuracy<classes<5>>>>(p, t, weights(d.weights));
            CHECK(value.value() == near(expected, 1e-12));
        } else {
            CHECK(value_of<balanced_accuracy<classes<5>>>(p, t).value() == near(expected, 1e-12));
        }
    }
}

TEST_CASE("balanced_accuracy: constant predictions are right in one class of all") {
    std::vector<int> const p(6, 0);
    std::vector<int> const t{0, 0, 0, 0, 1, 2};
    CHECK(value_of<balanced_accuracy<classes<3>>>(predictions(p), targets(t)).value() == near(1.0 / 3, 1e-12));
}

TEST_CASE("balanced_accuracy: a NaN prediction is wrong for the class of its target") {
    constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> const p{not_a_number, 0.1F, 0.9F};
    std::vector<int> const t{0, 0, 1};
    CHECK(value_of<balanced_accuracy<binary<>>>(predictions(p), targets(t)).value() == 0.75);
}

TEST_CASE("balanced_accuracy: no samples, one class only") {
    std::vector<int> const none;
    CHECK(value_of<balanced_accuracy<classes<2>>>(predictions(none), targets(none)).why() == reason::no_samples);
    std::vector<int> const label{1};
    CHECK(value_of<balanced_accuracy<classes<2>>>(predictions(label), targets(label)).value() == 1.0);
}
