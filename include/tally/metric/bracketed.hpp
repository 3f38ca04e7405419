// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// bracketed: a value computed from bins, and two bounds between which the value without bins lies for certain.
// It is a result<double>, so it can be used, logged and compared like any other.
#pragma once

#include <tally/config.hpp>
#include <tally/core/result.hpp>

#include <cstdint>
#include <limits>

namespace tally {

/// Trivially copyable. Where there is no value, the bounds are NaN.
class bracketed : public result<double> {
public:
    TALLY_HD constexpr bracketed(double value, double lower, double upper)
        : result<double>{value}, lower_{lower}, upper_{upper} {}
    TALLY_HD constexpr bracketed(tally::reason why) : result<double>{why} {} // NOLINT(google-explicit-constructor)

    [[nodiscard]] TALLY_HD constexpr double lower() const { return lower_; }
    [[nodiscard]] TALLY_HD constexpr double upper() const { return upper_; }
    [[nodiscard]] TALLY_HD constexpr bracketed with_dropped(std::uint64_t dropped) const {
        bracketed copy = *this;
        static_cast<result<double>&>(copy) = result<double>::with_dropped(dropped);
        return copy;
    }

private:
    double lower_ = std::numeric_limits<double>::quiet_NaN();
    double upper_ = std::numeric_limits<double>::quiet_NaN();
};

} // namespace tally
