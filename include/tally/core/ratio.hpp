// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The quotient of two accumulators as a result: no epsilon, no silent zero.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/result.hpp>

#include <type_traits>

namespace tally {

namespace detail {

template <class X>
TALLY_HD constexpr double number_of(X const& x) {
    if constexpr (std::is_arithmetic_v<X>) {
        return static_cast<double>(x);
    } else {
        return static_cast<double>(x.value());
    }
}

} // namespace detail

/// Why a denominator is zero: nothing was counted, or what was counted sums to zero.
template <class Denominator>
TALLY_HD constexpr reason why_zero(Denominator const& denominator) {
    if constexpr (std::is_same_v<Denominator, count>) {
        return reason::no_samples;
    } else if constexpr (requires { denominator.empty(); }) {
        return denominator.empty() ? reason::no_samples : reason::zero_denominator;
    } else {
        return reason::zero_denominator;
    }
}

/// numerator / denominator in double. A count of zero below the line means reason::no_samples, another zero
/// reason::zero_denominator. A negative denominator is legal (weights may be negative).
template <class Numerator, class Denominator>
TALLY_HD constexpr result<double> ratio(Numerator const& numerator, Denominator const& denominator) {
    auto const below = detail::number_of(denominator);
    if (below == 0.0) {
        return why_zero(denominator);
    }
    return detail::number_of(numerator) / below;
}

} // namespace tally
