// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: sums and counts in the narrow type of the inputs, where 65,504 is the largest number.
#include <tally/metric/binary_log_loss.hpp>
#include <tally/metric/calibration_error.hpp>
#include <tally/metric/mean.hpp>

#include "support/engine.hpp"
#include "support/near.hpp"

#include <tally/core/inputs.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

using tally::testing::near;
constexpr std::size_t n = 65520;

TEST_CASE("half precision: the mean of 65,520 ones is 1") {
    std::vector<tally::half_bits> const ones(n, tally::half_bits{0x3c00});
    tally::testing::tracker<tally::mean<>> tracker;
    tracker.update(tally::values(ones));
    CHECK(tracker.finalize().value() == 1.0);
}

TEST_CASE("half precision: losses and confidences of 65,520 predictions add up") {
    std::vector<tally::half_bits> const halves(n, tally::half_bits{0x3800});
    std::vector<unsigned char> const ones(n, 1);
    tally::testing::tracker<tally::binary_log_loss<>> loss;
    loss.update(tally::predictions(halves), tally::targets(ones));
    CHECK(loss.finalize().value() == near(std::log(2.0), 1e-7));
    tally::testing::tracker<tally::binary_calibration_error<>> calibration;
    calibration.update(tally::predictions(halves), tally::targets(ones));
    CHECK(calibration.finalize().value() == 0.5);
}

} // namespace
