// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The reference for exact sums: a big integer in two's complement, bit by bit where that is the obvious way, with none of
// the library's code. Slow.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace tally::testing {

/// 32 * Words bits. Overflow is the caller's concern.
template <std::size_t Words>
class big_integer {
public:
    constexpr big_integer() = default;
    explicit big_integer(std::int64_t x) {
        for (std::size_t i = 0; i < Words; ++i) {
            words_[i] = static_cast<std::uint32_t>((i < 2 ? x >> (32 * i) : x >> 63) & 0xffff'ffff);
        }
    }
    big_integer& operator+=(big_integer const& other) {
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < Words; ++i) {
            carry += std::uint64_t{words_[i]} + other.words_[i];
            words_[i] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        return *this;
    }
    [[nodiscard]] big_integer operator-() const {
        big_integer result;
        for (std::size_t i = 0; i < Words; ++i) {
            result.words_[i] = ~words_[i];
        }
        return result += big_integer(1);
    }
    [[nodiscard]] big_integer operator<<(int shift) const {
        big_integer result;
        auto const whole = static_cast<std::size_t>(shift) / 32;
        auto const part = static_cast<unsigned>(shift) % 32U;
        for (std::size_t i = whole; i < Words; ++i) {
            std::uint64_t const upper = words_[i - whole];
            std::uint64_t const lower = i > whole ? words_[i - whole - 1] : 0;
            result.words_[i] = static_cast<std::uint32_t>(((upper << 32 | lower) << part) >> 32);
        }
        return result;
    }
    [[nodiscard]] bool negative() const { return (words_[Words - 1] >> 31) != 0; }
    [[nodiscard]] bool bit(int i) const {
        auto const position = static_cast<unsigned>(i);
        return ((words_[position / 32U] >> (position % 32U)) & 1U) != 0;
    }
    /// One more than the position of the highest set bit; 0 for zero. Of a number that isn't negative.
    [[nodiscard]] int length() const {
        int i = 32 * static_cast<int>(Words);
        while (i > 0 && !bit(i - 1)) {
            --i;
        }
        return i;
    }
    /// The low 64 bits of the number divided by 2^shift.
    [[nodiscard]] std::uint64_t bits_from(int shift) const {
        std::uint64_t result = 0;
        for (int i = 0; i < 64 && shift + i < 32 * static_cast<int>(Words); ++i) {
            result |= std::uint64_t{bit(shift + i)} << i;
        }
        return result;
    }
    [[nodiscard]] bool operator==(big_integer const&) const = default;

private:
    std::array<std::uint32_t, Words> words_{};
};

/// x as a multiple of 2^unit. x is finite and such a multiple.
template <std::size_t Words>
big_integer<Words> to_big(double x, int unit) {
    if (x == 0.0) {
        return {};
    }
    int exponent = 0;
    auto const fraction = std::frexp(x, &exponent); // x = fraction * 2^exponent
    auto significand = static_cast<std::int64_t>(std::ldexp(fraction, 53));
    exponent -= 53 + unit;
    for (; exponent < 0; ++exponent) {
        significand /= 2;
    }
    return big_integer<Words>(significand) << exponent;
}

/// The product of two floats as a multiple of 2^unit.
template <std::size_t Words>
big_integer<Words> to_big_product(float x, float w, int unit) {
    return to_big<Words>(static_cast<double>(x) * static_cast<double>(w),
                         unit); // 48 bits, far from the limits of double
}

/// n * 2^unit to the nearest T, ties to even.
template <class T, std::size_t Words>
T to_nearest(big_integer<Words> n, int unit) {
    bool const negative = n.negative();
    if (negative) {
        n = -n;
    }
    constexpr int precision = std::numeric_limits<T>::digits;
    constexpr int smallest = std::numeric_limits<T>::min_exponent - precision; // exponent of the smallest subnormal
    int cut = n.length() - precision;
    cut = cut < smallest - unit ? smallest - unit : cut;
    T result{};
    if (cut <= 0) {
        result = static_cast<T>(std::ldexp(static_cast<double>(n.bits_from(0)), unit));
    } else {
        auto kept = cut < 32 * static_cast<int>(Words) ? n.bits_from(cut) : 0;
        bool const half = cut - 1 < 32 * static_cast<int>(Words) && n.bit(cut - 1);
        bool more = false;
        for (int i = 0; i + 1 < cut && i < 32 * static_cast<int>(Words) && !more; ++i) {
            more = n.bit(i);
        }
        kept += half && (more || kept % 2 == 1) ? 1 : 0;
        auto const wide = std::ldexp(static_cast<double>(kept), cut + unit);
        constexpr auto largest = static_cast<double>(std::numeric_limits<T>::max());
        result = wide > largest ? std::numeric_limits<T>::infinity() : static_cast<T>(wide);
    }
    return negative ? -result : result;
}

} // namespace tally::testing
