// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/metric/log_loss.hpp>

#include "support/engine.hpp"
#include "support/near.hpp"
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
using tally::testing::results_of;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float nan_score = std::numeric_limits<float>::quiet_NaN();

/// Mean of log(sum exp) - score of the target, by long double, without any shift: scores must be small.
double reference_log_loss(std::vector<float> const& scores, std::size_t classes, std::vector<int> const& targets) {
    long double total = 0;
    for (std::size_t row = 0; row < targets.size(); ++row) {
        long double denominator = 0;
        for (std::size_t c = 0; c < classes; ++c) {
            denominator += std::exp(static_cast<long double>(scores[row * classes + c]));
        }
        auto const score = scores[row * classes + static_cast<std::size_t>(targets[row])];
        total += std::log(denominator) - static_cast<long double>(score);
    }
    return static_cast<double>(total / static_cast<long double>(targets.size()));
}

TEST_CASE("log_loss: scikit-learn tests, test_log_loss") {
    std::vector<double> const p{.2, .7, .1, .6, .2, .2, .6, .1, .3};
    std::vector<int> const t{1, 0, 2};
    auto const loss = results_of<tally::log_loss<double>>(tally::probabilities(p, 3), tally::targets(t));
    CHECK(loss.value() == near(0.690491124, 1e-9));
}

TEST_CASE("log_loss: Keras documentation, CategoricalCrossentropy with weights") {
    std::vector<float> const p{.05F, .95F, 0, .1F, .8F, .1F};
    std::vector<int> const t{1, 2};
    std::vector<float> const w{.3F, .7F};
    auto const loss = results_of<tally::weighted<tally::log_loss<>>>(tally::probabilities(p, 3), tally::targets(t),
                                                                     tally::weights(w));
    CHECK(loss.value() == near(1.627197553, 1e-6));
}

TEST_CASE("perplexity: torcheval documentation, Perplexity") {
    std::vector<float> const two{.3659F, .7025F, .3104F, .0097F, .6577F, .1947F};
    CHECK(results_of<tally::perplexity<>>(tally::scores(two, 3), tally::targets(std::vector<int>{2, 1})).value() ==
          near(2.759287472, 1e-6));
    std::vector<float> const six{.3F, .7F, .3F, .1F, .5F, .4F, .1F, .4F, .1F, .1F, .2F, .5F,
                                 .1F, .6F, .1F, .5F, .3F, .7F, .3F, .4F, .3F, .7F, .3F, .4F};
    std::vector<std::int64_t> const t{2, 1, 3, 1, 0, 1};
    CHECK(results_of<tally::perplexity<>>(tally::scores(six, 4), tally::targets(t)).value() == near(3.621582057, 1e-6));
}

TEST_CASE("log_loss and perplexity: agree with the slow formula and share one state") {
    std::size_t const classes = 7;
    std::vector<float> scores;
    std::vector<int> targets;
    for (int row = 0; row < 700; ++row) {
        for (int c = 0; c < 7; ++c) {
            scores.push_back(static_cast<float>((row * 37 + c * 101) % 97) / 8.0F - 6.0F);
        }
        targets.push_back(row * 5 % 7);
    }
    using both =
        tally::collection<tally::named<"loss", tally::log_loss<>>, tally::named<"perplexity", tally::perplexity<>>>;
    static_assert(tally::detail::plan<both>::counters::size == 1);
    auto const r = results_of<both>(tally::scores(scores, classes), tally::targets(targets));
    auto const expected = reference_log_loss(scores, classes, targets);
    CHECK(r["loss"_metric].value() == near(expected, 1e-6));
    CHECK(r["perplexity"_metric].value() == near(std::exp(r["loss"_metric].value()), 1e-14));

    std::vector<double> const wide(scores.begin(), scores.end());
    auto const precise = results_of<tally::log_loss<double>>(tally::scores(wide, classes), tally::targets(targets));
    CHECK(precise.value() == near(expected, 1e-12));
}

TEST_CASE("log_loss: scores that overflow exp have the exact loss") {
    std::vector<float> const scores{1000, 0, 0, -1000};
    auto const loss = results_of<tally::log_loss<>>(tally::scores(scores, 2), tally::targets(std::vector<int>{1, 0}));
    CHECK(loss.value() == 500.0);
}

TEST_CASE("log_loss: a true class of probability 0 is an infinite loss, counted and visible") {
    std::vector<float> const p{0, 1, .5F, .5F};
    std::vector<int> const t{0, 0};
    tally::testing::tracker<tally::log_loss<>> tracker;
    tracker.update(tally::probabilities(p, 2), tally::targets(t));
    auto const r = tracker.finalize();
    CHECK(r.value() == infinity);
    auto const& s = r.state<tally::log_loss<>>();
    CHECK(s.infinite.value() == 1);
    CHECK(s.samples.value() == 2);
    CHECK(tally::log_loss<>::finite_part(s).value() == near(std::log(2.0), 1e-7));
    CHECK(tally::perplexity<>::finalize(s).value() == infinity);
    CHECK(r.get().dropped() == 0);
}

TEST_CASE("log_loss: an infinite loss of weight zero has no part in the mean") {
    std::vector<float> const p{0, 1, .5F, .5F};
    std::vector<int> const t{0, 0};
    using metric = tally::weighted<tally::log_loss<>>;
    auto const ignored =
        results_of<metric>(tally::probabilities(p, 2), tally::targets(t), tally::weights(std::vector<float>{0, 2}));
    CHECK(ignored.value() == near(std::log(2.0), 1e-7));
    auto const counted =
        results_of<metric>(tally::probabilities(p, 2), tally::targets(t), tally::weights(std::vector<float>{.5F, 2}));
    CHECK(counted.value() == infinity);
}

TEST_CASE("log_loss: masked classes of probability 0 beside the target do no harm") {
    auto const low = -std::numeric_limits<float>::infinity();
    std::vector<float> const scores{0, 0, low};
    auto const loss = results_of<tally::log_loss<>>(tally::scores(scores, 3), tally::targets(std::vector<int>{1}));
    CHECK(loss.value() == near(std::log(2.0), 1e-7));
}

TEST_CASE("log_loss: NaN, labels out of range and invalid probabilities are dropped and counted") {
    std::vector<float> const scores{0, nan_score, 0, 0, 0, 0, 0, 0};
    std::vector<int> const t{0, 2, -1, 1};
    auto const from_scores = results_of<tally::log_loss<>>(tally::scores(scores, 2), tally::targets(t));
    CHECK(from_scores.value() == near(std::log(2.0), 1e-7));
    CHECK(from_scores.get().dropped() == 3);

    std::vector<float> const p{1.5F, 0, -.5F, 0, nan_score, 0, .5F, .5F};
    auto const from_p =
        results_of<tally::log_loss<>>(tally::probabilities(p, 2), tally::targets(std::vector<int>{0, 0, 0, 0}));
    CHECK(from_p.value() == near(std::log(2.0), 1e-7));
    CHECK(from_p.get().dropped() == 3);
}

TEST_CASE("log_loss: the ignored label is left out, counted apart, not as dropped") {
    std::vector<float> const p{.5F, .5F, .25F, .75F, .1F, .9F};
    using inside = tally::log_loss<float, tally::default_sum<float>, tally::unweighted, tally::labels::ignore<0>>;
    auto const r = results_of<inside>(tally::probabilities(p, 2), tally::targets(std::vector<int>{1, 0, 0}));
    CHECK(r.value() == near(std::log(2.0), 1e-7));
    CHECK(r.state<inside>().ignored.value() == 2);
    CHECK(r.get().dropped() == 0);

    using outside = tally::perplexity<float, tally::default_sum<float>, tally::unweighted, tally::labels::ignore<255>>;
    auto const o = results_of<outside>(tally::probabilities(p, 2), tally::targets(std::vector<int>{1, 255, 3}));
    CHECK(o.value() == near(2.0, 1e-7));
    CHECK(o.state<outside>().ignored.value() == 1);
    CHECK(o.get().dropped() == 1);

    using negative = tally::log_loss<float, tally::default_sum<float>, tally::unweighted, tally::labels::ignore<-100>>;
    auto const n = results_of<negative>(tally::probabilities(p, 2), tally::targets(std::vector<long>{1, -100, -1}));
    CHECK(n.state<negative>().ignored.value() == 1);
    CHECK(n.get().dropped() == 1);
}

TEST_CASE("log_loss: no data, and one sample") {
    tally::testing::tracker<tally::log_loss<>> tracker;
    CHECK(tracker.finalize().get().why() == tally::reason::no_samples);
    tracker.update(tally::scores(std::vector<float>{}, 3), tally::targets(std::vector<int>{}));
    CHECK(tracker.finalize().get().why() == tally::reason::no_samples);
    CHECK(std::isnan(tracker.finalize().get().as_double()));
    CHECK(tally::perplexity<>::finalize({}).why() == tally::reason::no_samples);
    tracker.update(tally::scores(std::vector<float>{0, 0}, 2), tally::targets(std::vector<int>{1}));
    CHECK(tracker.finalize().value() == near(std::log(2.0), 1e-7));
}

TEST_CASE("log_loss: weights that are all 1 change nothing, weights that sum to zero give a reason") {
    std::vector<float> const p{.2F, .8F, .7F, .3F, .4F, .6F};
    std::vector<int> const t{1, 1, 0};
    auto const plain = results_of<tally::log_loss<>>(tally::probabilities(p, 2), tally::targets(t));
    using metric = tally::weighted<tally::log_loss<>>;
    auto const ones =
        results_of<metric>(tally::probabilities(p, 2), tally::targets(t), tally::weights(std::vector<float>{1, 1, 1}));
    CHECK(ones.value() == plain.value());
    auto const zero =
        results_of<metric>(tally::probabilities(p, 2), tally::targets(t), tally::weights(std::vector<float>{1, -2, 1}));
    CHECK(zero.get().why() == tally::reason::zero_denominator);
}

TEST_CASE("perplexity: masked padding counts nowhere") {
    std::vector<float> const p{.25F, .75F, 0, 1, .5F, .5F};
    std::vector<int> const t{0, 0, 7};
    auto const r = results_of<tally::perplexity<>>(tally::probabilities(p, 2), tally::targets(t),
                                                   tally::mask(std::vector<int>{1, 0, 0}));
    CHECK(r.value() == near(4.0, 1e-6));
    CHECK(r.get().dropped() == 0);
    CHECK(r.masked() == 2);
}

TEST_CASE("log_loss: half and bfloat16 scores are widened first") {
    std::vector<tally::half_bits> const half{{0x3c00}, {0x4000}}; // 1, 2
    std::vector<tally::bfloat16_bits> const brain{{0x3f80}, {0x4000}};
    std::vector<int> const t{0};
    auto const expected = std::log1p(std::exp(1.0));
    CHECK(results_of<tally::log_loss<>>(tally::scores(half, 2), tally::targets(t)).value() == near(expected, 1e-6));
    CHECK(results_of<tally::log_loss<>>(tally::scores(brain, 2), tally::targets(t)).value() == near(expected, 1e-6));
}

TEST_CASE("log_loss: counts beyond 2^24 and 2^32 are exact") {
    auto const n = (std::uint64_t{1} << 32) + 1;
    using metric = tally::log_loss<float, tally::sum<double>>;
    metric::state const s{tally::sum<double>{static_cast<double>(n) / 2}, tally::count{n}, {}, {}, {}};
    CHECK(metric::finalize(s).value() == 0.5);
}

TEST_CASE("perplexity: of unequal replicas is that of all tokens, not a mean of perplexities") {
    std::vector<float> const p{.5F, .5F, .125F, .875F, .125F, .875F};
    std::vector<int> const t{0, 0, 0};
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        tally::testing::tracker<tally::perplexity<>> tracker;
        if (comm.rank() == 0) {
            tracker.update(tally::probabilities(p.data(), 1, 2), tally::targets(t.data(), 1));
        } else if (comm.rank() == 1) {
            tracker.update(tally::probabilities(p.data() + 2, 2, 2), tally::targets(t.data(), 2));
        }
        CHECK(tracker.combine(comm).value() == near(std::exp2(7.0 / 3.0), 1e-6));
    });
}

} // namespace

TEST_CASE("log_loss: losses of confident rows keep their digits, for floats and for doubles") {
    auto const check = []<class T>(T, int most) {
        for (int lead = 1; lead <= most; ++lead) {
            CAPTURE(lead);
            std::vector<T> const scores{static_cast<T>(lead), T{0}};
            std::vector<int> const labels{0};
            auto const loss = results_of<tally::log_loss<T>>(tally::scores(scores, 2), tally::targets(labels)).value();
            auto const exact = std::log1p(std::exp(-static_cast<double>(lead)));
            // The exponent, which is the lead, is reduced in one step: in float by a fused operation and ln 2 to a
            // fiftieth of a unit, in double with two roundings.
            auto const units = 2.0 + lead / (sizeof(T) == 4 ? 32.0 : 1.0);
            CHECK(std::abs(loss - exact) <= units * static_cast<double>(std::numeric_limits<T>::epsilon()) * exact);
        }
    };
    check(float{}, 86);
    check(double{}, 700);
}
