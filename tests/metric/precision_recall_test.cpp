// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// precision, recall and specificity against a slow reference and published values, with every policy.
#include "support/class_reference.hpp"
#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/core/inputs.hpp>
#include <tally/metric/binary.hpp>
#include <tally/metric/multilabel.hpp>
#include <tally/metric/precision_recall.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// The data of several examples in the scikit-learn documentation.
std::vector<int> const targets_of_6{0, 1, 2, 0, 1, 2};
std::vector<int> const predictions_of_6{0, 2, 1, 0, 0, 1};

} // namespace

TEST_CASE("precision: published values for multiclass averages") {
    // scikit-learn documentation, precision_score
    auto const p = predictions(predictions_of_6);
    auto const t = targets(targets_of_6);
    CHECK(value_of<precision<classes<3>>>(p, t).value() == near(2.0 / 9, 1e-12));
    CHECK(value_of<precision<classes<3>, average::micro>>(p, t).value() == near(1.0 / 3, 1e-12));
    CHECK(value_of<precision<classes<3>, average::weighted>>(p, t).value() == near(2.0 / 9, 1e-12));
}

TEST_CASE("precision: published values for zero_division") {
    // scikit-learn documentation, precision_score
    std::vector<int> const zeros(6, 0);
    auto const p = predictions(zeros);
    auto const t = targets(targets_of_6);
    auto const zero = value_of<precision<classes<3>, average::none, zero_division::zero>>(p, t);
    REQUIRE(zero.size() == 3);
    CHECK(zero[0].value() == near(1.0 / 3, 1e-12));
    CHECK(zero[1].value() == 0.0);
    CHECK(zero[2].value() == 0.0);
    auto const ones = value_of<precision<classes<3>, average::none, zero_division::one>>(p, t);
    CHECK(ones[0].value() == near(1.0 / 3, 1e-12));
    CHECK(ones[1].value() == 1.0);
    CHECK(ones[2].value() == 1.0);
    auto const skip = value_of<precision<classes<3>, average::none>>(p, t);
    CHECK(skip[1].why() == reason::zero_denominator);
    CHECK(value_of<precision<classes<3>>>(p, t).value() == near(1.0 / 3, 1e-12));
    CHECK(value_of<precision<classes<3>, average::macro, zero_division::zero>>(p, t).value() == near(1.0 / 9, 1e-12));
    CHECK(value_of<precision<classes<3>, average::macro, zero_division::one>>(p, t).value() == near(7.0 / 9, 1e-12));
}

TEST_CASE("precision: published values for weighted samples") {
    // Keras documentation, metrics.Precision
    std::vector<float> const p{1, 0, 1, 1};
    std::vector<int> const t{0, 1, 1, 1};
    std::vector<float> const w{0, 0, 1, 0};
    CHECK(value_of<precision<binary<>>>(predictions(p), targets(t)).value() == near(2.0 / 3, 1e-12));
    CHECK(value_of<weighted<precision<binary<>>>>(predictions(p), targets(t), weights(w)).value() == 1.0);
}

TEST_CASE("precision, recall, specificity: random labels agree with the slow reference") {
    for (bool const weigh : {false, true}) {
        for (unsigned seed = 1; seed <= 3; ++seed) {
            auto const d = tally::testing::random_labels(1000, 6, seed, weigh);
            auto const of = [&]<class M>() {
                if (weigh) {
                    return value_of<weighted<M>>(predictions(d.predictions), targets(d.targets), weights(d.weights));
                }
                return value_of<M>(predictions(d.predictions), targets(d.targets));
            };
            using counts = tally::testing::slow_counts;
            auto const slow_precision = [](counts c) { return tally::testing::divide(c.tp, c.tp + c.fp); };
            auto const slow_recall = [](counts c) { return tally::testing::divide(c.tp, c.tp + c.fn); };
            auto const slow_specificity = [](counts c) { return tally::testing::divide(c.tn, c.tn + c.fp); };
            auto const equal = [](counts) { return 1.0L; };
            auto const support = [](counts c) { return c.tp + c.fn; };
            // Classes 6 to 8 never occur: absent::skip leaves them out.
            auto const macro_precision = of.operator()<precision<classes<9>>>();
            CHECK(macro_precision.value() == near(*mean_over_classes(d, 9, slow_precision, equal), 1e-12));
            auto const weighted_precision = of.operator()<precision<classes<9>, average::weighted>>();
            CHECK(weighted_precision.value() == near(*mean_over_classes(d, 9, slow_precision, support), 1e-12));
            auto const macro_recall = of.operator()<recall<classes<9>>>();
            CHECK(macro_recall.value() == near(*mean_over_classes(d, 9, slow_recall, equal), 1e-12));
            auto const macro_specificity = of.operator()<specificity<classes<9>>>();
            CHECK(macro_specificity.value() == near(*mean_over_classes(d, 9, slow_specificity, equal), 1e-12));
            // Micro of single-label data is the accuracy, and so is recall weighted by support.
            auto const right = d.where([](int t, int p) { return t == p; }) / d.where([](int, int) { return true; });
            auto const accuracy = static_cast<double>(right);
            CHECK(of.operator()<precision<classes<9>, average::micro>>().value() == near(accuracy, 1e-12));
            CHECK(of.operator()<recall<classes<9>, average::micro>>().value() == near(accuracy, 1e-12));
            CHECK(of.operator()<recall<classes<9>, average::weighted>>().value() == near(accuracy, 1e-12));
            // Micro specificity pools the one-vs-rest tables.
            long double tn = 0, fp = 0;
            for (int k = 0; k < 9; ++k) {
                auto const c = tally::testing::count_class(d, k);
                tn += c.tn;
                fp += c.fp;
            }
            auto const micro_specificity = of.operator()<specificity<classes<9>, average::micro>>();
            CHECK(micro_specificity.value() == near(static_cast<double>(tn / (tn + fp)), 1e-12));
        }
    }
}

TEST_CASE("precision: weights of 1 change nothing, run-time classes neither") {
    auto const d = tally::testing::random_labels(500, 5, 7, false);
    std::vector<float> const ones(d.targets.size(), 1.0F);
    auto const p = predictions(d.predictions);
    auto const t = targets(d.targets);
    auto const expected = value_of<precision<classes<5>>>(p, t).value();
    CHECK(value_of<weighted<precision<classes<5>>>>(p, t, weights(ones)).value() == expected);
    testing::tracker<precision<>> tracker{num_classes{5}};
    tracker.update(p, t);
    CHECK(tracker.finalize().value() == expected);
}

TEST_CASE("recall: a class with predictions but without samples is left out of the mean") {
    std::vector<int> const p{0, 2, 1, 1};
    std::vector<int> const t{0, 0, 1, 1};
    CHECK(value_of<recall<classes<3>>>(predictions(p), targets(t)).value() == 0.75);
    auto const each = value_of<recall<classes<4>, average::none>>(predictions(p), targets(t));
    CHECK(each[2].why() == reason::zero_denominator);
    CHECK(each[3].why() == reason::absent_class);
}

TEST_CASE("precision: absent classes follow their policy, alone and in averages") {
    std::vector<int> const p{0, 1};
    std::vector<int> const t{0, 1};
    auto const inputs = [&]<class M>() { return value_of<M>(predictions(p), targets(t)); };
    CHECK(inputs.operator()<precision<classes<4>>>().value() == 1.0);
    using as_zero = precision<classes<4>, average::macro, zero_division::skip, absent::zero>;
    CHECK(inputs.operator()<as_zero>().value() == 0.5);
    using as_one = recall<classes<4>, average::macro, zero_division::zero, absent::one>;
    CHECK(inputs.operator()<as_one>().value() == 1.0);
    // No samples by classes that are absent: their share in a weighted mean is 0.
    using by_support = precision<classes<4>, average::weighted, zero_division::zero, absent::zero>;
    CHECK(inputs.operator()<by_support>().value() == 1.0);
}

TEST_CASE("precision: without samples there is a reason, whatever the policies") {
    std::vector<int> const none;
    using stubborn = precision<classes<3>, average::macro, zero_division::one, absent::one>;
    auto const empty = value_of<stubborn>(predictions(none), targets(none));
    CHECK_FALSE(empty.has_value());
    CHECK(empty.why() == reason::no_samples);
    CHECK(std::isnan(empty.as_double()));
    using each = precision<classes<3>, average::none, zero_division::one, absent::one>;
    CHECK(value_of<each>(predictions(none), targets(none))[1].why() == reason::no_samples);
    std::vector<int> const label{1};
    std::vector<float> const zero{0};
    auto const cancelled = value_of<weighted<stubborn>>(predictions(label), targets(label), weights(zero));
    CHECK(cancelled.why() == reason::zero_denominator);
    CHECK(value_of<precision<binary<>>>(predictions(std::vector<float>{}), targets(none)).why() == reason::no_samples);
}

TEST_CASE("precision: one sample") {
    std::vector<int> const label{1};
    CHECK(value_of<precision<classes<2>>>(predictions(label), targets(label)).value() == 1.0);
}

TEST_CASE("binary: NaN predictions are wrong, bad labels are dropped, both are counted") {
    std::vector<float> const p{0.9F, not_a_number, not_a_number, 0.2F, 0.7F, 0.4F, 0.8F};
    std::vector<float> const t{1, 1, 0, 0, 2, -1, not_a_number};
    testing::tracker<precision<binary<>>> tracker;
    tracker.update(predictions(p), targets(t));
    auto const result = tracker.finalize();
    auto const& state = result.state<precision<binary<>>>();
    CHECK(state.true_positives.value() == 1);
    CHECK(state.false_negatives.value() == 1); // NaN for a 1
    CHECK(state.false_positives.value() == 1); // NaN for a 0
    CHECK(state.true_negatives.value() == 1);
    CHECK(precision<binary<>>::counters::invalid_predictions(state) == 2);
    CHECK(result.get().dropped() == 3);
    CHECK(result.value() == 0.5);
    using skipping = recall<binary<threshold<>, labels::ignore<-1>>>;
    auto const ignoring = value_of<skipping>(predictions(p), targets(t));
    CHECK(ignoring.dropped() == 2);
    CHECK(ignoring.value() == 0.5);
}

TEST_CASE("binary: specificity is the recall of class 0") {
    std::vector<float> const p{0.9F, 0.1F, 0.6F, 0.3F, 0.2F};
    std::vector<int> const t{1, 1, 0, 0, 0};
    CHECK(value_of<specificity<binary<>>>(predictions(p), targets(t)).value() == near(2.0 / 3, 1e-12));
    auto const both = value_of<recall<two_classes<>, average::none>>(predictions(p), targets(t));
    REQUIRE(both.size() == 2);
    CHECK(both[0].value() == near(2.0 / 3, 1e-12));
    CHECK(both[1].value() == 0.5);
}

TEST_CASE("binary: at the threshold, above is negative and at_least is positive") {
    std::vector<float> const p{0.5F, 0.3F};
    std::vector<int> const t{1, 1};
    using half = std::ratio<1, 2>;
    using tenths = std::ratio<3, 10>;
    CHECK(value_of<recall<binary<>>>(predictions(p), targets(t)).value() == 0.0);
    CHECK(value_of<recall<binary<threshold<half, positive::at_least>>>>(predictions(p), targets(t)).value() == 0.5);
    CHECK(value_of<recall<binary<threshold<tenths>>>>(predictions(p), targets(t)).value() == 0.5);
    CHECK(value_of<recall<binary<threshold<tenths, positive::at_least>>>>(predictions(p), targets(t)).value() == 1.0);
    std::vector<double> const wide{0.5, 0.3};
    using of_double = binary<threshold<tenths, positive::at_least>, labels::all, double>;
    CHECK(value_of<recall<of_double>>(predictions(wide), targets(t)).value() == 1.0);
}

TEST_CASE("binary: half and bfloat16 predictions equal their widened values") {
    std::vector<half_bits> const half{{0x3800}, {0x3801}, {0x7e00}, {0x3400}}; // 0.5, next above, NaN, 0.25
    std::vector<bfloat16_bits> const brain{{0x3f00}, {0x3f01}, {0x7fc0}, {0x3e80}};
    std::vector<std::int64_t> const t{1, 1, 1, 0};
    CHECK(value_of<recall<binary<>>>(predictions(half), targets(t)).value() == near(1.0 / 3, 1e-12));
    CHECK(value_of<recall<binary<>>>(predictions(brain), targets(t)).value() == near(1.0 / 3, 1e-12));
}

TEST_CASE("classes: a row with a NaN misses its class and is no class's false positive") {
    std::vector<float> const s{0.1F, 0.9F, 0.0F, not_a_number, 0.9F, 0.0F, 0.1F, 0.2F, 0.9F};
    std::vector<int> const t{1, 1, 2};
    testing::tracker<precision<classes<3>, average::none>> tracker;
    tracker.update(scores(s, 3), targets(t));
    auto const result = tracker.finalize();
    CHECK(result.get()[1].value() == 1.0);
    using metric = precision<classes<3>, average::none>;
    CHECK(metric::counters::invalid_predictions(result.state<metric>()) == 1);
    CHECK(value_of<recall<classes<3>, average::none>>(scores(s, 3), targets(t))[1].value() == 0.5);
    CHECK(value_of<precision<classes<3>, average::micro>>(scores(s, 3), targets(t)).value() == near(2.0 / 3, 1e-12));
}

TEST_CASE("classes: double and half scores give the same counts") {
    std::vector<double> const wide{0.1, 0.9, 0.7, 0.2, 0.3, 0.4};
    std::vector<half_bits> const half{{0x2e66}, {0x3b33}, {0x399a}, {0x3266}, {0x34cd}, {0x3666}};
    std::vector<int> const t{1, 1, 1};
    CHECK(value_of<recall<classes<2>, average::micro>>(scores(wide, 2), targets(t)).value() == near(2.0 / 3, 1e-12));
    CHECK(value_of<recall<classes<2>, average::micro>>(scores(half, 2), targets(t)).value() == near(2.0 / 3, 1e-12));
}

TEST_CASE("classes: targets out of range are dropped and leave no trace, predictions out of range are wrong") {
    std::vector<int> const p{0, 1, 7, -3, 1, 2};
    std::vector<int> const t{0, 5, 1, 2, -1, 2};
    using metric = precision<classes<3>, average::none>;
    testing::tracker<metric> tracker;
    tracker.update(predictions(p), targets(t));
    auto const result = tracker.finalize();
    auto const& state = result.state<metric>();
    CHECK(metric::counters::dropped(state) == 2);
    CHECK(metric::counters::invalid_predictions(state) == 2);
    auto const each = result.get();
    CHECK(each[0].value() == 1.0);
    CHECK(each[1].why() == reason::zero_denominator); // predicted only for samples that are dropped
    CHECK(each[2].value() == 1.0);
    CHECK(each[2].dropped() == 2);
    CHECK(value_of<recall<classes<3>>>(predictions(p), targets(t)).value() == near(0.5, 1e-12));
}

TEST_CASE("classes: masked padding counts nowhere") {
    std::vector<int> const p{0, 1, 2, 2};
    std::vector<int> const t{0, 1, 0, 0};
    std::vector<int> const valid{1, 1, 0, 0};
    CHECK(value_of<precision<classes<3>>>(predictions(p), targets(t), mask(valid)).value() == 1.0);
}

TEST_CASE("classes: counters beyond 2^24 and 2^32 stay exact") {
    using metric = recall<binary<>>;
    std::uint64_t const big = (std::uint64_t{1} << 32) + 1;
    metric::counters::state const s{tally::count{big}, tally::count{0}, tally::count{1}, tally::count{0}, {}, {}, {}};
    auto const value = metric::finalize(s).value();
    CHECK(value == static_cast<double>(big) / static_cast<double>(big + 1));
    CHECK(value < 1.0);
}

TEST_CASE("multilabel: averages over labels, by hand") {
    // Columns: label 0 has tp 1, fp 1; label 1 has tp 1, fn 1; label 2 never occurs.
    std::vector<float> const p{0.9F, 0.8F, 0.1F, 0.7F, 0.2F, 0.3F, 0.1F, 0.1F, 0.2F};
    std::vector<int> const t{1, 1, 0, 0, 1, 0, 0, 0, 0};
    auto const inputs = [&]<class M>() { return value_of<M>(predictions(matrix(p, 3)), targets(matrix(t, 3))); };
    auto const each = inputs.operator()<precision<multilabel<3>, average::none>>();
    REQUIRE(each.size() == 3);
    CHECK(each[0].value() == 0.5);
    CHECK(each[1].value() == 1.0);
    CHECK(each[2].why() == reason::absent_class);
    CHECK(inputs.operator()<precision<multilabel<3>>>().value() == 0.75);
    CHECK(inputs.operator()<precision<multilabel<3>, average::micro>>().value() == near(2.0 / 3, 1e-12));
    CHECK(inputs.operator()<recall<multilabel<3>>>().value() == 0.75);
    testing::tracker<recall<multilabel<>>> tracker{num_labels{3}};
    tracker.update(predictions(matrix(p, 3)), targets(matrix(t, 3)));
    CHECK(tracker.finalize().value() == 0.75);
}

TEST_CASE("multilabel: columns beyond the labels, bad labels and NaN are counted") {
    std::vector<float> const p{0.9F, not_a_number, 0.9F, 0.1F, 0.2F, 0.9F};
    std::vector<int> const t{1, 1, 1, 0, 3, 1};
    using metric = recall<multilabel<2>, average::none>;
    testing::tracker<metric> tracker;
    tracker.update(predictions(matrix(p, 3)), targets(matrix(t, 3)));
    auto const result = tracker.finalize();
    CHECK(result.get()[0].value() == 1.0);
    CHECK(result.get()[0].dropped() == 3);
    CHECK(result.get()[1].value() == 0.0);
    CHECK(metric::counters::invalid_predictions(result.state<metric>()) == 1);
}

TEST_CASE("precision: replicas of unequal size, one of them empty, equal one pass") {
    auto const d = tally::testing::random_labels(700, 4, 11, false);
    auto const expected = value_of<precision<classes<4>>>(predictions(d.predictions), targets(d.targets)).value();
    std::size_t const cut[] = {0, 17, 17, 500, 700};
    tally::replicas{4}.run([&](tally::thread_communicator& comm) {
        testing::tracker<precision<classes<4>>> tracker;
        auto const r = static_cast<std::size_t>(comm.rank());
        auto const n = cut[r + 1] - cut[r];
        tracker.update(predictions(d.predictions.data() + cut[r], n), targets(d.targets.data() + cut[r], n));
        CHECK(tracker.combine(comm).value() == expected);
    });
}
