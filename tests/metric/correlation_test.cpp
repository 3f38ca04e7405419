// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/collection.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/metric/correlation.hpp>
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
using pearson = tally::pearson_correlation<double>;

template <class M>
auto of(numbers const& p, numbers const& t) {
    return value_of<M>(tally::predictions(p), tally::targets(t));
}
template <class M>
auto of(numbers const& p, numbers const& t, numbers const& w) {
    return value_of<tally::weighted<M, double>>(tally::predictions(p), tally::targets(t), tally::weights(w));
}

/// Two passes in long double.
struct reference {
    long double mean_p = 0, mean_t = 0, pp = 0, tt = 0, pt = 0;
    reference(numbers const& p, numbers const& t) {
        auto const n = static_cast<long double>(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            mean_p += p[i] / n;
            mean_t += t[i] / n;
        }
        for (std::size_t i = 0; i < p.size(); ++i) {
            pp += (p[i] - mean_p) * (p[i] - mean_p);
            tt += (t[i] - mean_t) * (t[i] - mean_t);
            pt += (p[i] - mean_p) * (t[i] - mean_t);
        }
    }
    [[nodiscard]] double correlation() const { return static_cast<double>(pt / std::sqrt(pp * tt)); }
};

} // namespace

TEST_CASE("pearson_correlation: known answers") {
    auto const r = of<pearson>({1, 2, 3, 4}, {2, 1, 2, 3}).value();
    CHECK(r * r == near(0.4, 1e-15)); // TensorFlow Model Analysis, squared Pearson correlation
    CHECK(of<pearson>({1, 2, 3}, {-2, -4, -6}).value() == -1.0);
    CHECK(of<pearson>({1, 2, 3}, {2, 4, 6}).value() == 1.0);
    CHECK(of<pearson>({-2, -1, 1, 2}, {4, 1, 1, 4}).value() == 0.0);
}

TEST_CASE("pearson_correlation: stays within [-1, 1]") {
    for (int i = 1; i < 200; ++i) {
        numbers p;
        for (int k = 0; k < 3 + i % 7; ++k) {
            p.push_back(0.1 * k * i + 0.3);
        }
        numbers t;
        for (double const x : p) {
            t.push_back(1.7 * x);
        }
        auto const r = of<pearson>(p, t).value();
        CHECK(r <= 1.0);
        CHECK(r == near(1.0, 1e-13));
    }
}

TEST_CASE("pearson_correlation: sums of squares at the ends of the range of double") {
    for (double const scale : {1e-150, 1e-100, 1e100, 1e150}) {
        CAPTURE(scale);
        numbers const p{1 * scale, 2 * scale, 3 * scale, 4 * scale};
        numbers const t{2 * scale, 1 * scale, 2 * scale, 3 * scale};
        CHECK(of<pearson>(p, t).value() == near(std::sqrt(0.4), 1e-14));
    }
}

TEST_CASE("pearson_correlation: reasons for no value") {
    CHECK(of<pearson>({}, {}).why() == tally::reason::no_samples);
    CHECK(of<pearson>({1}, {2}).why() == tally::reason::too_few_samples);
    for (std::size_t const size : {2U, 3U, 700U}) { // 0.1 has no exact mean of 3
        numbers ramp;
        for (std::size_t i = 0; i < size; ++i) {
            ramp.push_back(static_cast<double>(i));
        }
        CHECK(of<pearson>(numbers(size, 0.1), ramp).why() == tally::reason::no_variance);
        CHECK(of<pearson>(ramp, numbers(size, 0.1)).why() == tally::reason::no_variance);
    }
    CHECK(of<pearson>({1, 2}, {1, 2}, {1, -1}).why() == tally::reason::zero_denominator);
    CHECK(of<pearson>({1, 2}, {1, 2}, {0, 0}).why() == tally::reason::zero_denominator);
}

TEST_CASE("pearson_correlation: NaN on either side is left out and counted, or propagates") {
    numbers const p{1, 2, nan_value, 4, 3};
    numbers const t{2, 1, 7, 3, nan_value};
    auto const skipped = of<pearson>(p, t);
    CHECK(skipped.value() == of<pearson>({1, 2, 4}, {2, 1, 3}).value());
    CHECK(skipped.dropped() == 2);
    using propagating = tally::pearson_correlation<double, tally::co_moments, tally::nan::propagate>;
    CHECK(std::isnan(of<propagating>(p, t).value()));
    CHECK(of<propagating>(p, t).dropped() == 0);
    CHECK(std::isnan(of<pearson>({1, infinity, 3}, {1, 2, 3}).value()));
}

TEST_CASE("pearson_correlation: a weight counts as repetition, weights of 1 change nothing") {
    CHECK(of<pearson>({1, 2, 4}, {2, 1, 3}, {2, 1, 3}).value() ==
          near(of<pearson>({1, 1, 2, 4, 4, 4}, {2, 2, 1, 3, 3, 3}).value(), 1e-14));
    CHECK(of<pearson>({1, 2, 4}, {2, 1, 3}, {1, 1, 1}).value() ==
          near(of<pearson>({1, 2, 4}, {2, 1, 3}).value(), 1e-15));
    CHECK(of<pearson>({1, 2, 4}, {2, 1, 3}, {0.5, 0.25, 0.75}).value() ==
          near(of<pearson>({1, 2, 4}, {2, 1, 3}, {2, 1, 3}).value(), 1e-14));
}

TEST_CASE("pearson_correlation: many samples, also of a mean far above the spread") {
    numbers p;
    numbers t;
    for (int i = 0; i < 5000; ++i) {
        p.push_back(1e8 + (i * 7919) % 1009);
        t.push_back(-1e8 + (i * 104729) % 997 + 0.5 * ((i * 7919) % 1009));
    }
    CHECK(of<pearson>(p, t).value() == near(reference(p, t).correlation(), 1e-10));
}

TEST_CASE("covariance: degrees of freedom and reasons") {
    numbers const p{1, 2, 3, 4};
    numbers const t{2, 1, 2, 3};
    CHECK(of<tally::covariance<double>>(p, t).value() == near(2.0 / 3.0, 1e-15));
    CHECK(of<tally::covariance<double, 0>>(p, t).value() == 0.5);
    CHECK(of<tally::covariance<double>>({1}, {1}).why() == tally::reason::too_few_samples);
    CHECK(of<tally::covariance<double, 0>>({1}, {1}).value() == 0.0);
    CHECK(of<tally::covariance<double>>({}, {}).why() == tally::reason::no_samples);
    CHECK(of<tally::covariance<double>>({0.1, 0.1, 0.1}, {1, 5, 7}).value() == 0.0);
    CHECK(of<tally::covariance<double>>({1, 2}, {3, 5}, {2, 2}).value() == near(2.0 / 3.0, 1e-15));
    CHECK(of<tally::covariance<double, 0>>({1, 2}, {3, 5}, {1, -1}).why() == tally::reason::zero_denominator);
}

TEST_CASE("concordance: moments of n (Lin) and of n - 1 (torchmetrics, concordance)") {
    numbers const t{3, -0.5, 2, 7};
    numbers const p{2.5, 0, 2, 8};
    CHECK(of<tally::concordance<double, 1>>(p, t).value() == near(0.9777347531, 1e-9));
    CHECK(of<tally::concordance<double>>(p, t).value() == near(0.9768, 1e-4));
    reference const r(p, t);
    auto const apart = r.mean_p - r.mean_t;
    CHECK(of<tally::concordance<double>>(p, t).value() ==
          near(static_cast<double>(2 * r.pt / (r.pp + r.tt + 4 * apart * apart)), 1e-14));
}

TEST_CASE("concordance: a constant shift costs, unlike in a correlation; reasons") {
    CHECK(of<tally::concordance<double>>({1, 2, 3}, {1, 2, 3}).value() == 1.0);
    CHECK(of<tally::concordance<double>>({2, 3, 4}, {1, 2, 3}).value() == near(4.0 / 7.0, 1e-15));
    CHECK(of<tally::concordance<double>>({2, 2}, {1, 3}).value() == 0.0);
    CHECK(of<tally::concordance<double>>({2, 2}, {2, 2}).why() == tally::reason::no_variance);
    CHECK(of<tally::concordance<double>>({}, {}).why() == tally::reason::no_samples);
    CHECK(of<tally::concordance<double, 1>>({1}, {1}).why() == tally::reason::too_few_samples);
    CHECK(of<tally::concordance<double>>({1, 2}, {1, 2}, {0, 0}).why() == tally::reason::zero_denominator);
}

TEST_CASE("covariance, pearson_correlation, concordance: of floats, from exact sums") {
    std::vector<float> p;
    std::vector<float> t;
    for (int i = 0; i < 3000; ++i) {
        p.push_back(1e6F + 0.25F * static_cast<float>((i * 7919) % 1009));
        t.push_back(-1e5F + static_cast<float>((i * 104729) % 997) + 0.5F * p.back());
    }
    auto const float_of = [&]<class M>(M const*) {
        return value_of<M>(tally::predictions(p), tally::targets(t)).value();
    };
    auto const n = static_cast<long double>(p.size());
    reference const r(numbers(p.begin(), p.end()), numbers(t.begin(), t.end()));
    CHECK(float_of(static_cast<tally::covariance<>*>(nullptr)) == static_cast<double>(r.pt / (n - 1)));
    CHECK(float_of(static_cast<tally::covariance<float, 0>*>(nullptr)) == static_cast<double>(r.pt / n));
    CHECK(float_of(static_cast<tally::pearson_correlation<>*>(nullptr)) == near(r.correlation(), 3e-16));
    auto const apart = r.mean_p - r.mean_t;
    CHECK(float_of(static_cast<tally::concordance<>*>(nullptr)) ==
          near(static_cast<double>(2 * r.pt / (r.pp + r.tt + n * apart * apart)), 5e-16));
    // The same in double, by name.
    CHECK(float_of(static_cast<tally::covariance<float, 1, tally::co_moments>*>(nullptr)) ==
          near(static_cast<double>(r.pt / (n - 1)), 1e-11));

    std::vector<float> const constant(700, 0.1F);
    std::vector<float> const ramp(t.begin(), t.begin() + 700);
    using exact_pearson = tally::pearson_correlation<>;
    CHECK(value_of<exact_pearson>(tally::predictions(constant), tally::targets(ramp)).why() ==
          tally::reason::no_variance);
    CHECK(value_of<tally::covariance<>>(tally::predictions(constant), tally::targets(ramp)).value() == 0.0);
    CHECK(value_of<exact_pearson>(tally::predictions(ramp), tally::targets(ramp)).value() == 1.0);
    CHECK(
        value_of<tally::covariance<>>(tally::predictions(std::vector<float>{1}), tally::targets(std::vector<float>{1}))
            .why() == tally::reason::too_few_samples);
}

TEST_CASE("correlation metrics: one shared state, also for half inputs and samples beyond 2^32") {
    using all = tally::collection<tally::named<"covariance", tally::covariance<>>,
                                  tally::named<"pearson", tally::pearson_correlation<>>,
                                  tally::named<"concordance", tally::concordance<>>>;
    static_assert(tally::detail::plan<all>::counters::size == 1);
    static_assert(sizeof(tally::state_of<tally::covariance<>>) == 712);
    static_assert(sizeof(tally::state_of<tally::covariance<double>>) == 64);
    static_assert(sizeof(tally::state_of<tally::weighted<tally::covariance<>>>) == 64);
    static_assert(sizeof(tally::state_of<tally::covariance<float, 1, tally::co_moments>>) == 64);

    std::vector<tally::bfloat16_bits> const p{tally::narrow_to<tally::bfloat16_bits>(1.0F),
                                              tally::narrow_to<tally::bfloat16_bits>(2.0F)};
    CHECK(value_of<tally::pearson_correlation<>>(tally::predictions(p), tally::targets(p)).value() == 1.0);

    tally::co_moments pairs;
    pairs.deposit(tally::paired(1.0, 2.0));
    pairs.deposit(tally::paired(3.0, 8.0));
    for (int doubling = 0; doubling < 40; ++doubling) {
        auto const copy = pairs;
        pairs.merge(copy);
    }
    tally::covariance<double>::counters::state const state{pairs, {}};
    auto const n = std::ldexp(1.0, 41);
    CHECK(state.pairs.deposits() == (std::uint64_t{1} << 41));
    CHECK(tally::covariance<double>::finalize(state).value() == 3.0 * n / (n - 1.0));
    CHECK(tally::pearson_correlation<double>::finalize(state).value() == 1.0);
}
