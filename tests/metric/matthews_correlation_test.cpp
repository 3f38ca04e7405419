// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// matthews_correlation: published values, the Pearson correlation of two classes, the definition of R_K, edges.
#include "support/class_reference.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/binary.hpp>
#include <tally/metric/matthews_correlation.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

/// R_K by its definition: covariances of the indicator vectors of targets and predictions.
double slow_r_k(tally::testing::labelled const& d, int classes) {
    auto const n = d.where([](int, int) { return true; });
    long double tp = 0, tt = 0, pp = 0;
    for (int k = 0; k < classes; ++k) {
        auto const t_mean = d.where([k](int t, int) { return t == k; }) / n;
        auto const p_mean = d.where([k](int, int p) { return p == k; }) / n;
        for (std::size_t i = 0; i < d.targets.size(); ++i) {
            auto const t = (d.targets[i] == k ? 1.0L : 0.0L) - t_mean;
            auto const p = (d.predictions[i] == k ? 1.0L : 0.0L) - p_mean;
            tp += d.weight(i) * t * p;
            tt += d.weight(i) * t * t;
            pp += d.weight(i) * p * p;
        }
    }
    return static_cast<double>(tp / std::sqrt(tt * pp));
}

} // namespace

TEST_CASE("matthews_correlation: published values") {
    SUBCASE("3 classes") { // torchmetrics documentation, MulticlassMatthewsCorrCoef
        std::vector<int> const p{2, 1, 0, 1};
        std::vector<int> const t{2, 1, 0, 0};
        CHECK(value_of<matthews_correlation<classes<3>>>(predictions(p), targets(t)).value() == near(0.7, 1e-12));
    }
    SUBCASE("two classes") { // scikit-learn documentation, matthews_corrcoef with 0 for -1
        std::vector<float> const p{1, 0, 1, 1};
        std::vector<int> const t{1, 1, 1, 0};
        CHECK(value_of<matthews_correlation<binary<>>>(predictions(p), targets(t)).value() == near(-1.0 / 3, 1e-12));
    }
    SUBCASE("constant labels") { // scikit-learn tests: 0 by convention, here a policy
        std::vector<int> const zeros(4, 0);
        auto const of = [&]<class M>() { return value_of<M>(predictions(zeros), targets(zeros)); };
        CHECK(of.operator()<matthews_correlation<classes<2>, zero_division::zero>>().value() == 0.0);
        CHECK(of.operator()<matthews_correlation<classes<2>>>().why() == reason::zero_denominator);
    }
}

TEST_CASE("matthews_correlation: random labels agree with the definition of R_K") {
    for (bool const weigh : {false, true}) {
        for (int const n : {2, 3, 6}) {
            auto d = tally::testing::random_labels(600, n, 61, weigh);
            if (n == 2) d.targets[5] = 1; // else class 1 would have no samples
            auto const expected = slow_r_k(d, n);
            auto const p = predictions(d.predictions);
            auto const t = targets(d.targets);
            if (weigh) {
                auto const value = value_of<weighted<matthews_correlation<classes<6>>>>(p, t, weights(d.weights));
                CHECK(value.value() == near(expected, 1e-11));
            } else {
                CHECK(value_of<matthews_correlation<classes<6>>>(p, t).value() == near(expected, 1e-12));
            }
        }
    }
}

TEST_CASE("matthews_correlation: perfect is exactly 1, inverted exactly -1") {
    std::vector<int> const t{0, 1, 1, 0, 1, 0, 0};
    std::vector<int> inverted;
    for (int const x : t) inverted.push_back(1 - x);
    CHECK(value_of<matthews_correlation<classes<2>>>(predictions(t), targets(t)).value() == 1.0);
    CHECK(value_of<matthews_correlation<classes<2>>>(predictions(inverted), targets(t)).value() == -1.0);
}

TEST_CASE("matthews_correlation: one constant side has no value, weighted neither") {
    std::vector<int> const zeros{0, 0, 0, 0, 0, 0};
    std::vector<int> const mixed{0, 1, 2, 1, 2, 0};
    auto const of = [&]<class M>(auto const& p, auto const& t) { return value_of<M>(predictions(p), targets(t)); };
    CHECK(of.operator()<matthews_correlation<classes<3>>>(zeros, mixed).why() == reason::zero_denominator);
    CHECK(of.operator()<matthews_correlation<classes<3>>>(mixed, zeros).why() == reason::zero_denominator);
    using heavy = weighted<matthews_correlation<classes<3>>>;
    std::mt19937 random{62};
    for (int trial = 0; trial < 100; ++trial) {
        // Weights of very different size: their sum depends on the order, so differences of sums are not exactly 0.
        std::vector<float> w;
        for (std::size_t i = 0; i < zeros.size(); ++i) {
            w.push_back(std::ldexp(static_cast<float>(random() % 1000 + 1), static_cast<int>(random() % 64)));
        }
        CHECK(value_of<heavy>(predictions(zeros), targets(mixed), weights(w)).why() == reason::zero_denominator);
        CHECK(value_of<heavy>(predictions(mixed), targets(zeros), weights(w)).why() == reason::zero_denominator);
    }
    std::vector<int> const none;
    CHECK(of.operator()<matthews_correlation<classes<3>>>(none, none).why() == reason::no_samples);
}

TEST_CASE("matthews_correlation: predictions that are no class are a class of their own") {
    std::vector<int> const p{0, 1, 5, 1, 0, -1};
    tally::testing::labelled d{{0, 1, 0, 1, 1, 1}, {0, 1, 2, 1, 0, 2}, {}};
    auto const expected = slow_r_k(d, 3);
    CHECK(value_of<matthews_correlation<classes<2>>>(predictions(p), targets(d.targets)).value() ==
          near(expected, 1e-12));
    d.weights = {1, 2, 0.5F, 0.25F, 3, 1};
    auto const heavy =
        value_of<weighted<matthews_correlation<classes<2>>>>(predictions(p), targets(d.targets), weights(d.weights));
    CHECK(heavy.value() == near(slow_r_k(d, 3), 1e-12));
}

TEST_CASE("matthews_correlation: products beyond 2^64") {
    using metric = matthews_correlation<binary<>>;
    std::uint64_t const n = std::uint64_t{1} << 33;
    metric::counters::state const s{
        tally::count{3 * n}, tally::count{n}, tally::count{n}, tally::count{3 * n}, {}, {}, {}};
    CHECK(metric::finalize(s).value() == 0.5); // (9 - 1) / 16
}
