// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the policies nan::skip and nan::propagate do to a sample and to the number of dropped samples.
#pragma once

#include <tally/config.hpp>
#include <tally/metric/policies.hpp>

#include <concepts>
#include <cstdint>

namespace tally {

/// A policy for NaN: nan::skip or nan::propagate.
template <class P>
concept nan_policy = std::same_as<P, nan::skip> || std::same_as<P, nan::propagate>;

namespace detail {

template <class T>
TALLY_HD constexpr bool is_nan(T x) {
    if constexpr (std::floating_point<T>) {
        return x != x;
    } else {
        return false;
    }
}

/// Whether one of two numbers is NaN; on the host a single comparison.
template <class T>
TALLY_HD constexpr bool either_nan(T a, T b) {
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
    if constexpr (std::floating_point<T>) {
        return __builtin_isunordered(a, b);
    }
#endif
    return is_nan(a) || is_nan(b);
}

/// Whether a sample takes part.
template <nan_policy Nan>
TALLY_HD constexpr bool takes_part(bool has_nan) {
    return std::same_as<Nan, nan::propagate> || !has_nan;
}

/// How many of the samples with NaN were left out.
template <nan_policy Nan>
TALLY_HD constexpr std::uint64_t dropped_of(std::uint64_t nans) {
    return std::same_as<Nan, nan::skip> ? nans : 0;
}

} // namespace detail
} // namespace tally
