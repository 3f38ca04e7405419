// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A sum of squares or products over its degrees of freedom: the last step of variance and covariance.
#pragma once

#include <tally/config.hpp>
#include <tally/core/result.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::detail {

/// squares / (weight - ddof) with the reasons why there may be none: no deposits, weights that sum to zero, and a total
/// weight of ddof or less. With ddof = 0 a negative total weight is legal, as it is in a mean.
TALLY_HD constexpr result<double> per_degree_of_freedom(double squares, double weight, std::uint64_t deposits,
                                                        std::size_t ddof) {
    if (deposits == 0) {
        return reason::no_samples;
    }
    auto const freedom = weight - static_cast<double>(ddof);
    if (ddof == 0 && freedom == 0.0) {
        return reason::zero_denominator;
    }
    if (ddof != 0 && freedom <= 0.0) {
        return reason::too_few_samples;
    }
    return squares / freedom;
}

} // namespace tally::detail
