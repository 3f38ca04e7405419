// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The few things of <bit> and <limits> that accumulators need, callable on a device as well: nvcc lets device code call
// the standard library's constexpr functions only under a flag that a header can't ask for.
#pragma once

#include <tally/config.hpp>

#include <limits>

namespace tally::detail {

template <class To, class From>
TALLY_HD constexpr To bit_cast(From const& from) {
    static_assert(sizeof(To) == sizeof(From));
    return __builtin_bit_cast(To, from);
}

inline constexpr double not_a_number = __builtin_nan("");
inline constexpr double positive_infinity = __builtin_huge_val();
template <class T>
inline constexpr T highest_of = std::numeric_limits<T>::max();
template <class T>
inline constexpr T lowest_of = std::numeric_limits<T>::lowest();

} // namespace tally::detail
