// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// f_beta and f1 against a slow reference and published values.
#include "support/class_reference.hpp"
#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/metric/binary.hpp>
#include <tally/metric/f_beta.hpp>
#include <tally/metric/multilabel.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <ratio>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;
using half = std::ratio<1, 2>;

// The data of several examples in the scikit-learn documentation.
std::vector<int> const targets_of_6{0, 1, 2, 0, 1, 2};
std::vector<int> const predictions_of_6{0, 2, 1, 0, 0, 1};

} // namespace

TEST_CASE("f_beta: published values") { // scikit-learn documentation, fbeta_score
    auto const p = predictions(predictions_of_6);
    auto const t = targets(targets_of_6);
    CHECK(value_of<f_beta<classes<3>, half>>(p, t).value() == near(0.2380952381, 1e-9));
    CHECK(value_of<f_beta<classes<3>, half, average::micro>>(p, t).value() == near(1.0 / 3, 1e-12));
    CHECK(value_of<f_beta<classes<3>, half, average::weighted>>(p, t).value() == near(0.2380952381, 1e-9));
    auto const each = value_of<f_beta<classes<3>, half, average::none>>(p, t);
    REQUIRE(each.size() == 3);
    CHECK(each[0].value() == near(0.7142857143, 1e-9));
    CHECK(each[1].value() == 0.0);
    CHECK(each[2].value() == 0.0);
}

TEST_CASE("f1: published values") { // scikit-learn documentation, f1_score
    auto const p = predictions(predictions_of_6);
    auto const t = targets(targets_of_6);
    CHECK(value_of<f1<classes<3>>>(p, t).value() == near(0.2666666667, 1e-9));
    CHECK(value_of<f1<classes<3>, average::weighted>>(p, t).value() == near(0.2666666667, 1e-9));
    CHECK(value_of<f1<classes<3>, average::micro>>(p, t).value() == near(1.0 / 3, 1e-12));
    std::vector<float> const negative(6, 0.0F);
    std::vector<int> const never(6, 0);
    auto const of = [&]<class M>() { return value_of<M>(predictions(negative), targets(never)); };
    CHECK(of.operator()<f1<binary<>, average::macro, zero_division::zero>>().value() == 0.0);
    CHECK(of.operator()<f1<binary<>, average::macro, zero_division::one>>().value() == 1.0);
    CHECK(of.operator()<f1<binary<>>>().why() == reason::zero_denominator);
    CHECK(of.operator()<f1<binary<>, average::micro>>().why() == reason::zero_denominator);
}

TEST_CASE("f_beta: random labels agree with the slow reference") {
    using counts = tally::testing::slow_counts;
    for (bool const weigh : {false, true}) {
        auto const d = tally::testing::random_labels(1000, 6, 21, weigh);
        auto const slow = [](counts c) { // from precision and recall, as the definition says
            auto const p = tally::testing::divide(c.tp, c.tp + c.fp);
            auto const r = tally::testing::divide(c.tp, c.tp + c.fn);
            if (c.tp == 0 || !p || !r) return std::optional<long double>(0.0L);
            return tally::testing::divide((1 + 4) * *p * *r, 4 * *p + *r);
        };
        auto const expected = *mean_over_classes(d, 6, slow, [](counts) { return 1.0L; });
        auto const by_support = *mean_over_classes(d, 6, slow, [](counts c) { return c.tp + c.fn; });
        using f2 = f_beta<classes<6>, std::ratio<2>>;
        using f2_by_support = f_beta<classes<6>, std::ratio<2>, average::weighted>;
        auto const p = predictions(d.predictions);
        auto const t = targets(d.targets);
        if (weigh) {
            auto const w = weights(d.weights);
            CHECK(value_of<weighted<f2>>(p, t, w).value() == near(expected, 1e-12));
            CHECK(value_of<weighted<f2_by_support>>(p, t, w).value() == near(by_support, 1e-12));
        } else {
            CHECK(value_of<f2>(p, t).value() == near(expected, 1e-12));
            CHECK(value_of<f2_by_support>(p, t).value() == near(by_support, 1e-12));
            std::vector<float> const ones(d.targets.size(), 1.0F);
            CHECK(value_of<weighted<f2>>(p, t, weights(ones)).value() == value_of<f2>(p, t).value());
        }
    }
}

TEST_CASE("f1: the number of classes may be chosen too large") {
    auto const d = tally::testing::random_labels(300, 4, 2, false);
    auto const of_4 = value_of<f1<classes<4>>>(predictions(d.predictions), targets(d.targets)).value();
    CHECK(value_of<f1<classes<40>>>(predictions(d.predictions), targets(d.targets)).value() == of_4);
    testing::tracker<f1<>> tracker{num_classes{400}};
    tracker.update(predictions(d.predictions), targets(d.targets));
    CHECK(tracker.finalize().value() == of_4);
}

TEST_CASE("f1: two classes of a binary decision, by hand") {
    std::vector<float> const p{0.9F, 0.8F, 0.1F, 0.2F};
    std::vector<int> const t{1, 0, 0, 0}; // class 1: tp 1, fp 1; class 0: tp 2, fn 1
    CHECK(value_of<f1<binary<>>>(predictions(p), targets(t)).value() == near(2.0 / 3, 1e-12));
    CHECK(value_of<f1<two_classes<>>>(predictions(p), targets(t)).value() == near((2.0 / 3 + 4.0 / 5) / 2, 1e-12));
    CHECK(value_of<f1<two_classes<>, average::micro>>(predictions(p), targets(t)).value() == 0.75);
    CHECK(value_of<f1<two_classes<>, average::weighted>>(predictions(p), targets(t)).value() ==
          near((2.0 / 3 + 3 * 4.0 / 5) / 4, 1e-12));
}

TEST_CASE("f1: multilabel, by hand") {
    std::vector<float> const p{0.9F, 0.2F, 0.8F, 0.9F};
    std::vector<int> const t{1, 1, 0, 1}; // label 0: tp 1, fp 1; label 1: tp 1, fn 1
    auto const inputs = [&]<class M>() { return value_of<M>(predictions(matrix(p, 2)), targets(matrix(t, 2))); };
    CHECK(inputs.operator()<f1<multilabel<2>>>().value() == near(2.0 / 3, 1e-12));
    CHECK(inputs.operator()<f1<multilabel<2>, average::micro>>().value() == near(2.0 / 3, 1e-12));
    std::vector<float> const w{3, 1}; // one weight a row
    auto const heavy = value_of<weighted<f1<multilabel<2>, average::none>>>(predictions(matrix(p, 2)),
                                                                            targets(matrix(t, 2)), weights(w));
    CHECK(heavy[0].value() == near(6.0 / 7, 1e-12));
    CHECK(heavy[1].value() == near(2.0 / 5, 1e-12));
}

TEST_CASE("f1: the mean of replicas' values is another number than the value of all replicas") {
    // Replica 0 sees class 0 only, replica 1 is empty, replica 2 sees both.
    std::vector<int> const t[] = {{0, 0}, {}, {0, 1, 1}};
    std::vector<int> const p[] = {{0, 0}, {}, {1, 1, 0}};
    tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        testing::tracker<f1<classes<2>>> tracker;
        tracker.update(predictions(p[comm.rank()]), targets(t[comm.rank()]));
        // Class 0: tp 2, fp 1, fn 1; class 1: tp 1, fp 1, fn 1.
        CHECK(tracker.combine(comm).value() == near((2.0 / 3 + 0.5) / 2, 1e-12));
    });
}
