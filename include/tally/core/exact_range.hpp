// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Which numbers a type can hold, as a range of binary digits: what an exact sum of that type needs. And the product of
// two numbers as a type of its own, which is exact: it has twice the digits.
#pragma once

#include <tally/config.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/core/widen.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tally {

/// first * second, not rounded: what exact_sum<product<T>> sums. As a contribution it makes sums of squares and of
/// products exact: contribute(product{x, x}).
template <class T>
struct product {
    T first;
    T second;
};

/// Every finite T is an integer multiple of 2^lowest below 2^highest in size, with at most `precision` significant bits.
/// Specialise it, and widening<T>, for small floating-point types of your own (fp8):
///   template <> struct tally::exact_range<my_e5m2> { static constexpr int lowest = -16, highest = 16, precision = 3; };
template <class T>
struct exact_range {};

template <std::integral T>
struct exact_range<T> {
    static constexpr int lowest = 0;
    static constexpr int highest = std::numeric_limits<T>::digits + (std::is_signed_v<T> ? 1 : 0); // -2^digits exists
    static constexpr int precision = std::numeric_limits<T>::digits;
};
template <>
struct exact_range<float> {
    static constexpr int lowest = -149;
    static constexpr int highest = 128;
    static constexpr int precision = 24;
};
template <>
struct exact_range<double> {
    static constexpr int lowest = -1074;
    static constexpr int highest = 1024;
    static constexpr int precision = 53;
};
template <>
struct exact_range<half_bits> {
    static constexpr int lowest = -24;
    static constexpr int highest = 16;
    static constexpr int precision = 11;
};
template <>
struct exact_range<bfloat16_bits> {
    static constexpr int lowest = -133;
    static constexpr int highest = 128;
    static constexpr int precision = 8;
};
template <class T>
struct exact_range<product<T>> {
    static constexpr int lowest = 2 * exact_range<T>::lowest;
    static constexpr int highest = 2 * exact_range<T>::highest;
    static constexpr int precision = 2 * exact_range<T>::precision;
};

namespace detail {

/// Types with a range whose elements convert to double without rounding.
template <class T>
concept exact_number = element<T> && requires {
    requires exact_range<T>::precision <= 53;
    requires exact_range<T>::lowest >= -1074 && exact_range<T>::highest <= 1024;
};

template <class T>
inline constexpr bool is_product_v = false;
template <exact_number T>
inline constexpr bool is_product_v<product<T>> = exact_range<product<T>>::precision <= 53;

/// True if every X lies in the range of T.
template <class T, class X>
concept in_exact_range = exact_number<X> && exact_range<X>::lowest >= exact_range<T>::lowest &&
                         exact_range<X>::highest <= exact_range<T>::highest;

/// True if every product of an X and a W lies in the range of T.
template <class T, class X, class W>
concept product_in_exact_range =
    exact_number<X> && exact_number<W> && exact_range<X>::precision + exact_range<W>::precision <= 53 &&
    exact_range<X>::lowest + exact_range<W>::lowest >= exact_range<T>::lowest &&
    exact_range<X>::highest + exact_range<W>::highest <= exact_range<T>::highest;

} // namespace detail
} // namespace tally
