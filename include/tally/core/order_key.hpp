// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Order-preserving map from arithmetic types to unsigned 64-bit keys: a < b exactly if key(a) < key(b), with -0 < +0.
// All extremes of all types travel as such keys in one unsigned maximum; a minimum travels as the complement.
// NaN has no place in the order: the caller counts it, or takes reduction_key, where it wins.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>

#include <cstdint>
#include <type_traits>

namespace tally {

/// What fits a key: integers of at most 64 bits, float and double (long double does not).
template <class T>
concept orderable = std::is_arithmetic_v<T> && sizeof(T) <= sizeof(std::uint64_t);

template <orderable T>
TALLY_HD constexpr std::uint64_t order_key(T value) {
    constexpr auto sign = std::uint64_t{1} << 63;
    if constexpr (std::is_same_v<T, float>) {
        auto const bits = detail::bit_cast<std::uint32_t>(value);
        return (bits >> 31) != 0 ? std::uint32_t(~bits) : bits | 0x8000'0000U;
    } else if constexpr (std::is_same_v<T, double>) {
        auto const bits = detail::bit_cast<std::uint64_t>(value);
        return (bits & sign) != 0 ? ~bits : bits | sign;
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) ^ sign;
    } else {
        return static_cast<std::uint64_t>(value);
    }
}

/// The value whose key this is.
template <orderable T>
TALLY_HD constexpr T from_order_key(std::uint64_t key) {
    constexpr auto sign = std::uint64_t{1} << 63;
    if constexpr (std::is_same_v<T, float>) {
        auto const low = static_cast<std::uint32_t>(key);
        return detail::bit_cast<float>((low >> 31) != 0 ? low & 0x7fff'ffffU : ~low);
    } else if constexpr (std::is_same_v<T, double>) {
        return detail::bit_cast<double>((key & sign) != 0 ? key & ~sign : ~key);
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<T>(static_cast<std::int64_t>(key ^ sign));
    } else {
        return static_cast<T>(key);
    }
}

namespace detail {

/// Keys of which the highest is the smallest or the largest value, as one chooses. NaN has the highest key of all, so
/// one NaN makes the result NaN, whatever its sign bit is.
template <bool Largest, orderable T>
TALLY_HD constexpr std::uint64_t reduction_key(T x) {
    if (x != x) {
        return ~std::uint64_t{0};
    }
    return Largest ? order_key(x) : ~order_key(x);
}
template <bool Largest, orderable T>
TALLY_HD constexpr T from_reduction_key(std::uint64_t key) {
    if constexpr (std::is_floating_point_v<T>) {
        if (key == ~std::uint64_t{0}) {
            return static_cast<T>(not_a_number);
        }
    }
    return from_order_key<T>(Largest ? key : ~key);
}

} // namespace detail
} // namespace tally
