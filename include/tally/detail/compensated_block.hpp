// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Compensated addition, one by one and in vectors.
#pragma once

#include <tally/config.hpp>
#include <tally/detail/lanes.hpp>

#include <cstddef>
#include <cstring>

namespace tally::detail {

/// sum + compensation + x, of which the new sum is fl(sum + x). Without a branch on sizes.
template <class T>
TALLY_HD constexpr void add_compensated(T& sum, T& compensation, T x) {
    T const next = sum + x;
    T const of_x = next - sum; // the part of next that came from x, and what either lost
    T const lost_of_sum = sum - (next - of_x);
    T const lost_of_x = x - of_x;
    compensation += lost_of_sum + lost_of_x;
    sum = next;
}

template <class T>
struct compensated {
    T sum;
    T compensation;
};

#if defined(__AVX512F__)
inline namespace lanes_of_64_bytes {
#elif defined(__AVX2__)
inline namespace lanes_of_32_bytes {
#else
inline namespace lanes_of_16_bytes {
#endif

/// The same for vectors: what nvcc may not see in code for a device.
template <class Lanes>
inline void add_compensated_lanes(Lanes& sum, Lanes& compensation, Lanes const& x) {
    Lanes const next = sum + x;
    Lanes const of_x = next - sum;
    compensation += (sum - (next - of_x)) + (x - of_x);
    sum = next;
}

/// Sum of x[i] over i in [0, n). Order: fixed for a given n and instruction set.
template <class T, class X>
inline compensated<T> compensated_sum_of(X const* x, std::size_t n) {
    constexpr std::size_t width = lane_count<T>;
    lanes<T> sum[2] = {};
    lanes<T> rest[2] = {};
    std::size_t i = 0;
    for (; i + 2 * width <= n; i += 2 * width) {
        lanes<T> values;
        load_lanes<T>(x + i, values);
        add_compensated_lanes(sum[0], rest[0], values);
        load_lanes<T>(x + i + width, values);
        add_compensated_lanes(sum[1], rest[1], values);
    }
    T sums[2 * width];
    T rests[2 * width];
    std::memcpy(sums, sum, sizeof(sums));
    std::memcpy(rests, rest, sizeof(rests));
    compensated<T> total{};
    for (std::size_t k = 0; k < 2 * width; ++k) {
        add_compensated(total.sum, total.compensation, sums[k]);
        total.compensation += rests[k];
    }
    for (auto const* last = x + i; last != x + n; ++last) {
        add_compensated(total.sum, total.compensation, static_cast<T>(*last));
    }
    return total;
}

} // inline namespace
} // namespace tally::detail
