// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// cohen_kappa: published values, the definition on random labels, and its edges.
#include "support/class_reference.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/binary.hpp>
#include <tally/metric/cohen_kappa.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

void repeat(std::vector<int>& labels, int n, int label) {
    labels.insert(labels.end(), static_cast<std::size_t>(n), label);
}

} // namespace

TEST_CASE("cohen_kappa: published values") {
    SUBCASE("two raters") { // scikit-learn tests, test_cohen_kappa
        std::vector<int> first, second;
        repeat(first, 40, 0);
        repeat(first, 60, 1);
        repeat(second, 20, 0);
        repeat(second, 20, 1);
        repeat(second, 10, 0);
        repeat(second, 50, 1);
        CHECK(value_of<cohen_kappa<classes<2>>>(predictions(second), targets(first)).value() ==
              near(0.4 / 1.15, 1e-12));
        // Symmetric in the raters; the same from the binary source.
        CHECK(value_of<cohen_kappa<classes<2>>>(predictions(first), targets(second)).value() ==
              near(0.4 / 1.15, 1e-12));
        std::vector<float> const as_numbers(second.begin(), second.end());
        CHECK(value_of<cohen_kappa<binary<>>>(predictions(as_numbers), targets(first)).value() ==
              near(0.4 / 1.15, 1e-12));
    }
    SUBCASE("3 classes") { // torchmetrics documentation, MulticlassCohenKappa
        std::vector<int> const p{2, 1, 0, 1};
        std::vector<int> const t{2, 1, 0, 0};
        CHECK(value_of<cohen_kappa<classes<3>>>(predictions(p), targets(t)).value() == near(0.6363636364, 1e-9));
    }
}

TEST_CASE("cohen_kappa: random labels agree with the definition") {
    for (bool const weigh : {false, true}) {
        auto const d = tally::testing::random_labels(700, 5, 51, weigh);
        auto const n = d.where([](int, int) { return true; });
        auto const observed = d.where([](int t, int p) { return t == p; }) / n;
        long double expected = 0;
        for (int k = 0; k < 5; ++k) {
            expected +=
                d.where([k](int t, int) { return t == k; }) / n * d.where([k](int, int p) { return p == k; }) / n;
        }
        auto const kappa = static_cast<double>((observed - expected) / (1 - expected));
        auto const p = predictions(d.predictions);
        auto const t = targets(d.targets);
        if (weigh) {
            CHECK(value_of<weighted<cohen_kappa<classes<5>>>>(p, t, weights(d.weights)).value() == near(kappa, 1e-12));
        } else {
            CHECK(value_of<cohen_kappa<classes<5>>>(p, t).value() == near(kappa, 1e-12));
        }
    }
}

TEST_CASE("cohen_kappa: constant and equal labellings have no kappa, constant and different ones have 0") {
    std::vector<int> const zeros{0, 0, 0};
    std::vector<int> const ones{1, 1, 1};
    std::vector<int> const mixed{0, 1, 1};
    CHECK(value_of<cohen_kappa<classes<2>>>(predictions(zeros), targets(zeros)).why() == reason::zero_denominator);
    CHECK(value_of<cohen_kappa<classes<2>, zero_division::one>>(predictions(zeros), targets(zeros)).value() == 1.0);
    CHECK(value_of<cohen_kappa<classes<2>>>(predictions(zeros), targets(ones)).value() == 0.0);
    CHECK(value_of<cohen_kappa<classes<2>>>(predictions(zeros), targets(mixed)).value() == 0.0);
    std::vector<float> const uneven{0.1F, 3e-9F, 1e9F};
    auto const w = weights(uneven);
    CHECK(value_of<weighted<cohen_kappa<classes<2>>>>(predictions(zeros), targets(zeros), w).why() ==
          reason::zero_denominator);
}

TEST_CASE("cohen_kappa: predictions that are no class disagree with everything") {
    std::vector<int> const p{0, 1, 9};
    std::vector<int> const t{0, 1, 1};
    // po = 2/3, pe = 1/3 * 1/3 + 1/3 * 2/3 = 1/3
    CHECK(value_of<cohen_kappa<classes<2>>>(predictions(p), targets(t)).value() == near(0.5, 1e-12));
    std::vector<int> const none;
    CHECK(value_of<cohen_kappa<classes<2>>>(predictions(none), targets(none)).why() == reason::no_samples);
}

TEST_CASE("cohen_kappa: 2^40 samples, one of them different") {
    using metric = cohen_kappa<binary<>>;
    std::uint64_t const n = std::uint64_t{1} << 40;
    metric::counters::state const s{tally::count{1}, tally::count{0}, tally::count{1}, tally::count{n}, {}, {}, {}};
    // po = (n + 1) / (n + 2); 1 - pe = (2 (n + 1) + n) / (n + 2)^2; kappa = 2 n / (3 n + 2) by exact fractions.
    auto const exact =
        static_cast<double>(2.0L * static_cast<long double>(n) / (3.0L * static_cast<long double>(n) + 2));
    CHECK(metric::finalize(s).value() == near(exact, 1e-14));
}
