// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A wide integer as N digits of 32 bits, each in a 64-bit word, so that adding two of them is N independent additions:
// associative and commutative, whoever performs them (a thread, an atomic, an all-reduce). Carries wait until
// normalise(). Canonical form: all digits but the last in [0, 2^32), the last one signed; it is unique.
#pragma once

#include <tally/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::detail {

/// Carries, so that all digits but the last are in [0, 2^32). Takes digits of any size. Word: an integer of 64 bits without
/// a sign.
template <class Word>
TALLY_HD constexpr void normalise_digits(Word* digit, std::size_t count) {
    constexpr Word mask = 0xffff'ffffU;
    std::int64_t carry = 0;
    for (std::size_t i = 0; i + 1 < count; ++i) {
        // Digit and carry are taken apart before they are added: a digit may be anything up to the limits of 64 bits.
        Word const sum = (digit[i] & mask) + (static_cast<Word>(carry) & mask);
        carry = (static_cast<std::int64_t>(digit[i]) >> 32) + (carry >> 32) + static_cast<std::int64_t>(sum >> 32);
        digit[i] = sum & mask;
    }
    digit[count - 1] += static_cast<Word>(carry);
}

/// The sum of digit[i] * 2^(32 i), digits read as signed. Invariant: every digit lies in [-2^62, 2^62).
template <std::size_t N>
class digits {
    static_assert(N >= 2);

public:
    static constexpr std::size_t size = N;

    /// Adds +-significand * 2^shift. The significand has at most Bits bits, and shift < 32 (N - 1).
    template <int Bits>
    TALLY_HD constexpr void add(std::uint64_t significand, unsigned shift, bool negative) {
        static_assert(Bits <= 64);
        auto const low = shift >> 5;
        auto const within = shift & 31U;
        if constexpr (Bits <= 33) { // fits 64 bits after the shift: two digits
            auto const wide = significand << within;
            add_at(low, wide & digit_mask, negative);
            add_at(low + 1, wide >> 32, negative);
        } else {
            auto const first = (significand & digit_mask) << within;
            auto const second = (significand >> 32) << within;
            add_at(low, first & digit_mask, negative);
            auto const middle = (first >> 32) + (second & digit_mask);
            auto const last = second >> 32;
            bool const beyond = low + 2 >= N; // the last digit takes what is above it as well
            add_at(low + 1, middle + (beyond ? last << 32 : 0), negative);
            if (!beyond) {
                add_at(low + 2, last, negative);
            }
        }
    }
    TALLY_HD constexpr void add(digits const& other) {
        std::uint64_t crowded = 0;
        for (std::size_t i = 0; i < N; ++i) {
            digit_[i] += other.digit_[i];
            crowded |= digit_[i] + crowded_from;
        }
        if ((crowded >> 63) != 0) {
            normalise();
        }
    }
    /// Carries, so that the form is canonical. Takes digits of any size.
    TALLY_HD constexpr void normalise() { normalise_digits(digit_, N); }
    /// Changes the sign. Takes and leaves canonical form.
    TALLY_HD constexpr void negate() {
        for (auto& d : digit_) {
            d = std::uint64_t{0} - d;
        }
        normalise();
    }

    /// Names the digits, one by one or, to an archive that carries between them, together. They arrive as they are, so
    /// normalise() must be called before what must be canonical, and after reading a sum.
    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        if constexpr (requires { archive.digits(digit_); }) {
            archive.digits(digit_);
        } else {
            for (auto& d : digit_) {
                archive.sum(d);
            }
        }
    }

    [[nodiscard]] TALLY_HD constexpr std::uint64_t operator[](std::size_t i) const { return digit_[i]; }
    [[nodiscard]] TALLY_HD constexpr std::int64_t top() const { return static_cast<std::int64_t>(digit_[N - 1]); }
    /// Equal digits: the same number if both are canonical.
    [[nodiscard]] TALLY_HD constexpr bool operator==(digits const& other) const {
        std::uint64_t difference = 0;
        for (std::size_t i = 0; i < N; ++i) {
            difference |= digit_[i] ^ other.digit_[i];
        }
        return difference == 0;
    }

private:
    static constexpr std::uint64_t digit_mask = 0xffff'ffffU;
    static constexpr std::uint64_t crowded_from = std::uint64_t{1}
                                                  << 62; // added to a digit: bit 63 if it is out of range

    TALLY_HD constexpr void add_at(std::size_t i, std::uint64_t part, bool negative) {
        auto const sign = std::uint64_t{0} - static_cast<std::uint64_t>(negative);
        auto const term = (part ^ sign) - sign;
#if defined(__CUDA_ARCH__)
        if constexpr (N <= 20) { // an index known at compile time keeps the digits in registers
            std::uint64_t sum = 0;
#pragma unroll
            for (std::size_t k = 0; k < N; ++k) {
                digit_[k] += k == i ? term : 0;
                sum |= k == i ? digit_[k] : 0;
            }
            if (((sum + crowded_from) >> 63) != 0) {
                normalise();
            }
            return;
        }
#endif
        digit_[i] += term;
        if (((digit_[i] + crowded_from) >> 63) != 0) {
            normalise();
        }
    }

    std::uint64_t digit_[N] = {};
};

} // namespace tally::detail
