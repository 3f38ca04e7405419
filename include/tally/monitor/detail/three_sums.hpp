// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of x, |x| and x^2 in double by one pass on the host: each element is widened once for all three.
#pragma once

#include <tally/core/bits.hpp>
#include <tally/detail/lanes.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::detail {

struct three_sums {
    double values;
    double magnitudes;
    double squares;
};

// Functions with vectors differ by instruction set: see lanes.hpp.
#if defined(__AVX512F__)
inline namespace lanes_of_64_bytes {
#elif defined(__AVX2__)
inline namespace lanes_of_32_bytes {
#else
inline namespace lanes_of_16_bytes {
#endif

/// Order of additions: fixed for a given n and instruction set.
inline three_sums three_sums_of(float const* x, std::size_t n) {
    using integers = lanes<std::int64_t>;
    constexpr std::size_t width = lane_count<double>;
    constexpr std::size_t chains = 4; // additions in flight: hides their latency
    constexpr std::int64_t magnitude = 0x7fff'ffff'ffff'ffff;
    lanes<double> values[chains] = {};
    lanes<double> magnitudes[chains] = {};
    lanes<double> squares[chains] = {};
    std::size_t i = 0;
    for (; i + chains * width <= n; i += chains * width) {
        for (std::size_t k = 0; k < chains; ++k) {
            lanes<double> d;
            load_lanes<double>(x + i + k * width, d);
            values[k] += d;
            magnitudes[k] += reinterpret_cast<lanes<double>>(reinterpret_cast<integers>(d) & magnitude);
            squares[k] += d * d;
        }
    }
    for (std::size_t k = 1; k < chains; ++k) {
        values[0] += values[k];
        magnitudes[0] += magnitudes[k];
        squares[0] += squares[k];
    }
    three_sums total{add_lanes<double>(values[0]), add_lanes<double>(magnitudes[0]), add_lanes<double>(squares[0])};
    for (; i < n; ++i) {
        auto const d = static_cast<double>(x[i]);
        total.values += d;
        total.magnitudes += d < 0 ? -d : d;
        total.squares += d * d;
    }
    return total;
}

} // inline namespace
} // namespace tally::detail
