// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/collection.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/metric/correlation.hpp>
#include <tally/metric/r2_score.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using tally::testing::near;
using tally::testing::value_of;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

using numbers = std::vector<double>;
using r2 = tally::r2_score<double>;
using explained = tally::explained_variance<double>;

template <class M>
auto of(numbers const& p, numbers const& t) {
    return value_of<M>(tally::predictions(p), tally::targets(t));
}
template <class M>
auto of(numbers const& p, numbers const& t, numbers const& w) {
    return value_of<tally::weighted<M, double>>(tally::predictions(p), tally::targets(t), tally::weights(w));
}

} // namespace

TEST_CASE("r2_score: known answers") {
    CHECK(of<r2>({2, 4, 4}, {1, 4, 3}).value() == near(0.57142857142857142, 1e-14)); // Keras, R2Score
    CHECK(of<r2>({2.5, 0.0, 2, 8}, {3, -0.5, 2, 7}).value() ==
          near(0.9486081370449679, 1e-14)); // scikit-learn documentation, r2_score
    CHECK(of<r2>({2, 2, 2}, {1, 2, 3}).value() == 0.0);
    CHECK(of<r2>({3, 2, 1}, {1, 2, 3}).value() == -3.0);
    CHECK(of<r2>({0.1, 0.7, 0.2}, {0.1, 0.7, 0.2}).value() == 1.0);
}

TEST_CASE("explained_variance: known answer, and a constant bias costs nothing") {
    CHECK(of<explained>({2.5, 0.0, 2, 8}, {3, -0.5, 2, 7}).value() ==
          near(0.9571734475374732, 1e-14)); // scikit-learn, explained_variance_score
    CHECK(of<explained>({11, 12, 13}, {1, 2, 3}).value() == 1.0);
    CHECK(of<r2>({11, 12, 13}, {1, 2, 3}).value() == -149.0);
}

TEST_CASE("r2_score, explained_variance: reasons for no value") {
    auto const both_lack = [](numbers const& p, numbers const& t, tally::reason why) {
        CHECK(of<r2>(p, t).why() == why);
        CHECK(of<explained>(p, t).why() == why);
    };
    both_lack({}, {}, tally::reason::no_samples);
    both_lack({1}, {1}, tally::reason::too_few_samples);
    both_lack({1, 2, 3}, {0.1, 0.1, 0.1}, tally::reason::no_variance);       // wrong
    both_lack({0.1, 0.1, 0.1}, {0.1, 0.1, 0.1}, tally::reason::no_variance); // right
    both_lack(numbers(1000, 3.3), numbers(1000, 0.7), tally::reason::no_variance);
    CHECK(of<r2>({1, 2}, {1, 3}, {1, -1}).why() == tally::reason::zero_denominator);
}

TEST_CASE("r2_score: a nearly perfect model of large targets keeps its digits") {
    // Errors of 1e-3 beside targets of 1e6: a sum of squared errors taken from sums of p and t would be rounding only.
    numbers p;
    numbers t;
    long double sse = 0;
    long double mean = 0;
    for (int i = 0; i < 2000; ++i) {
        t.push_back(1e6 + (i * 7919) % 1009);
        p.push_back(t.back() + 1e-3 * ((i * 31) % 7 - 3));
        auto const error = static_cast<long double>(p.back()) - t.back();
        sse += error * error;
        mean += t.back() / 2000.0L;
    }
    long double sst = 0;
    for (double const x : t) {
        sst += (x - mean) * (x - mean);
    }
    tally::testing::tracker<r2> tracker;
    tracker.update(tally::predictions(p), tally::targets(t));
    auto const result = tracker.finalize();
    CHECK(tally::detail::squared_errors(result.state<r2>().errors) == near(static_cast<double>(sse), 1e-13));
    CHECK(result.value() == near(static_cast<double>(1 - sse / sst), 1e-15));
}

TEST_CASE("r2_score, explained_variance: of floats, from exact sums") {
    std::vector<float> p;
    std::vector<float> t;
    for (int i = 0; i < 2000; ++i) {
        t.push_back(1e6F + static_cast<float>((i * 7919) % 1009));
        p.push_back(t.back() + 0.0625F * static_cast<float>((i * 31) % 7 - 2)); // a step of floats of this size
    }
    long double mean_t = 0;
    long double mean_error = 0;
    for (std::size_t i = 0; i < t.size(); ++i) {
        mean_t += static_cast<long double>(t[i]) / 2000;
        mean_error += (static_cast<long double>(p[i]) - static_cast<long double>(t[i])) / 2000;
    }
    long double sse = 0;
    long double about_mean = 0;
    long double sst = 0;
    for (std::size_t i = 0; i < t.size(); ++i) {
        auto const error = static_cast<long double>(p[i]) - static_cast<long double>(t[i]);
        auto const deviation = static_cast<long double>(t[i]) - mean_t;
        sse += error * error;
        about_mean += (error - mean_error) * (error - mean_error);
        sst += deviation * deviation;
    }
    tally::testing::tracker<tally::r2_score<>> tracker;
    tracker.update(tally::predictions(p), tally::targets(t));
    auto const sums = tally::detail::error_sums_of(tracker.finalize().state<tally::r2_score<>>());
    CHECK(sums.squared_errors == static_cast<double>(sse));
    CHECK(sums.error_deviations == static_cast<double>(about_mean));
    CHECK(sums.target_deviations == static_cast<double>(sst));
    CHECK(tracker.finalize().value() == near(static_cast<double>(1 - sse / sst), 1e-15));
    CHECK(value_of<tally::explained_variance<>>(tally::predictions(p), tally::targets(t)).value() ==
          near(static_cast<double>(1 - about_mean / sst), 1e-15));
    // The same in double, by name.
    CHECK(value_of<tally::r2_score<float, tally::co_moments>>(tally::predictions(p), tally::targets(t)).value() ==
          near(static_cast<double>(1 - sse / sst), 1e-13));

    auto const reason_for = [](std::vector<float> const& a, std::vector<float> const& b) {
        return value_of<tally::r2_score<>>(tally::predictions(a), tally::targets(b)).why();
    };
    CHECK(reason_for({}, {}) == tally::reason::no_samples);
    CHECK(reason_for({1}, {1}) == tally::reason::too_few_samples);
    CHECK(reason_for({1, 2, 3}, {0.1F, 0.1F, 0.1F}) == tally::reason::no_variance);
    CHECK(std::isnan(value_of<tally::r2_score<>>(tally::predictions(std::vector<float>{1, 2}),
                                                 tally::targets(std::vector<float>{1, static_cast<float>(infinity)}))
                         .value()));
}

TEST_CASE("r2_score: NaN on either side is left out and counted, or propagates") {
    numbers const p{2, 4, nan_value, 4, 0};
    numbers const t{1, 4, 5, 3, nan_value};
    auto const skipped = of<r2>(p, t);
    CHECK(skipped.value() == of<r2>({2, 4, 4}, {1, 4, 3}).value());
    CHECK(skipped.dropped() == 2);
    CHECK(of<explained>(p, t).dropped() == 2);
    using propagating = tally::r2_score<double, tally::co_moments, tally::nan::propagate>;
    CHECK(std::isnan(of<propagating>(p, t).value()));
    CHECK(of<propagating>(p, t).dropped() == 0);
    CHECK(std::isnan(of<r2>({1, 2}, {1, infinity}).value()));
}

TEST_CASE("r2_score: a weight counts as repetition, weights of 1 change nothing") {
    numbers const p{2, 4, 4};
    numbers const t{1, 4, 3};
    auto const repeated = of<r2>({2, 4, 4, 4, 4, 4}, {1, 4, 4, 4, 3, 3}).value();
    CHECK(of<r2>(p, t, {1, 3, 2}).value() == near(repeated, 1e-14));
    CHECK(of<r2>(p, t, {1, 1, 1}).value() == near(of<r2>(p, t).value(), 1e-14));
    CHECK(of<explained>(p, t, {1, 1, 1}).value() == near(of<explained>(p, t).value(), 1e-14));
}

TEST_CASE("r2_score: deviations are from the mean of all replicas, not of each one") {
    numbers const p{2, 4, 4, 10, 12};
    numbers const t{1, 4, 3, 11, 12};
    std::size_t const begin[] = {0, 3, 3, 5};
    auto const update = [&](auto& tracker, int rank) {
        auto const n = begin[rank + 1] - begin[rank];
        tracker.update(tally::predictions(p.data() + begin[rank], n), tally::targets(t.data() + begin[rank], n));
    };
    // mean t = 6.2; SST = 27.04 + 4.84 + 10.24 + 23.04 + 33.64 = 98.8; SSE = 3
    for (auto const& each : tally::testing::values_of_replicas<r2>(3, update)) {
        CHECK(each.value() == near(1.0 - 3.0 / 98.8, 1e-14));
    }
}

TEST_CASE("r2_score, explained_variance: one shared state, half and float inputs") {
    using both = tally::collection<tally::named<"r2", tally::r2_score<>>,
                                   tally::named<"explained", tally::explained_variance<>>>;
    static_assert(tally::detail::plan<both>::counters::size == 1);
    static_assert(sizeof(tally::state_of<tally::r2_score<>>) == 712);
    static_assert(sizeof(tally::state_of<tally::r2_score<double>>) == 72);
    static_assert(sizeof(tally::state_of<tally::weighted<tally::r2_score<>>>) == 72);
    static_assert(sizeof(tally::state_of<tally::r2_score<float, tally::co_moments>>) == 72);
    using with_correlation =
        tally::collection<tally::named<"r2", tally::r2_score<>>, tally::named<"pearson", tally::pearson_correlation<>>>;
    static_assert(tally::detail::plan<with_correlation>::counters::size == 1);
    std::vector<float> const p{2.0F, 4.0F, 4.0F};
    std::vector<tally::half_bits> t;
    for (float const x : {1.0F, 4.0F, 3.0F}) {
        t.push_back(tally::narrow_to<tally::half_bits>(x));
    }
    CHECK(value_of<tally::r2_score<>>(tally::predictions(p), tally::targets(t)).value() == near(4.0 / 7.0, 1e-14));
}
