// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Logarithmic bins: the cell of a number is read off its bits (sign, exponent, top bits of the mantissa). No logarithm
// is computed and nothing is rounded, so every engine and every element type finds the same cell for the same value.
// Zero, numbers below and above the range of magnitudes, both infinities and NaN have cells of their own.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally {

/// Magnitudes in [2^MinExponent, 2^MaxExponent), 2^SubBits bins of equal width in each octave, for both signs. Exponents
/// are at most those of normal floats; then the tiny cells hold exactly the subnormal floats, and no float is large.
///
/// Cells, in the order of the numbers in them: 0 is -infinity (`below`), then bins 0 ... bins - 1 at cells 1 ... bins,
/// then +infinity (`above`), then NaN. Bin 0 is large and negative, the bin in the middle is `zero` alone, its
/// neighbours are tiny, the last bin is large and positive: nothing is lost. A positive bin holds [edge, next edge), a
/// negative one (edge, next edge]; bin `zero_bin` is [0, 0].
///
/// The middle of a regular bin, as `estimate` gives it, is within `relative_error` = 1 / (2^(SubBits + 1) + 1) of every
/// value in it: the guarantee of a DDSketch (Masson, Rim, Lee 2019) with that alpha, on a fixed range, which merges by
/// adding counts and never collapses. SubBits 0, 1, 2, 3, 4: 33 %, 20 %, 11 %, 5.9 %, 3.0 %.
template <unsigned SubBits, int MinExponent = -126, int MaxExponent = 128>
struct logarithmic_bins {
    static_assert(SubBits <= 7, "tally: logarithmic_bins takes at most 7 bits of the mantissa (128 bins an octave)");
    static_assert(-126 <= MinExponent && MinExponent < MaxExponent && MaxExponent <= 128,
                  "tally: the exponents of logarithmic_bins must be -126 <= MinExponent < MaxExponent <= 128");

    static constexpr unsigned sub_bits = SubBits;
    static constexpr int min_exponent = MinExponent;
    static constexpr int max_exponent = MaxExponent;
    static constexpr std::size_t bins_per_octave = std::size_t{1} << SubBits;
    /// Regular bins of one sign.
    static constexpr std::size_t magnitudes = static_cast<std::size_t>(MaxExponent - MinExponent) << SubBits;
    static constexpr std::size_t bins = 2 * magnitudes + 5;
    static constexpr std::size_t cells = bins + 3;
    static constexpr std::size_t below = 0;
    static constexpr std::size_t above = bins + 1;
    static constexpr std::size_t nan = bins + 2;
    static constexpr std::size_t zero_bin = magnitudes + 2;
    static constexpr std::size_t zero = zero_bin + 1; ///< the cell
    static constexpr double relative_error = 1.0 / static_cast<double>(2 * bins_per_octave + 1);

    /// Left edge of bin k, for k = bins the right edge of the last one. All edges are finite and ascend; the outermost
    /// are those of double.
    [[nodiscard]] TALLY_HD static constexpr double edge(std::size_t k) {
        if (k <= zero_bin) {
            return k == zero_bin ? 0.0 : -magnitude_edge(zero_bin - 1 - k);
        }
        return k == zero_bin + 1 ? 0.0 : magnitude_edge(k - zero_bin - 2);
    }

    /// The number that stands for all of bin k: the harmonic mean of the edges of a regular bin, half the edge of a tiny
    /// one, the finite edge of a large one.
    [[nodiscard]] TALLY_HD static constexpr double estimate(std::size_t k) {
        if (k == zero_bin) {
            return 0.0;
        }
        auto const distance = k < zero_bin ? zero_bin - k : k - zero_bin; // 1 tiny, ..., magnitudes + 2 large
        auto const low = distance == 1 ? 0.0 : magnitude_edge(distance - 2);
        auto const high = magnitude_edge(distance - 1);
        double size = low;
        if (distance == 1) {
            size = high / 2;
        } else if (distance <= magnitudes + 1) {
            size = 2.0 * (low / (low + high)) * high;
        }
        return k < zero_bin ? -size : size;
    }

    /// Cell of x: integer operations on its bits. Constant time.
    template <class T>
        requires std::is_arithmetic_v<T>
    [[nodiscard]] TALLY_HD static constexpr std::size_t index(T x) {
        if constexpr (std::is_same_v<T, float>) {
            return index_of_bits<std::uint32_t, 23, 127>(detail::bit_cast<std::uint32_t>(x));
        } else {
            static_assert(sizeof(T) < 8 || std::is_same_v<T, double>,
                          "tally: logarithmic_bins sort numbers that double holds without loss");
            return index_of_bits<std::uint64_t, 52, 1023>(detail::bit_cast<std::uint64_t>(static_cast<double>(x)));
        }
    }

private:
    /// 2^exponent, from its bits.
    TALLY_HD static constexpr double power_of_two(int exponent) {
        return detail::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
    }

    /// The k-th edge of the magnitudes: from 2^MinExponent for k = 0 on; after 2^MaxExponent the largest double.
    TALLY_HD static constexpr double magnitude_edge(std::size_t k) {
        if (k > magnitudes) {
            return 0x1.fffffffffffffp+1023;
        }
        auto const octave = static_cast<int>(k >> SubBits);
        auto const step = static_cast<double>(k & (bins_per_octave - 1)) / static_cast<double>(bins_per_octave);
        return power_of_two(MinExponent + octave) * (1.0 + step);
    }

    template <class Bits, int MantissaBits, int Bias>
    TALLY_HD static constexpr std::size_t index_of_bits(Bits bits) {
        constexpr int top = 8 * static_cast<int>(sizeof(Bits)) - 1;
        constexpr Bits infinity = ((Bits{1} << (top - MantissaBits)) - 1) << MantissaBits;
        constexpr auto first = static_cast<Bits>(MinExponent + Bias) << SubBits; // key of the first regular bin
        constexpr auto last = first + static_cast<Bits>(magnitudes) - 1;
        auto const magnitude = static_cast<Bits>(bits & ~(Bits{1} << top));
        auto const key = magnitude >> (MantissaBits - static_cast<int>(SubBits));
        // Distance from the cell of zero: 1 tiny, 2 ... magnitudes + 1 regular, then large, then infinite.
        auto const regular = key < first ? Bits{1} : key > last ? static_cast<Bits>(magnitudes + 2) : key - first + 2;
        auto const distance = magnitude == 0         ? Bits{0}
                              : magnitude < infinity ? regular
                                                     : static_cast<Bits>(magnitudes + 3);
        if (magnitude > infinity) {
            return nan;
        }
        return (bits >> top) != 0 ? zero - static_cast<std::size_t>(distance)
                                  : zero + static_cast<std::size_t>(distance);
    }
};

} // namespace tally
