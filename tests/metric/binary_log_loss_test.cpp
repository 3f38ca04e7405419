// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/metric/binary_log_loss.hpp>

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

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_score = std::numeric_limits<float>::quiet_NaN();

using logit_loss = tally::binary_log_loss<tally::from_logits>;

double reference_loss(std::vector<float> const& p, std::vector<int> const& t) {
    long double total = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        auto const of_label = t[i] == 1 ? static_cast<long double>(p[i]) : 1.0L - static_cast<long double>(p[i]);
        total -= std::log(of_label);
    }
    return static_cast<double>(total / static_cast<long double>(p.size()));
}

TEST_CASE("normalised_entropy: torcheval documentation, binary_normalized_entropy with weights") {
    std::vector<double> const p{.2, .3};
    std::vector<int> const t{1, 0};
    std::vector<double> const w{5, 1};
    using metric = tally::weighted<tally::normalised_entropy<tally::from_probabilities, double>, double>;
    CHECK(results_of<metric>(tally::predictions(p), tally::targets(t), tally::weights(w)).value() ==
          near(3.108665497, 1e-9));
}

TEST_CASE(
    "binary_log_loss: agrees with the slow formula from probabilities and from logits, one state for both metrics") {
    std::vector<float> p;
    std::vector<double> logits;
    std::vector<int> t;
    for (int i = 0; i < 1000; ++i) {
        p.push_back(static_cast<float>(i * 7919 % 1000 + 1) / 1002.0F);
        logits.push_back(std::log(static_cast<double>(p.back()) / (1.0 - static_cast<double>(p.back()))));
        t.push_back(i % 3 == 0 ? 1 : 0);
    }
    using both = tally::collection<tally::named<"loss", tally::binary_log_loss<>>,
                                   tally::named<"ne", tally::normalised_entropy<>>>;
    static_assert(tally::detail::plan<both>::counters::size == 1);
    auto const r = results_of<both>(tally::predictions(p), tally::targets(t));
    auto const expected = reference_loss(p, t);
    CHECK(r["loss"_metric].value() == near(expected, 1e-6));
    auto const rate = 334.0 / 1000.0;
    auto const entropy = -(rate * std::log(rate) + (1 - rate) * std::log(1 - rate));
    CHECK(r["ne"_metric].value() == near(expected / entropy, 1e-6));
    auto const from_logits =
        results_of<tally::binary_log_loss<tally::from_logits, double>>(tally::predictions(logits), tally::targets(t));
    CHECK(from_logits.value() == near(expected, 1e-12));
}

TEST_CASE("binary_log_loss: logits of any size have a finite loss, infinite ones an infinite loss only if wrong") {
    std::vector<float> const logits{200, -200, 200, infinity, -infinity};
    auto const r = results_of<logit_loss>(tally::predictions(logits), tally::targets(std::vector<int>{0, 0, 1, 1, 0}));
    CHECK(r.value() == 40.0);
    auto const wrong =
        results_of<logit_loss>(tally::predictions(logits), tally::targets(std::vector<int>{0, 0, 1, 0, 0}));
    CHECK(wrong.value() == std::numeric_limits<double>::infinity());
    CHECK(wrong.state<logit_loss>().infinite.value() == 1);
}

TEST_CASE("binary_log_loss: probabilities 0 and 1 are free if right, infinite and counted if wrong") {
    std::vector<float> const p{0, 1};
    CHECK(results_of<tally::binary_log_loss<>>(tally::predictions(p), tally::targets(std::vector<int>{0, 1})).value() ==
          0.0);
    auto const wrong =
        results_of<tally::binary_log_loss<>>(tally::predictions(p), tally::targets(std::vector<int>{0, 0}));
    CHECK(wrong.value() == std::numeric_limits<double>::infinity());
    CHECK(wrong.state<tally::binary_log_loss<>>().infinite.value() == 1);
    auto const weightless = results_of<tally::weighted<tally::binary_log_loss<>>>(
        tally::predictions(p), tally::targets(std::vector<int>{0, 0}), tally::weights(std::vector<float>{1, 0}));
    CHECK(weightless.value() == 0.0);
}

TEST_CASE("binary_log_loss: a confident negative keeps its small loss") {
    std::vector<float> const p{1e-20F};
    auto const r = results_of<tally::binary_log_loss<>>(tally::predictions(p), tally::targets(std::vector<int>{0}));
    CHECK(r.value() == near(1e-20, 1e-6));
}

TEST_CASE("binary_log_loss: NaN, probabilities outside [0, 1] and labels other than 0 and 1 are dropped and counted") {
    std::vector<float> const p{nan_score, -.1F, 1.1F, .5F, .5F, .5F, .5F};
    std::vector<float> const t{0, 0, 1, 2, .5F, -1, 1};
    auto const r = results_of<tally::binary_log_loss<>>(tally::predictions(p), tally::targets(t));
    CHECK(r.value() == near(std::log(2.0), 1e-7));
    CHECK(r.get().dropped() == 6);
    auto const logits = results_of<logit_loss>(tally::predictions(p), tally::targets(t));
    CHECK(logits.get().dropped() == 4);
}

TEST_CASE("normalised_entropy: one class has no entropy, no data no loss") {
    using metric = tally::normalised_entropy<>;
    tally::testing::tracker<metric> tracker;
    CHECK(tracker.finalize().get().why() == tally::reason::no_samples);
    std::vector<float> const p{.25F, .5F, nan_score};
    tracker.update(tally::predictions(p), tally::targets(std::vector<int>{1, 1, 1}));
    CHECK(tracker.finalize().get().why() == tally::reason::single_class);
    CHECK(tracker.finalize().get().dropped() == 1);
    auto const negative = results_of<tally::weighted<metric>>(tally::predictions(std::vector<float>{.25F, .5F}),
                                                              tally::targets(std::vector<int>{1, 0}),
                                                              tally::weights(std::vector<float>{3, -1}));
    CHECK(negative.get().why() == tally::reason::zero_denominator);
    CHECK(results_of<tally::binary_log_loss<>>(tally::predictions(std::vector<float>{}),
                                               tally::targets(std::vector<int>{}))
              .get()
              .why() == tally::reason::no_samples);
}

TEST_CASE("binary_log_loss: weights that are all 1 change nothing, masked samples count nowhere") {
    std::vector<float> const p{.2F, .7F, .4F, 0};
    std::vector<int> const t{1, 1, 0, 1};
    std::vector<unsigned char> const mask{1, 1, 1, 0};
    auto const plain =
        results_of<tally::binary_log_loss<>>(tally::predictions(p), tally::targets(t), tally::mask(mask));
    auto const ones = results_of<tally::weighted<tally::binary_log_loss<>>>(
        tally::predictions(p), tally::targets(t), tally::mask(mask), tally::weights(std::vector<float>{1, 1, 1, 1}));
    CHECK(plain.value() == near(reference_loss({.2F, .7F, .4F}, {1, 1, 0}), 1e-6));
    CHECK(ones.value() == plain.value());
}

TEST_CASE("binary_log_loss: half inputs are widened") {
    std::vector<tally::half_bits> const p{{0x3800}};     // 0.5
    std::vector<tally::bfloat16_bits> const q{{0x3f00}}; // 0.5
    std::vector<int> const t{1};
    CHECK(results_of<tally::binary_log_loss<>>(tally::predictions(p), tally::targets(t)).value() ==
          near(std::log(2.0), 1e-7));
    CHECK(results_of<tally::binary_log_loss<>>(tally::predictions(q), tally::targets(t)).value() ==
          near(std::log(2.0), 1e-7));
}

TEST_CASE("normalised_entropy: the base rate is that of all replicas, one-sided replicas included") {
    std::vector<double> const p{.2, .3};
    std::vector<int> const t{1, 0};
    using metric = tally::normalised_entropy<tally::from_probabilities, double>;
    auto const whole = results_of<metric>(tally::predictions(p), tally::targets(t)).value();
    tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        auto const mine = static_cast<std::size_t>(comm.rank());
        tally::testing::tracker<metric> tracker;
        tracker.update(tally::predictions(p.data() + mine, 1), tally::targets(t.data() + mine, 1));
        CHECK(tracker.finalize().get().why() == tally::reason::single_class);
        CHECK(tracker.combine(comm).value() == near(whole, 1e-15));
    });
}

TEST_CASE("binary_log_loss: counts beyond 2^32 are exact") {
    auto const n = std::uint64_t{1} << 32;
    using metric = tally::binary_log_loss<tally::from_probabilities, float, tally::sum<double>>;
    metric::state const s{
        tally::sum<double>{static_cast<double>(n) + 1}, tally::count{n + 1}, tally::count{n + 1}, {}, {}};
    CHECK(metric::finalize(s).value() == 0.5);
}

} // namespace
