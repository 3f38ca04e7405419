// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// confusion_matrix: published values, normalised views, labels that are no class, weights, replicas.
#include "support/class_reference.hpp"
#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;
using cells = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("confusion_matrix: published values") {
    SUBCASE("3 classes, a row for each true class") { // scikit-learn documentation, confusion_matrix
        std::vector<int> const p{0, 0, 2, 2, 0, 2};
        std::vector<int> const t{2, 0, 2, 2, 0, 1};
        auto const m = value_of<confusion_matrix<3>>(predictions(p), targets(t));
        CHECK(m.cells() == cells{2, 0, 0, 0, 0, 1, 1, 0, 2});
        CHECK(m(2, 0) == 1);
        CHECK(m(0, 2) == 0);
        CHECK(m.total() == 6);
        CHECK(m.size() == 3);
    }
    SUBCASE("normalised by true class") { // torcheval documentation, BinaryConfusionMatrix
        std::vector<int> const p{1, 1, 0, 0};
        std::vector<int> const t{0, 1, 1, 1};
        auto const m = value_of<confusion_matrix<2>>(predictions(p), targets(t));
        CHECK(m.by_true(0, 0).value() == 0.0);
        CHECK(m.by_true(0, 1).value() == 1.0);
        CHECK(m.by_true(1, 0).value() == near(2.0 / 3, 1e-12));
        CHECK(m.by_true(1, 1).value() == near(1.0 / 3, 1e-12));
        CHECK(m.by_predicted(0, 1).value() == 0.5);
        CHECK(m.by_predicted(1, 0).value() == 1.0);
        CHECK(m.by_all(1, 0).value() == 0.5);
    }
}

TEST_CASE("confusion_matrix: random labels agree with a walk for each cell") {
    auto const d = tally::testing::random_labels(800, 6, 71, false);
    testing::tracker<confusion_matrix<>> tracker{num_classes{6}};
    tracker.update(predictions(d.predictions), targets(d.targets));
    auto const m = tracker.finalize().get();
    for (int t = 0; t < 6; ++t) {
        for (int p = 0; p < 6; ++p) {
            auto const expected = d.where([t, p](int a, int b) { return a == t && b == p; });
            CHECK(m(static_cast<std::size_t>(t), static_cast<std::size_t>(p)) == static_cast<std::uint64_t>(expected));
        }
    }
}

TEST_CASE("confusion_matrix: labels that are no class are in no cell and counted") {
    constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> const s{0.1F, 0.9F, not_a_number, 0.5F, 0.9F, 0.1F, 0.2F, 0.8F};
    std::vector<float> const t{1, 0, not_a_number, 2};
    auto const m = value_of<confusion_matrix<2>>(scores(s, 2), targets(t));
    CHECK(m.cells() == cells{0, 0, 0, 1});
    CHECK(m.outside() == 3);
    CHECK(m.by_true(0, 0).why() == reason::absent_class);
    CHECK(m.by_true(1, 1).value() == 1.0);
    CHECK(m.by_true(1, 1).dropped() == 3);
    CHECK(m.by_predicted(1, 0).why() == reason::absent_class);
}

TEST_CASE("confusion_matrix: an ignored label is neither row nor column") {
    std::vector<int> const p{0, 1, 1, 0, 2};
    std::vector<int> const t{0, 0, 1, 1, 2};
    auto const m = value_of<confusion_matrix<3, labels::ignore<0>>>(predictions(p), targets(t));
    CHECK(m.cells() == cells{0, 0, 0, 0, 1, 0, 0, 0, 1});
    CHECK(m.ignored() == 2);
    CHECK(m.outside() == 1); // target 1, predicted as the ignored label
    auto const far = value_of<confusion_matrix<3, labels::ignore<255>>>(predictions(p), targets(t));
    CHECK(far.total() == 5);
    CHECK(far.ignored() == 0);
}

TEST_CASE("confusion_matrix: weights, masks, no samples") {
    std::vector<int> const p{0, 1, 1};
    std::vector<int> const t{0, 0, 1};
    std::vector<float> const w{0.5F, 0.25F, 2};
    auto const heavy = value_of<weighted<confusion_matrix<2>>>(predictions(p), targets(t), weights(w));
    static_assert(std::is_same_v<decltype(heavy(0, 0)), double>);
    CHECK(heavy.cells() == std::vector<double>{0.5, 0.25, 0, 2});
    CHECK(heavy.by_true(0, 1).value() == near(1.0 / 3, 1e-12));
    std::vector<int> const valid{1, 0, 1};
    CHECK(value_of<confusion_matrix<2>>(predictions(p), targets(t), mask(valid)).cells() == cells{1, 0, 0, 1});
    std::vector<int> const none;
    auto const empty = value_of<confusion_matrix<2>>(predictions(none), targets(none));
    CHECK(empty.total() == 0);
    CHECK(empty.by_all(0, 0).why() == reason::no_samples);
}

TEST_CASE("confusion_matrix: replicas, one of them empty, equal one pass") {
    auto const d = tally::testing::random_labels(300, 3, 72, false);
    auto const expected = value_of<confusion_matrix<3>>(predictions(d.predictions), targets(d.targets)).cells();
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        testing::tracker<confusion_matrix<3>> tracker;
        std::size_t const cut[] = {0, 299, 299, 300};
        auto const r = static_cast<std::size_t>(comm.rank());
        tracker.update(predictions(d.predictions.data() + cut[r], cut[r + 1] - cut[r]),
                       targets(d.targets.data() + cut[r], cut[r + 1] - cut[r]));
        CHECK(tracker.combine(comm).get().cells() == expected);
    });
}
