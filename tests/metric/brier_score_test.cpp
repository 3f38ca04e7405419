// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/metric/brier_score.hpp>

#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

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

using tally::testing::near;
using tally::testing::results_of;

constexpr float nan_score = std::numeric_limits<float>::quiet_NaN();

double reference_multiclass(std::vector<float> const& p, std::size_t classes, std::vector<int> const& t) {
    long double total = 0;
    for (std::size_t row = 0; row < t.size(); ++row) {
        for (std::size_t c = 0; c < classes; ++c) {
            auto const happened = static_cast<std::size_t>(t[row]) == c ? 1.0L : 0.0L;
            auto const error = static_cast<long double>(p[row * classes + c]) - happened;
            total += error * error;
        }
    }
    return static_cast<double>(total / static_cast<long double>(t.size()));
}

TEST_CASE("brier_score: scikit-learn documentation, brier_score_loss") {
    std::vector<int> const t{0, 1, 1, 0};
    std::vector<double> const p{.1, .9, .8, .3};
    CHECK(results_of<tally::brier_score<double>>(tally::predictions(p), tally::targets(t)).value() ==
          near(0.0375, 1e-14));
    std::vector<float> const narrow(p.begin(), p.end());
    CHECK(results_of<tally::brier_score<>>(tally::predictions(narrow), tally::targets(t)).value() ==
          near(0.0375, 1e-6));
}

TEST_CASE("brier_score: NaN, probabilities outside [0, 1] and other labels are dropped and counted, not clamped") {
    std::vector<float> const p{nan_score, 1.25F, -.25F, .5F, .5F, .5F};
    std::vector<int> const t{1, 1, 0, 2, -1, 1};
    auto const r = results_of<tally::brier_score<>>(tally::predictions(p), tally::targets(t));
    CHECK(r.value() == 0.25);
    CHECK(r.get().dropped() == 5);
}

TEST_CASE("brier_score: no data, one sample, weights and masks") {
    using metric = tally::brier_score<>;
    std::vector<float> const p{.5F, 0, 1};
    std::vector<int> const t{1, 1, 1};
    CHECK(
        results_of<metric>(tally::predictions(std::vector<float>{}), tally::targets(std::vector<int>{})).get().why() ==
        tally::reason::no_samples);
    CHECK(
        results_of<metric>(tally::predictions(p), tally::targets(t), tally::mask(std::vector<int>{1, 0, 0})).value() ==
        0.25);
    auto const plain = results_of<metric>(tally::predictions(p), tally::targets(t));
    auto const weigh = [&](std::vector<float> const& w) {
        return results_of<tally::weighted<metric>>(tally::predictions(p), tally::targets(t), tally::weights(w)).get();
    };
    CHECK(weigh({1, 1, 1}).value() == plain.value());
    CHECK(weigh({2, 1, 1}).value() == 0.375);
    CHECK(weigh({1, -1, 0}).why() == tally::reason::zero_denominator);
}

TEST_CASE("multiclass_brier_score: agrees with the sum over all classes, from probabilities and from scores") {
    std::size_t const classes = 5;
    std::vector<float> p;
    std::vector<float> scores;
    std::vector<int> t;
    for (int row = 0; row < 300; ++row) {
        float total = 0;
        for (int c = 0; c < 5; ++c) {
            p.push_back(static_cast<float>((row * 13 + c * 29) % 31 + 1));
            total += p.back();
        }
        for (std::size_t c = 0; c < classes; ++c) {
            auto& each = p[p.size() - classes + c];
            each /= total;
            scores.push_back(std::log(each));
        }
        t.push_back(row % 5);
    }
    auto const expected = reference_multiclass(p, classes, t);
    using metric = tally::multiclass_brier_score<>;
    CHECK(results_of<metric>(tally::probabilities(p, classes), tally::targets(t)).value() == near(expected, 1e-6));
    CHECK(results_of<metric>(tally::scores(scores, classes), tally::targets(t)).value() == near(expected, 1e-6));
}

TEST_CASE("multiclass_brier_score: twice the binary score for two classes; certain and right is 0, wrong is 2") {
    std::vector<float> const p{.9F, .1F, .1F, .9F, .2F, .8F, .7F, .3F};
    std::vector<int> const t{0, 1, 1, 0};
    using metric = tally::multiclass_brier_score<>;
    CHECK(results_of<metric>(tally::probabilities(p, 2), tally::targets(t)).value() == near(0.075, 1e-6));
    std::vector<float> const certain{200, 0, 200, 0};
    CHECK(results_of<metric>(tally::scores(certain, 2), tally::targets(std::vector<int>{0, 0})).value() == 0.0);
    CHECK(results_of<metric>(tally::scores(certain, 2), tally::targets(std::vector<int>{1, 1})).value() == 2.0);
}

TEST_CASE("multiclass_brier_score: bad rows are dropped and counted, ignored labels counted apart") {
    std::vector<float> const scores{0, nan_score, 0, 0, 0, 0, 0, 0};
    using metric =
        tally::multiclass_brier_score<float, tally::default_sum<float>, tally::unweighted, tally::labels::ignore<9>>;
    auto const r = results_of<metric>(tally::scores(scores, 2), tally::targets(std::vector<int>{0, 2, 9, 1}));
    CHECK(r.value() == 0.5);
    CHECK(r.get().dropped() == 2);
    CHECK(r.state<metric>().ignored.value() == 1);
}

TEST_CASE("brier_score: half inputs, counts beyond 2^32 and unequal replicas") {
    std::vector<tally::half_bits> const half{{0x3800}, {0x3800}}; // 0.5
    std::vector<int> const t{1, 0};
    CHECK(results_of<tally::brier_score<>>(tally::predictions(half), tally::targets(t)).value() == 0.25);

    auto const n = (std::uint64_t{1} << 32) + 2;
    using metric = tally::brier_score<float, tally::sum<double>>;
    metric::state const s{tally::sum<double>{static_cast<double>(n) / 4}, tally::count{n}, {}};
    CHECK(metric::finalize(s).value() == 0.25);

    std::vector<float> const p{0, .5F, .5F};
    std::vector<int> const ones{1, 1, 1};
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        tally::testing::tracker<tally::brier_score<>> tracker;
        if (comm.rank() == 0) {
            tracker.update(tally::predictions(p.data(), 1), tally::targets(ones.data(), 1));
        } else if (comm.rank() == 2) {
            tracker.update(tally::predictions(p.data() + 1, 2), tally::targets(ones.data(), 2));
        }
        CHECK(tracker.combine(comm).value() == 0.5);
    });
}

} // namespace
