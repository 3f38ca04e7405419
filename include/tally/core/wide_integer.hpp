// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Integers of a fixed number of words, in two's complement, and their quotients rounded once: what turns exact sums
// into a variance or a covariance without cancellation. For the end of an evaluation: a microsecond or two a result.
#pragma once

#include <tally/config.hpp>
#include <tally/core/digit_rounding.hpp>
#include <tally/core/digits.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::detail {

/// 32 * Words bits, arithmetic modulo 2^(32 Words): the caller leaves room.
template <std::size_t Words>
class wide_integer {
public:
    constexpr wide_integer() = default;
    TALLY_HD constexpr explicit wide_integer(std::uint64_t n) {
        word_[0] = static_cast<std::uint32_t>(n);
        word_[1] = static_cast<std::uint32_t>(n >> 32);
    }
    /// Takes canonical form.
    template <std::size_t N>
    TALLY_HD constexpr explicit wide_integer(digits<N> const& value) {
        static_assert(N < Words, "the last digit takes two words");
        for (std::size_t i = 0; i + 1 < N; ++i) {
            word_[i] = static_cast<std::uint32_t>(value[i]);
        }
        auto const top = static_cast<std::uint64_t>(value.top());
        word_[N - 1] = static_cast<std::uint32_t>(top);
        word_[N] = static_cast<std::uint32_t>(top >> 32);
        for (std::size_t i = N + 1; i < Words; ++i) {
            word_[i] = value.top() < 0 ? 0xffff'ffffU : 0U;
        }
    }

    TALLY_HD constexpr wide_integer& operator+=(wide_integer const& other) {
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < Words; ++i) {
            carry += std::uint64_t{word_[i]} + other.word_[i];
            word_[i] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        return *this;
    }
    TALLY_HD constexpr wide_integer& operator-=(wide_integer const& other) { return *this += -other; }
    [[nodiscard]] TALLY_HD constexpr wide_integer operator-() const {
        wide_integer result;
        std::uint64_t carry = 1;
        for (std::size_t i = 0; i < Words; ++i) {
            carry += static_cast<std::uint32_t>(~word_[i]);
            result.word_[i] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        return result;
    }
    [[nodiscard]] TALLY_HD constexpr wide_integer operator*(wide_integer const& other) const {
        auto const a = magnitude();
        auto const b = other.magnitude();
        wide_integer result;
        for (std::size_t i = 0; i < Words; ++i) {
            std::uint64_t carry = 0;
            for (std::size_t j = 0; a.word_[i] != 0 && i + j < Words; ++j) {
                carry += std::uint64_t{a.word_[i]} * b.word_[j] + result.word_[i + j]; // below 2^64
                result.word_[i + j] = static_cast<std::uint32_t>(carry);
                carry >>= 32;
            }
        }
        return negative() != other.negative() ? -result : result;
    }

    [[nodiscard]] TALLY_HD constexpr bool negative() const { return (word_[Words - 1] >> 31) != 0; }
    [[nodiscard]] TALLY_HD constexpr wide_integer magnitude() const { return negative() ? -*this : *this; }
    /// Words above the last one read as zero, and so do those below the first: of a number that isn't negative.
    [[nodiscard]] TALLY_HD constexpr std::uint32_t word(int i) const {
        return i >= 0 && i < static_cast<int>(Words) ? word_[i] : 0U;
    }

private:
    static_assert(Words >= 2);
    std::uint32_t word_[Words] = {};
};

/// 192 bits, the highest word first.
struct bits_192 {
    std::uint64_t word[3];
};

/// x / divisor, rounded down; whether there is a remainder.
TALLY_HD constexpr bool divide(bits_192& x, std::uint64_t divisor) {
    std::uint64_t rest = 0;
    for (auto& word : x.word) {
        for (int bit = 0; bit < 64; ++bit) {
            bool const beyond = (rest >> 63) != 0;
            rest = (rest << 1) | (word >> 63);
            word <<= 1;
            if (beyond || rest >= divisor) {
                rest -= divisor;
                word |= 1U;
            }
        }
    }
    return rest != 0;
}

/// x * 2^unit / (first * second), rounded to the nearest double, ties to even. Divisors are above 0; 0 gives +0.
template <std::size_t Words>
TALLY_HD constexpr double rounded_quotient(wide_integer<Words> const& x, int unit, std::uint64_t first = 1,
                                           std::uint64_t second = 1) {
    auto const size = x.magnitude();
    int top = static_cast<int>(Words) - 1;
    while (top >= 0 && size.word(top) == 0) {
        --top;
    }
    if (top < 0) {
        return 0.0;
    }
    // The leading 192 bits: floor((a + f) / d) = floor(a / d) for integers a, d and 0 <= f < 1, so of the bits below,
    // all that matters is whether they are zero. The quotient keeps more than 63 bits, as the divisors have at most
    // 128.
    auto const zeros = static_cast<unsigned>(__builtin_clz(size.word(top)));
    bits_192 leading{};
    for (int k = 0; k < 3; ++k) {
        auto const high = std::uint64_t{size.word(top - 2 * k)} << 32 | size.word(top - 2 * k - 1);
        auto const next = size.word(top - 2 * k - 2);
        leading.word[k] = zeros == 0 ? high : (high << zeros) | (next >> (32 - zeros));
    }
    bool more = static_cast<std::uint32_t>(std::uint64_t{size.word(top - 6)} << zeros) != 0;
    for (int i = top - 7; i >= 0; --i) {
        more = more || size.word(i) != 0;
    }
    more = (first != 1 && divide(leading, first)) || more;
    more = (second != 1 && divide(leading, second)) || more;

    int exponent = unit + 32 * top + 31 - static_cast<int>(zeros); // of the first bit
    int skipped = 0;
    while (leading.word[0] == 0) { // twice at most
        leading = {{leading.word[1], leading.word[2], 0}};
        skipped += 64;
    }
    auto const within = __builtin_clzll(leading.word[0]);
    exponent -= skipped + within;
    auto const below = leading.word[1];
    leading_bits const result{within == 0 ? leading.word[0] : (leading.word[0] << within) | (below >> (64 - within)),
                              exponent, more || (below << within) != 0 || leading.word[2] != 0};
    return round_to<double>(result, x.negative());
}

} // namespace tally::detail
