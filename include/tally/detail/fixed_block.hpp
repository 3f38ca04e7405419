// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Rounding to multiples of a power of two: one number by integers, blocks on the host by the addition of a constant whose
// last bit is the unit.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/detail/float_environment.hpp>
#include <tally/detail/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tally::detail {

struct multiple {
    std::int64_t units; ///< below 2^62 in size
    bool fits;          ///< false for what is not finite or too large; then there are 0 units
};

/// x / 2^lsb to the nearest integer, ties to even.
TALLY_HD constexpr multiple round_to_multiple(decomposed const& x, int lsb) {
    constexpr auto limit = std::uint64_t{1} << 62;
    int const shift = x.exponent - lsb;
    std::uint64_t magnitude = 0;
    bool fits = x.kind == number_kind::finite;
    if (!fits || x.significand == 0 || shift < -64) {
        magnitude = 0;
    } else if (shift >= 0) {
        bool const small = shift < 62 && x.significand < limit >> shift;
        magnitude = small ? x.significand << shift : limit;
    } else if (shift == -64) {
        magnitude = x.significand > std::uint64_t{1} << 63 ? 1 : 0; // exactly a half goes to 0
    } else {
        constexpr auto half = std::uint64_t{1} << 63;
        magnitude = x.significand >> -shift;
        auto const rest = x.significand << (64 + shift);
        auto const odd = magnitude & 1U; // no branches: rounding up or down is a coin toss
        magnitude += static_cast<std::uint64_t>(rest > half) | (static_cast<std::uint64_t>(rest == half) & odd);
    }
    if (magnitude >= limit) {
        magnitude = 0;
        fits = false;
    }
    auto const units = static_cast<std::int64_t>(magnitude);
    auto const sign = -static_cast<std::int64_t>(x.negative);
    return {(units ^ sign) - sign, fits};
}

#if defined(__AVX512F__)
inline namespace lanes_of_64_bytes {
#elif defined(__AVX2__)
inline namespace lanes_of_32_bytes {
#else
inline namespace lanes_of_16_bytes {
#endif

/// Adds n numbers, a multiple of lane_count<double>, as multiples of 1 / scale. False if one is beyond 2^51 of them or not
/// finite: then the sum is of no use.
template <class X>
inline bool sum_multiples(X const* x, std::size_t n, double scale, std::int64_t& sum) {
    // The last bit of the constant is 1, and adding what lies in [-2^51, 2^51) doesn't change its exponent: the difference
    // of the bits is that number rounded. With anything else the difference is outside.
    constexpr double constant = 0x1.8p52;
    constexpr std::int64_t half_range = std::int64_t{1} << 51;
    lanes<std::int64_t> total{};
    lanes<std::int64_t> seen{};
    for (std::size_t i = 0; i < n; i += lane_count<double>) {
        lanes<double> v;
        load_lanes<double>(x + i, v);
        v *= scale;
        v += constant;
        lanes<std::int64_t> bits;
        std::memcpy(&bits, &v, sizeof(bits));
        bits -= bit_cast<std::int64_t>(constant);
        total += bits;
        seen |= bits + half_range;
    }
    std::int64_t totals[lane_count<double>];
    std::int64_t all_seen[lane_count<double>];
    std::memcpy(totals, &total, sizeof(total));
    std::memcpy(all_seen, &seen, sizeof(seen));
    std::uint64_t wrapping = 0;
    std::int64_t outside = 0;
    for (std::size_t k = 0; k < lane_count<double>; ++k) {
        wrapping += static_cast<std::uint64_t>(totals[k]);
        outside |= all_seen[k] >> 52;
    }
    sum = static_cast<std::int64_t>(wrapping);
    return outside == 0;
}

template <int Lsb, class Acc, class X>
inline void deposit_multiples(Acc& acc, X const* x, std::size_t n) {
    constexpr std::size_t tile = 1024; // 2^10 numbers below 2^51: the sum is below 2^62
    std::size_t i = 0;
    if constexpr (std::is_same_v<X, float> || std::is_same_v<X, double>) {
        constexpr auto scale = bit_cast<double>(static_cast<std::uint64_t>(1023 - Lsb) << 52);
        float_environment const environment; // rounds to nearest, whatever the caller's mode
        auto const vectors = n / lane_count<double> * lane_count<double>;
        while (i < vectors) {
            auto const size = vectors - i < tile ? vectors - i : tile;
            std::int64_t sum[1];
            bool const small = sum_multiples(opaque(x + i), size, scale, sum[0]);
            static_cast<void>(environment.exact(sum)); // computed before the environment ends
            if (small) {
                acc.add_units(sum[0]);
            } else {
                for (std::size_t k = i; k < i + size; ++k) {
                    acc.deposit(x[k]);
                }
            }
            i += size;
        }
    }
    for (; i < n; ++i) {
        acc.deposit(x[i]);
    }
}

} // inline namespace
} // namespace tally::detail
