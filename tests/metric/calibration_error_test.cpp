// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include <tally/metric/calibration_error.hpp>

#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/accumulator/probability_sum.hpp>
#include <tally/collection.hpp>
#include <tally/comm/replicas.hpp>
#include <tally/core/inputs.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

namespace {

using namespace tally::literals;
using tally::testing::near;
using tally::testing::results_of;

constexpr float nan_score = std::numeric_limits<float>::quiet_NaN();

/// l1, l2 and max of confidences and hits, bin by bin with a pass over all samples for each.
std::array<double, 3> reference_errors(std::vector<float> const& confidence, std::vector<int> const& hit,
                                       std::size_t bins) {
    double l1 = 0;
    double l2 = 0;
    double largest = 0;
    for (std::size_t b = 0; b < bins; ++b) {
        auto const lower = static_cast<double>(b) / static_cast<double>(bins);
        auto const upper = static_cast<double>(b + 1) / static_cast<double>(bins);
        double samples = 0;
        double hits = 0;
        double total = 0;
        for (std::size_t i = 0; i < confidence.size(); ++i) {
            auto const p = static_cast<double>(confidence[i]);
            if (p >= lower && (p < upper || (b + 1 == bins && p == 1.0))) {
                samples += 1;
                hits += hit[i];
                total += p;
            }
        }
        if (samples > 0) {
            auto const gap = std::fabs(hits / samples - total / samples);
            l1 += samples * gap;
            l2 += samples * gap * gap;
            largest = std::max(largest, gap);
        }
    }
    auto const n = static_cast<double>(confidence.size());
    return {l1 / n, std::sqrt(l2 / n), largest};
}

TEST_CASE("binary_calibration_error: torchmetrics documentation, l1, l2 and max from one state") {
    std::vector<double> const p{.25, .25, .55, .75, .75};
    std::vector<int> const t{0, 0, 1, 1, 1};
    using norms = tally::collection<tally::named<"l1", tally::binary_calibration_error<2, tally::norm::l1, double>>,
                                    tally::named<"l2", tally::binary_calibration_error<2, tally::norm::l2, double>>,
                                    tally::named<"max", tally::binary_calibration_error<2, tally::norm::max, double>>,
                                    tally::named<"diagram", tally::binary_reliability_diagram<2, double>>>;
    static_assert(tally::detail::plan<norms>::counters::size == 1);
    auto const r = results_of<norms>(tally::predictions(p), tally::targets(t));
    CHECK(r["l1"_metric].value() == near(0.29, 1e-12));
    CHECK(r["l2"_metric].value() == near(0.2918332857, 1e-9));
    CHECK(r["max"_metric].value() == near(0.3166666667, 1e-9));

    auto const diagram = r["diagram"_metric];
    REQUIRE(diagram.bins.size() == 2);
    CHECK(diagram.bins[0].lower == 0.0);
    CHECK(diagram.bins[1].lower == 0.5);
    CHECK(diagram.bins[1].upper == 1.0);
    CHECK(diagram.bins[0].samples == 2);
    CHECK(diagram.bins[0].rate.value() == 0.0);
    CHECK(diagram.bins[0].confidence.value() == 0.25);
    CHECK(diagram.bins[1].rate.value() == 1.0);
    CHECK(diagram.bins[1].confidence.value() == near(2.05 / 3, 1e-12));
}

TEST_CASE("calibration_error: agrees with the slow formula, from probabilities and from scores") {
    std::size_t const classes = 4;
    std::vector<float> p;
    std::vector<float> scores;
    std::vector<int> t;
    std::vector<float> confidence;
    std::vector<int> hit;
    for (int row = 0; row < 500; ++row) {
        std::array<float, 4> each{};
        float total = 0;
        for (int c = 0; c < 4; ++c) {
            each[static_cast<std::size_t>(c)] = static_cast<float>((row * 17 + c * c * 23) % 41 + 1);
            total += each[static_cast<std::size_t>(c)];
        }
        for (auto& x : each) {
            x /= total;
            p.push_back(x);
            scores.push_back(std::log(x));
        }
        auto const best = std::max_element(each.begin(), each.end());
        t.push_back(row % 4);
        confidence.push_back(*best);
        hit.push_back(best - each.begin() == row % 4 ? 1 : 0);
    }
    auto const expected = reference_errors(confidence, hit, 15);
    using norms = tally::collection<tally::named<"l1", tally::calibration_error<>>,
                                    tally::named<"l2", tally::calibration_error<15, tally::norm::l2>>,
                                    tally::named<"max", tally::calibration_error<15, tally::norm::max>>,
                                    tally::named<"diagram", tally::reliability_diagram<>>>;
    static_assert(tally::detail::plan<norms>::counters::size == 1);
    auto const r = results_of<norms>(tally::probabilities(p, classes), tally::targets(t));
    CHECK(r["l1"_metric].value() == near(expected[0], 1e-6));
    CHECK(r["l2"_metric].value() == near(expected[1], 1e-6));
    CHECK(r["max"_metric].value() == near(expected[2], 1e-6));
    CHECK(r["diagram"_metric].bins.size() == 15);
    CHECK(r["diagram"_metric].bins[0].confidence.why() == tally::reason::no_samples);
    // No confidence of this data is nearer to an edge than the rounding of a softmax in float.
    CHECK(results_of<tally::calibration_error<>>(tally::scores(scores, classes), tally::targets(t)).value() ==
          near(expected[0], 1e-5));
}

TEST_CASE("calibration_error: NaN, labels out of range and probabilities outside [0, 1] are dropped and counted") {
    std::vector<float> const p{.5F, nan_score, .75F, .25F, .75F, .25F, 1.5F, -.5F, .75F, .25F};
    std::vector<int> const t{0, 2, -1, 0, 0};
    auto const r = results_of<tally::calibration_error<>>(tally::probabilities(p, 2), tally::targets(t));
    CHECK(r.get().dropped() == 4);
    CHECK(r.value() == 0.25);

    std::vector<float> const binary{nan_score, -.5F, 1.5F, .75F, .75F};
    auto const b = results_of<tally::binary_calibration_error<>>(tally::predictions(binary),
                                                                 tally::targets(std::vector<int>{0, 0, 0, 3, 1}));
    CHECK(b.get().dropped() == 4);
    CHECK(b.value() == 0.25);
}

TEST_CASE("calibration_error: the ignored label is left out and counted apart") {
    std::vector<float> const p{.75F, .25F, .5F, .5F};
    using metric = tally::calibration_error<15, tally::norm::l1, float, tally::default_sum<float>, tally::unweighted,
                                            tally::labels::ignore<1>>;
    auto const r = results_of<metric>(tally::probabilities(p, 2), tally::targets(std::vector<int>{0, 1}));
    CHECK(r.value() == 0.25);
    CHECK(r.get().dropped() == 0);
    CHECK(r.state<metric>().ignored.value() == 1);
}

TEST_CASE("calibration_error: certain and right is 0, from scores that saturate as well") {
    std::vector<float> const scores{500, 0, -500, 0};
    CHECK(results_of<tally::calibration_error<>>(tally::scores(scores, 2), tally::targets(std::vector<int>{0, 1}))
              .value() == 0.0);
    CHECK(results_of<tally::calibration_error<>>(tally::scores(scores, 2), tally::targets(std::vector<int>{1, 0}))
              .value() == 1.0);
}

TEST_CASE("calibration_error: no data, weights, masks and half inputs") {
    using metric = tally::binary_calibration_error<10>;
    std::vector<float> const p{.25F, .75F, .5F};
    std::vector<int> const t{1, 1, 0};
    CHECK(
        results_of<metric>(tally::predictions(std::vector<float>{}), tally::targets(std::vector<int>{})).get().why() ==
        tally::reason::no_samples);
    auto const plain = results_of<metric>(tally::predictions(p), tally::targets(t)).get();
    CHECK(plain.value() == near(1.5 / 3, 1e-12));
    auto const weigh = [&](std::vector<float> const& w) {
        return results_of<tally::weighted<metric>>(tally::predictions(p), tally::targets(t), tally::weights(w)).get();
    };
    CHECK(weigh({1, 1, 1}).value() == plain.value());
    CHECK(weigh({2, 1, 1}).value() == near(2.25 / 4, 1e-12));
    CHECK(weigh({0, 0, 0}).why() == tally::reason::zero_denominator);
    CHECK(
        results_of<metric>(tally::predictions(p), tally::targets(t), tally::mask(std::vector<int>{0, 1, 0})).value() ==
        0.25);
    std::vector<tally::bfloat16_bits> const brain{{0x3e80}, {0x3f40}, {0x3f00}}; // .25, .75, .5
    CHECK(results_of<metric>(tally::predictions(brain), tally::targets(t)).value() == plain.value());
}

TEST_CASE("calibration_error: of unequal replicas is that of all samples; a mean of errors would be larger") {
    std::vector<float> const p{.5F, .5F, .5F};
    std::vector<int> const t{1, 0, 0};
    tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        tally::testing::tracker<tally::binary_calibration_error<4>> tracker;
        if (comm.rank() == 0) {
            tracker.update(tally::predictions(p.data(), 1), tally::targets(t.data(), 1));
        } else {
            tracker.update(tally::predictions(p.data() + 1, 2), tally::targets(t.data() + 1, 2));
        }
        CHECK(tracker.finalize().value() == 0.5);
        CHECK(tracker.combine(comm).value() == near(0.5 / 3, 1e-12));
    });
}

TEST_CASE("calibration_error: confidences are added exactly") {
    static_assert(std::is_same_v<tally::calibration_error<>,
                                 tally::calibration_error<15, tally::norm::l1, float, tally::probability_sum>>);
    std::vector<float> p;
    std::vector<int> t;
    for (int i = 1; i <= 3000; ++i) {
        p.push_back(1.0F / static_cast<float>(i * i)); // down to 1e-7
        t.push_back(i % 2);
    }
    auto const sum = std::accumulate(p.begin(), p.end(), 0.0); // multiples of 2^-47 below 2: exact
    using one_bin = tally::binary_reliability_diagram<1>;
    auto const diagram = results_of<one_bin>(tally::predictions(p), tally::targets(t)).get();
    CHECK(diagram.bins[0].confidence.value() == sum / 3000);
    using weighted = tally::weighted<one_bin>;
    static_assert(std::is_same_v<decltype(weighted::state::confidence)::cell_type, tally::sum<double>>);
}

TEST_CASE("calibration_error: counts beyond 2^24 and 2^32 are exact") {
    using metric = tally::binary_calibration_error<1, tally::norm::l1, float, tally::sum<double>>;
    auto const n = (std::uint64_t{1} << 32) + 4;
    tally::count samples[]{tally::count{n}};
    tally::count hits[]{tally::count{n / 4}};
    tally::sum<double> confidence[]{tally::sum<double>{static_cast<double>(n) / 2}};
    metric::state s{};
    s.samples.bind({{1}}, samples);
    s.hits.bind({{1}}, hits);
    s.confidence.bind({{1}}, confidence);
    CHECK(metric::finalize(s).value() == 0.25);
}

} // namespace
