// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Histogram and exact sums of floats by one addition each: an integer for each sign, exponent and top bits of the
// mantissa, of which the lower bits take the float's own bits and the upper ones count. What logarithmic bins tell apart,
// and what a sum needs to know of a float besides, is all in it. After Neal's large superaccumulator.
#pragma once

#include <tally/core/bits.hpp>
#include <tally/core/decomposed.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tally::detail {

/// The smallest and the largest magnitude of some finite floats, as their bits.
struct magnitude_range {
    std::uint32_t largest = 0;
    std::uint32_t smallest_less_one = 0x7fff'ffffU; ///< of those that are not zero

    void include(magnitude_range const& other) {
        largest = std::max(largest, other.largest);
        smallest_less_one = std::min(smallest_less_one, other.smallest_less_one);
    }
    [[nodiscard]] bool all_zero() const { return largest == 0; }
    /// All magnitudes are below 2^bound().
    [[nodiscard]] int bound() const { return static_cast<int>(std::max(largest >> 23, 1U)) - 126; }
    /// All numbers are multiples of 2^last_bit(). There must be one that is not zero.
    [[nodiscard]] int last_bit() const { return static_cast<int>(std::max((smallest_less_one + 1) >> 23, 1U)) - 150; }
};

/// Memory: 20 KB for SubBits 0, 68 KB for 2, 132 KB for 3, allocated when it is made. Empty between two gradients.
template <unsigned SubBits>
class gradient_table {
public:
    /// Floats between two calls of flush().
    static constexpr std::size_t capacity = 65535;

    gradient_table() : entries_(copies * stride) {}

    /// Before n finite floats of that range are added; no more than `capacity` since the last flush().
    void expect(float const* x, std::size_t n, magnitude_range const& range) {
        if (range.smallest_less_one < first_key) {
            count_tiny(x, n);
        }
        range_.include(range);
        taken_ += n;
    }
    [[gnu::always_inline]] void add(float const* x, std::size_t n) {
        auto* const entry = entries_.data();
        auto const rest = n - n % copies;
        for (std::size_t i = 0; i < rest; i += copies) { // equal neighbours don't wait for each other
            add_one(entry, x[i]);
            add_one(entry + stride, x[i + 1]);
            add_one(entry + 2 * stride, x[i + 2]);
            add_one(entry + 3 * stride, x[i + 3]);
        }
        for (std::size_t i = rest; i < n; ++i) {
            add_one(entry, x[i]);
        }
    }
    /// n of the zeros taken since the last flush() stand for something else, and don't count.
    void leave_out_zeros(std::uint64_t n) { left_out_ += n; }
    [[nodiscard]] bool full(std::size_t n) const { return taken_ + n > capacity; }

    /// Moves everything to the sums of the floats and of their magnitudes, and calls count(x, n) for each cell: n floats
    /// lie in the cell of x. Work: 4 * 2^SubBits words for each octave in the range of the magnitudes.
    template <class Sum, class F>
    void flush(Sum& values, Sum& magnitudes, F&& count) {
        if (taken_ == 0) {
            return;
        }
        flush_zeros(values, magnitudes, count);
        if (!range_.all_zero()) {
            auto const first = std::max((range_.smallest_less_one + 1) >> 23, 1U);
            for (auto exponent = first; exponent <= range_.largest >> 23; ++exponent) {
                auto const positive = take_octave(exponent, 0, count);
                auto const negative = take_octave(exponent, 1, count);
                add_octave(values, magnitudes, positive, negative, static_cast<int>(exponent) - 150);
            }
        }
        range_ = {};
        taken_ = 0;
    }

private:
    static constexpr std::size_t copies = 4;
    static constexpr unsigned shift = 23 - SubBits;
    static constexpr std::size_t cells = std::size_t{1} << (9 + SubBits); // sign, exponent, top bits
    /// From a copy to the next: not a multiple of 4 KB, on which processors take a load for one of what was just stored.
    static constexpr std::size_t stride = cells + 128;
    static constexpr std::uint32_t first_key = (1U << shift) - 1; // least magnitude of another cell than zero's
    // Of an entry, the low 48 bits are a sum of patterns of 32 bits, those above count them.
    static constexpr int count_shift = 48;
    static constexpr std::uint64_t one_more = std::uint64_t{1} << count_shift;

    [[gnu::always_inline]] static void add_one(std::uint64_t* entry, float x) {
        auto const bits = bit_cast<std::uint32_t>(x);
        entry[bits >> shift] += bits + one_more;
    }
    /// What a cell holds. It is empty afterwards.
    std::uint64_t take(std::size_t cell) {
        std::uint64_t sum = 0;
        for (std::size_t c = 0; c < copies; ++c) {
            sum += std::exchange(entries_[stride * c + cell], 0);
        }
        return sum;
    }
    /// The sum of the significands of an octave, which has the unit 2^(exponent - 150).
    template <class F>
    std::uint64_t take_octave(std::uint32_t exponent, std::uint32_t sign, F& count) {
        auto const octave = (sign << 8) | exponent;
        std::uint64_t significands = 0;
        for (std::uint32_t sub = 0; sub < 1U << SubBits; ++sub) {
            auto const cell = (octave << SubBits) | sub;
            if (auto const held = take(cell); held != 0) {
                auto const n = held >> count_shift;
                count(bit_cast<float>(cell << shift), n);
                significands += (held & (one_more - 1)) - n * (std::uint64_t{octave} << 23) + (n << 23);
            }
        }
        return significands;
    }
    /// The octave of zeros and subnormal numbers, whose first cell holds both.
    template <class Sum, class F>
    void flush_zeros(Sum& values, Sum& magnitudes, F& count) {
        std::uint64_t significands[2] = {};
        std::uint64_t zeros = 0 - std::exchange(left_out_, 0);
        for (std::uint32_t sign = 0; sign < 2; ++sign) {
            auto const tiny = std::exchange(tiny_[sign], 0);
            for (std::uint32_t sub = 0; sub < 1U << SubBits; ++sub) {
                auto const cell = (sign << (8 + SubBits)) | sub;
                auto const held = take(cell);
                auto n = held >> count_shift;
                significands[sign] += (held & (one_more - 1)) - n * (std::uint64_t{sign} << 31);
                if (sub == 0) {
                    zeros += n - tiny;
                    n = tiny;
                }
                if (n != 0) {
                    count(bit_cast<float>((cell << shift) | 1U), n);
                }
            }
        }
        count(0.0F, zeros);
        add_octave(values, magnitudes, significands[0], significands[1], -149);
    }
    template <class Sum>
    static void add_octave(Sum& values, Sum& magnitudes, std::uint64_t positive, std::uint64_t negative, int exponent) {
        constexpr int bits = 24 + 16;
        if ((positive | negative) != 0) {
            bool const below = positive < negative;
            values.template add<bits>(
                {below ? negative - positive : positive - negative, exponent, below, number_kind::finite});
            magnitudes.template add<bits>({positive + negative, exponent, false, number_kind::finite});
        }
    }
    void count_tiny(float const* x, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            auto const bits = bit_cast<std::uint32_t>(x[i]);
            auto const magnitude = bits & 0x7fff'ffffU;
            tiny_[bits >> 31] += magnitude != 0 && magnitude <= first_key ? 1U : 0U;
        }
    }

    std::vector<std::uint64_t> entries_;
    magnitude_range range_;
    std::uint64_t tiny_[2] = {}; ///< subnormal numbers in the cell of zero, by sign
    std::uint64_t left_out_ = 0;
    std::size_t taken_ = 0;
};

} // namespace tally::detail
