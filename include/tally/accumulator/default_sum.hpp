// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The sum that metrics use unless told otherwise, and what a metric's sum becomes where samples have weights. One place
// to change either.
#pragma once

#include <tally/accumulator/exact_sum.hpp>
#include <tally/accumulator/probability_sum.hpp>
#include <tally/accumulator/sum.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/weighting.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tally {

namespace detail {

template <class T>
struct default_sum_for {
    using type = sum<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
};
template <>
struct default_sum_for<float> {
    using type = exact_sum<float>;
};
template <>
struct default_sum_for<double> {
    using type = sum<double>;
};

template <class Sum, class Weighting>
struct total_for {
    using type = Sum;
};
template <class T, class W>
struct total_for<exact_sum<T>, by_weight<W>> {
    using weighted = typename exact_sum<T>::weighted_type;
    using type = std::conditional_t<accepts_weighted<weighted, T, W>, weighted, sum<double>>;
};
template <class W>
struct total_for<probability_sum, by_weight<W>> {
    using type = probability_sum::weighted_type;
};

} // namespace detail

/// For contributions of type T. Floats: exact_sum<float>, the same bits for any split of the data. Doubles: sum<double>,
/// because the exact one takes 552 bytes. Integers are added in 64 bits, whatever their own width.
template <class T>
using default_sum = typename detail::default_sum_for<T>::type;

/// The sum of a metric's contributions, weighted or not: Sum itself, or, of exact_sum<float> weighted by floats,
/// exact_sum<product<float>>, which holds the products unrounded. Products with doubles have no exact sum:
/// sum<double>, which also takes the place of a probability_sum.
template <class Sum, class Weighting>
using total_of = typename detail::total_for<Sum, Weighting>::type;

} // namespace tally
