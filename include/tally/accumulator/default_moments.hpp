// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The moments that metrics use unless told otherwise, and what they become where samples have weights. One place to
// change either.
#pragma once

#include <tally/accumulator/co_moments.hpp>
#include <tally/accumulator/exact_co_moments.hpp>
#include <tally/accumulator/exact_moments.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/core/weighting.hpp>

#include <type_traits>

namespace tally {

/// For values of type T. Floats, to which half and bfloat16 are widened: exact_moments<float>, the same bits for any
/// split of the data. Others: moments, because squares of doubles do not fit a double.
template <class T>
using default_moments = std::conditional_t<std::is_same_v<T, float>, exact_moments<float>, moments>;

/// For pairs of values of type T: exact_co_moments<float>, or co_moments.
template <class T>
using default_co_moments = std::conditional_t<std::is_same_v<T, float>, exact_co_moments<float>, co_moments>;

namespace detail {

template <class Moments, class Weighting>
struct moments_for {
    using type = Moments;
};
template <class Moments, class T>
    requires requires { typename Moments::weighted_type; }
struct moments_for<Moments, by_weight<T>> {
    using type = typename Moments::weighted_type;
};

} // namespace detail

/// The moments of a metric's samples, weighted or not: Moments itself or, of exact ones with weights, those in double.
template <class Moments, class Weighting>
using moments_of = typename detail::moments_for<Moments, Weighting>::type;

} // namespace tally
