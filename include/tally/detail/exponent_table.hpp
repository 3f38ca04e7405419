// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of floats of any mixture of exponents: one integer for each sign and exponent, to which the bits of a float are
// added as they are. After Neal's large superaccumulator. 16 KiB, so it pays for long blocks only.
#pragma once

#include <tally/core/bits.hpp>
#include <tally/core/decomposed.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::detail {

class exponent_table {
public:
    static constexpr std::size_t capacity = std::size_t{1} << 17; ///< floats between two calls of flush()

    /// Takes n floats. NaN and infinities are left out.
    void deposit(float const* x, std::size_t n) {
        taken_ += (n + copies - 1) / copies * copies; // so that no copy takes more than its share of the capacity
        std::size_t i = 0;
        for (; i + copies <= n; i += copies) { // neighbours with equal exponents don't wait for each other
            add(entry_[0], x[i]);
            add(entry_[1], x[i + 1]);
            add(entry_[2], x[i + 2]);
            add(entry_[3], x[i + 3]);
        }
        for (std::size_t k = 0; i + k < n; ++k) {
            add(entry_[k], x[i + k]);
        }
    }
    /// True if n more would be too many.
    [[nodiscard]] bool full(std::size_t n) const { return taken_ + n + copies > capacity; }

    /// Moves everything to acc.
    template <class Acc>
    void flush(Acc& acc) {
        for (std::size_t k = 0; k < entries; ++k) {
            std::uint64_t count = 0;
            std::uint64_t patterns = 0;
            for (auto& copy : entry_) {
                count += copy[k] >> count_shift;
                patterns += copy[k] & (one_more - 1);
                copy[k] = 0;
            }
            auto const exponent = k & 0xffU;
            if (count == 0 || exponent == 0xffU) {
                continue;
            }
            bool const subnormal = exponent == 0;
            auto const significands = patterns - count * (k << 23) + (subnormal ? 0 : count << 23);
            acc.template add<24 + 17>({significands, static_cast<int>(exponent + (subnormal ? 1U : 0U)) - 150,
                                       k >= 0x100U, number_kind::finite});
        }
        taken_ = 0;
    }

private:
    // Of an entry, the low 48 bits are a sum of patterns of 32 bits, those above count them.
    static constexpr int count_shift = 48;
    static constexpr std::uint64_t one_more = std::uint64_t{1} << count_shift;
    static constexpr std::size_t entries = 512; // sign and exponent
    static constexpr std::size_t copies = 4;
    static_assert(capacity / copies < std::size_t{1} << (64 - count_shift));

    static void add(std::uint64_t (&entry)[entries], float x) {
        auto const bits = bit_cast<std::uint32_t>(x);
        entry[bits >> 23] += bits + one_more;
    }

    std::uint64_t entry_[copies][entries] = {};
    std::size_t taken_ = 0;
};

} // namespace tally::detail
