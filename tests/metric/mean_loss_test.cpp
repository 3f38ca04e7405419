// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What all means of losses have in common; each loss has its own file.
#include "support/engine.hpp"
#include "support/value_of.hpp"

#include <tally/core/half_bits.hpp>
#include <tally/metric/mean_loss.hpp>
#include <tally/metric/squared_error.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using tally::testing::value_of;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A user's own loss: prediction / target, not defined for targets of zero.
struct quotient {
    TALLY_HD static double of(double prediction, double target) { return prediction / target; }
    TALLY_HD static bool defined(double, double target) { return target != 0.0; }
};

using squared = tally::mean_squared_error<double>;

} // namespace

TEST_CASE("mean_loss: a loss of the user, with samples for which it is not defined") {
    std::vector<double> const p{2.0, 3.0, 1.0, nan_value};
    std::vector<double> const t{1.0, 0.0, 2.0, 0.0};
    using metric = tally::mean_loss<quotient, double>;
    tally::testing::tracker<metric> tracker;
    tracker.update(tally::predictions(p), tally::targets(t));
    auto const result = tracker.finalize().get();
    CHECK(result.value() == 1.25);
    CHECK(result.dropped() == 2); // a sample is left out once, for NaN before all else
    CHECK(tracker.finalize().state<metric>().nans.value() == 1);
    CHECK(tracker.finalize().state<metric>().undefined.value() == 1);

    using propagating = tally::mean_loss<quotient, double, tally::default_sum<double>, tally::nan::propagate>;
    CHECK(value_of<propagating>(tally::predictions(p), tally::targets(t)).value() == 1.25); // its target is 0
    CHECK(value_of<propagating>(tally::predictions(p), tally::targets(t)).dropped() == 2);
    std::vector<double> const positive{1.0, 1.0, 2.0, 1.0};
    CHECK(std::isnan(value_of<propagating>(tally::predictions(p), tally::targets(positive)).value()));
    CHECK(value_of<propagating>(tally::predictions(p), tally::targets(positive)).dropped() == 0);
}

TEST_CASE("mean_loss: NaN on either side leaves the sample out together with its weight") {
    std::vector<double> const p{1.0, nan_value, 3.0, 4.0};
    std::vector<double> const t{0.0, 0.0, nan_value, 2.0};
    auto const plain = value_of<squared>(tally::predictions(p), tally::targets(t));
    CHECK(plain.value() == 2.5);
    CHECK(plain.dropped() == 2);
    using weighted = tally::weighted<squared, double>;
    std::vector<double> const w{3.0, 100.0, 100.0, 1.0};
    auto const by_weight = value_of<weighted>(tally::predictions(p), tally::targets(t), tally::weights(w));
    CHECK(by_weight.value() == 7.0 / 4.0);
    CHECK(by_weight.dropped() == 2); // samples, not weight
}

TEST_CASE("mean_loss: no data, one sample, weights that sum to zero or less") {
    std::vector<double> const none;
    std::vector<double> const one{3.0};
    std::vector<double> const zero{0.0};
    CHECK(value_of<squared>(tally::predictions(none), tally::targets(none)).why() == tally::reason::no_samples);
    CHECK(value_of<squared>(tally::predictions(one), tally::targets(zero)).value() == 9.0);
    using weighted = tally::weighted<squared, double>;
    std::vector<double> const p{1.0, 2.0};
    std::vector<double> const t{0.0, 0.0};
    auto const by = [&](double first, double second) {
        return value_of<weighted>(tally::predictions(p), tally::targets(t),
                                  tally::weights(std::vector<double>{first, second}));
    };
    CHECK(by(1.0, -1.0).why() == tally::reason::zero_denominator);
    CHECK(by(-1.0, -3.0).value() == 13.0 / 4.0);
    CHECK(by(1.0, 1.0).value() == value_of<squared>(tally::predictions(p), tally::targets(t)).value());
}

TEST_CASE("mean_loss: infinities follow IEEE 754") {
    std::vector<double> const p{infinity, 1.0};
    CHECK(value_of<squared>(tally::predictions(p), tally::targets(std::vector<double>{0.0, 0.0})).value() == infinity);
    auto const cancelled = value_of<squared>(tally::predictions(p), tally::targets(p));
    CHECK(std::isnan(cancelled.value())); // inf - inf: neither input is NaN, so nothing is dropped
    CHECK(cancelled.dropped() == 0);
}

TEST_CASE("mean_loss: matrices, with a weight and a mask for each row") {
    std::vector<double> const p{1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
    std::vector<double> const t(6, 0.0);
    auto const both = [&](auto const&... more) {
        return tally::testing::value_of<squared>(tally::predictions(p.data(), 3, 2), tally::targets(t.data(), 3, 2),
                                                 more...);
    };
    CHECK(both().value() == 91.0 / 6.0);
    CHECK(both(tally::mask(std::vector<std::uint8_t>{1, 0, 1})).value() == (1.0 + 4.0 + 25.0 + 36.0) / 4.0);
    std::vector<double> const per_row{1.0, 0.0, 2.0};
    CHECK(value_of<tally::weighted<squared, double>>(tally::predictions(p.data(), 3, 2), tally::targets(t.data(), 3, 2),
                                                     tally::weights(per_row))
              .value() == (5.0 + 2.0 * 61.0) / 6.0);
    std::vector<double> const targets_of_rows{1.0, 3.0, 5.0};
    CHECK(value_of<squared>(tally::predictions(p.data(), 3, 2), tally::targets(targets_of_rows)).value() == 0.5);
}

TEST_CASE("mean_loss: padding that is masked counts nowhere") {
    // Values 0 ... 8 on two replicas of five samples each; the tenth is padding.
    std::vector<double> const p{0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.0};
    std::vector<double> const t(10, 0.0);
    std::vector<std::uint8_t> const valid{1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
    auto const update = [&](auto& tracker, int rank) {
        auto const first = 5 * static_cast<std::size_t>(rank);
        tracker.update(tally::predictions(p.data() + first, 5), tally::targets(t.data() + first, 5),
                       tally::mask(valid.data() + first, 5));
    };
    for (auto const& each : tally::testing::values_of_replicas<squared>(2, update)) {
        CHECK(each.value() == 204.0 / 9.0);
    }
}

TEST_CASE("mean_loss: counts near 2^24 and 2^32 don't stall") {
    for (std::uint64_t const n : {std::uint64_t{1} << 24, std::uint64_t{1} << 32, (std::uint64_t{1} << 53) - 2}) {
        tally::mean_squared_error<double, tally::sum<double>>::state state{
            tally::sum<double>{static_cast<double>(n)}, tally::count{n}, {}, {}};
        state.samples.deposit(tally::one);
        state.total.deposit(1.0);
        CHECK(state.samples.value() == n + 1);
        CHECK(tally::mean_squared_error<double, tally::sum<double>>::finalize(state).value() == 1.0);
    }
}

TEST_CASE("mean_loss: half and integer inputs are widened") {
    std::vector<tally::half_bits> const p{tally::narrow_to<tally::half_bits>(300.0F)}; // 300^2 is beyond binary16
    std::vector<tally::bfloat16_bits> const t{tally::narrow_to<tally::bfloat16_bits>(0.0F)};
    CHECK(value_of<tally::mean_squared_error<>>(tally::predictions(p), tally::targets(t)).value() == 90000.0);
    std::vector<std::int16_t> const integers{-3, 4};
    CHECK(value_of<tally::mean_squared_error<>>(tally::predictions(integers),
                                                tally::targets(std::vector<std::uint8_t>{0, 0}))
              .value() == 12.5);
}
