// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The exact sum of the squares of a block of floats, by arithmetic in double that does not round: an upper part is added
// to a constant so large that its last bit stays where it is, what is left of each square is added up beside it. Works
// for numbers of some 18 octaves at once; a block of more is taken band by band.
#pragma once

#include <tally/core/bits.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/detail/exact_block.hpp>
#include <tally/detail/float_environment.hpp>
#include <tally/detail/lanes.hpp>
#include <tally/monitor/detail/gradient_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tally::detail {

// Functions with vectors differ by instruction set: see lanes.hpp.
#if defined(__AVX512F__)
inline namespace lanes_of_64_bytes {
#elif defined(__AVX2__)
inline namespace lanes_of_32_bytes {
#else
inline namespace lanes_of_16_bytes {
#endif

inline constexpr int squares_block_bits = 10;
inline constexpr std::size_t squares_block = std::size_t{1} << squares_block_bits; ///< floats at once, at most

/// Bits between the last one of the numbers and the bound of their magnitudes, at most. Upper parts are multiples of
/// 2^(2 bound + 11 - 52), so lower parts are at most 2^(2 bound - 42) and 1,024 of them below 2^(2 bound - 31): 53 bits
/// hold their sum in any order, if it is a multiple of 2^(2 bound - 84).
inline constexpr int squares_span = 42;

/// Adds the squares of numbers that are below 2^bound and multiples of 2^(bound - squares_span). Calls beside(i, k) for
/// each run of k numbers, as it comes to them: for work of another kind, which the processor does at the same time.
template <class Acc, class F>
inline void add_squares(Acc& acc, float const* x, std::size_t n, int bound, F&& beside) {
    auto const exponent = 2 * bound + squares_block_bits + 1;
    auto const constant = bit_cast<double>((static_cast<std::uint64_t>(exponent + 1023) << 52) | 0x8'0000'0000'0000U);
    exact_lanes const start = exact_lanes{} + constant; // the sum stays between 2^exponent and twice that
    exact_lanes upper[4] = {start, start, start, start};
    exact_lanes lower[4] = {};
    constexpr std::size_t run = 4 * exact_width;
    auto const take = [&](float const* four) __attribute__((always_inline)) {
        for (std::size_t k = 0; k < 4; ++k) {
            exact_lanes square;
            load_lanes<double>(four + k * exact_width, square);
            square *= square;
            exact_lanes next = upper[k] + square;
            forget_origin(next);
            exact_lanes added = next - upper[k];
            forget_origin(added);
            lower[k] += square - added;
            upper[k] = next;
        }
    };
    std::size_t i = 0;
    for (; i + run <= n; i += run) {
        beside(i, run);
        take(x + i);
    }
    if (i < n) {
        beside(i, n - i);
        float rest[run] = {};
        std::memcpy(rest, x + i, (n - i) * sizeof(float));
        take(rest);
    }
    exact_lanes const uppers = ((upper[0] - start) + (upper[1] - start)) + ((upper[2] - start) + (upper[3] - start));
    exact_lanes const lowers = (lower[0] + lower[1]) + (lower[2] + lower[3]);
    acc.template add<53>(decompose(add_lanes<double>(uppers)));
    acc.template add<53>(decompose(add_lanes<double>(lowers)));
}

/// Adds the squares of n finite numbers of that range, n at most squares_block. The thread must round to nearest and keep
/// subnormal numbers, as in a float_environment. beside: as above.
template <class Acc, class F>
inline void deposit_squares(Acc& acc, float const* x, std::size_t n, magnitude_range range, F&& beside) {
    if (range.all_zero()) {
        beside(0, n);
        return;
    }
    if (range.bound() - range.last_bit() <= squares_span) {
        add_squares(acc, x, n, range.bound(), beside);
        return;
    }
    beside(0, n);
    alignas(exact_lanes) float band[squares_block];
    auto above = range.largest + 1;
    while (!range.all_zero()) {
        bool const last = range.bound() - range.last_bit() <= squares_span;
        auto const from = last ? 1U : static_cast<std::uint32_t>(range.bound() - (squares_span - 24) + 127) << 23;
        std::uint32_t rest = 0;
        for (std::size_t i = 0; i < n; ++i) {
            auto const magnitude = bit_cast<std::uint32_t>(x[i]) & 0x7fff'ffffU;
            band[i] = bit_cast<float>(from <= magnitude && magnitude < above ? magnitude : 0U);
            rest = std::max(rest, magnitude < from ? magnitude : 0U);
        }
        add_squares(acc, band, n, range.bound(), [](std::size_t, std::size_t) {});
        above = from;
        range.largest = rest;
    }
}

} // inline namespace
} // namespace tally::detail
