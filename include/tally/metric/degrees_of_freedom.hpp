// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// When a sum of squares or products over its degrees of freedom exists: the last step of variance and covariance.
#pragma once

#include <tally/config.hpp>
#include <tally/core/result.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::detail {

/// Why there is no quotient by weight - ddof: no deposits, weights that sum to zero, or a total weight of ddof or less.
/// With ddof = 0 a negative total weight is legal, as it is in a mean.
template <class Moments>
TALLY_HD constexpr reason why_no_freedom(Moments const& m, std::size_t ddof) {
    if (m.deposits() == 0) {
        return reason::no_samples;
    }
    auto const freedom = m.weight() - static_cast<double>(ddof);
    if (ddof == 0 && freedom == 0.0) {
        return reason::zero_denominator;
    }
    return ddof != 0 && freedom <= 0.0 ? reason::too_few_samples : reason::none;
}

} // namespace tally::detail
