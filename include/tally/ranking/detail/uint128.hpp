// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Integers modulo 2^128, in two words: what sums over pairs of samples need. They add up to the same bits in any order,
// on the host and on a device. No compiler's own type, whose conversions to double differ between engines.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/core/digit_rounding.hpp>

#include <cstdint>

namespace tally::detail {

struct uint128 {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    TALLY_HD constexpr uint128& operator+=(uint128 other) {
        low += other.low;
        high += other.high + (low < other.low ? 1U : 0U);
        return *this;
    }
    TALLY_HD constexpr uint128& operator-=(uint128 other) {
        auto const borrow = low < other.low ? 1U : 0U;
        low -= other.low;
        high -= other.high + borrow;
        return *this;
    }
    [[nodiscard]] TALLY_HD friend constexpr uint128 operator+(uint128 a, uint128 b) { return a += b; }
    [[nodiscard]] TALLY_HD friend constexpr uint128 operator-(uint128 a, uint128 b) { return a -= b; }
    [[nodiscard]] TALLY_HD constexpr bool operator==(uint128 const& other) const {
        return low == other.low && high == other.high;
    }
    [[nodiscard]] TALLY_HD constexpr bool is_zero() const { return (low | high) == 0; }

    /// Times 2^by, cut off below 1 for a negative `by`.
    [[nodiscard]] TALLY_HD constexpr uint128 shifted(int by) const {
        if (by == 0) {
            return *this;
        }
        if (by <= -128 || by >= 128) {
            return {};
        }
        if (by > 0) {
            return by >= 64 ? uint128{0, low << (by - 64)} : uint128{low << by, (high << by) | (low >> (64 - by))};
        }
        auto const down = -by;
        return down >= 64 ? uint128{high >> (down - 64), 0}
                          : uint128{(low >> down) | (high << (64 - down)), high >> down};
    }

    /// value * 2^exponent, rounded once.
    [[nodiscard]] TALLY_HD constexpr double to_double(int exponent = 0) const {
        if (is_zero()) {
            return 0.0;
        }
        auto const zeros = high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll(low);
        auto const leading = shifted(zeros);
        return round_to<double>({leading.high, 127 - zeros + exponent, leading.low != 0}, false);
    }
    /// The same for numbers in two's complement.
    [[nodiscard]] TALLY_HD constexpr double signed_to_double() const {
        return (high >> 63) != 0 ? -(uint128{} - *this).to_double() : to_double();
    }

    /// x cut off to an integer; 0 <= x < 2^128.
    [[nodiscard]] TALLY_HD static constexpr uint128 from(double x) {
        auto const parts = decompose(x);
        return uint128{parts.significand, 0}.shifted(parts.exponent);
    }
    /// a * b, which always fits.
    [[nodiscard]] TALLY_HD static constexpr uint128 product(std::uint64_t a, std::uint64_t b) {
        constexpr std::uint64_t half = 0xffff'ffffU;
        auto const low = (a & half) * (b & half);
        auto const cross = (a >> 32) * (b & half) + (low >> 32);
        auto const other = (a & half) * (b >> 32) + (cross & half);
        return {(other << 32) | (low & half), (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32)};
    }
    /// a * b in two's complement.
    [[nodiscard]] TALLY_HD static constexpr uint128 signed_product(std::int64_t a, std::int64_t b) {
        auto const magnitude = [](std::int64_t x) {
            return x < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
        };
        auto const size = product(magnitude(a), magnitude(b));
        return (a < 0) != (b < 0) ? uint128{} - size : size;
    }
};

} // namespace tally::detail
