// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Block reductions over arrays in several independent lanes, by the vector types of GCC and Clang: one source, whatever
// instruction set the translation unit is compiled for. Used by the block deposits of accumulators on the host.
#pragma once

#include <tally/config.hpp>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace tally::detail {

// Bytes of a vector register: compilers lower wider vectors badly. The namespace keeps the functions of translation units
// that are compiled for different instruction sets apart: they have different bodies, so they must have different names.
#if defined(__AVX512F__)
inline namespace lanes_of_64_bytes {
inline constexpr std::size_t register_bytes = 64;
#elif defined(__AVX2__)
inline namespace lanes_of_32_bytes {
inline constexpr std::size_t register_bytes = 32;
#else
inline namespace lanes_of_16_bytes {
inline constexpr std::size_t register_bytes = 16;
#endif

template <class T>
using lanes __attribute__((vector_size(register_bytes))) = T;

template <class T>
inline constexpr std::size_t lane_count = register_bytes / sizeof(T);

template <class T>
using storage_of = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

/// lane_count<T> elements of X from memory, converted to T. (Vectors go by reference: passing them by value would depend
/// on the instruction set.)
template <class T, class X, class Lanes> // Lanes: lanes<T>, which nvcc can't deduce
inline void load_lanes(X const* from, Lanes& to) {
    if constexpr (std::is_same_v<T, X>) {
        std::memcpy(&to, from, sizeof(to));
    } else {
        using element = storage_of<X>;
        using narrow __attribute__((vector_size(lane_count<T> * sizeof(element)))) = element;
        narrow block;
        std::memcpy(&block, from, sizeof(block));
        to = __builtin_convertvector(block, lanes<T>);
    }
}

template <class T, class Lanes> // Lanes: lanes<T>, which nvcc can't deduce
inline T add_lanes(Lanes const& a) {
    T partial[lane_count<T>];
    std::memcpy(partial, &a, sizeof(partial));
    for (std::size_t half = lane_count<T> / 2; half > 0; half /= 2) {
        for (std::size_t k = 0; k < half; ++k) {
            partial[k] += partial[k + half];
        }
    }
    return partial[0];
}

/// Sum of x[i] over i in [0, n) in T. Order of additions: fixed for a given n and instruction set.
template <class T, class X>
inline T sum_of(X const* x, std::size_t n) {
    constexpr std::size_t width = lane_count<T>;
    constexpr std::size_t chains = 4; // additions in flight: hides their latency
    lanes<T> partial[chains] = {};
    std::size_t i = 0;
    for (; i + chains * width <= n; i += chains * width) {
        for (std::size_t k = 0; k < chains; ++k) {
            lanes<T> values;
            load_lanes<T>(x + i + k * width, values);
            partial[k] += values;
        }
    }
    partial[0] += partial[1];
    partial[2] += partial[3];
    partial[0] += partial[2];
    T total = add_lanes<T>(partial[0]);
    for (; i < n; ++i) {
        total += static_cast<T>(x[i]);
    }
    return total;
}

/// Sum of x[i] w[i].
template <class T, class X, class W>
inline T sum_of_products(X const* x, W const* w, std::size_t n) {
    constexpr std::size_t width = lane_count<T>;
    lanes<T> total{};
    std::size_t i = 0;
    for (; i + width <= n; i += width) {
        lanes<T> a;
        lanes<T> b;
        load_lanes<T>(x + i, a);
        load_lanes<T>(w + i, b);
        total += a * b;
    }
    T sum = add_lanes<T>(total);
    for (; i < n; ++i) {
        sum += static_cast<T>(x[i]) * static_cast<T>(w[i]);
    }
    return sum;
}

/// Squared deviation of a single value from itself: 0, or NaN where there is none: an infinite value (inf - inf), a
/// negative weight (a spread has no meaning then, and running moments would depend on the order).
TALLY_HD constexpr double own_deviation(double value, double weight) {
    if (weight < 0.0) {
        return __builtin_nan("");
    }
    return weight == 0.0 ? 0.0 : value - value;
}

/// The first number if it is finite, else the second.
template <class X>
TALLY_HD constexpr double finite_or(double first, X second) {
    return first - first == 0.0 ? first : static_cast<double>(second);
}

struct shifted {
    double distances; ///< sum of x[i] - origin
    double squares;   ///< sum of (x[i] - origin)^2
};

template <class X>
inline shifted shifted_sums(X const* x, std::size_t n, double origin) {
    constexpr std::size_t width = lane_count<double>;
    lanes<double> distances[2] = {};
    lanes<double> squares[2] = {};
    std::size_t i = 0;
    for (; i + 2 * width <= n; i += 2 * width) {
        for (std::size_t k = 0; k < 2; ++k) {
            lanes<double> d;
            load_lanes<double>(x + i + k * width, d);
            d -= origin;
            distances[k] += d;
            squares[k] += d * d;
        }
    }
    distances[0] += distances[1];
    squares[0] += squares[1];
    shifted total{add_lanes<double>(distances[0]), add_lanes<double>(squares[0])};
    for (; i < n; ++i) {
        auto const d = static_cast<double>(x[i]) - origin;
        total.distances += d;
        total.squares += d * d;
    }
    return total;
}

struct shifted_pairs {
    double x, y;       ///< sums of distances
    double xx, yy, xy; ///< sums of their products
};

template <class X, class Y>
inline shifted_pairs shifted_co_sums(X const* x, Y const* y, std::size_t n, double origin_x, double origin_y) {
    constexpr std::size_t width = lane_count<double>;
    lanes<double> sx{};
    lanes<double> sy{};
    lanes<double> sxx{};
    lanes<double> syy{};
    lanes<double> sxy{};
    std::size_t i = 0;
    for (; i + width <= n; i += width) {
        lanes<double> dx;
        lanes<double> dy;
        load_lanes<double>(x + i, dx);
        load_lanes<double>(y + i, dy);
        dx -= origin_x;
        dy -= origin_y;
        sx += dx;
        sy += dy;
        sxx += dx * dx;
        syy += dy * dy;
        sxy += dx * dy;
    }
    shifted_pairs total{add_lanes<double>(sx), add_lanes<double>(sy), add_lanes<double>(sxx), add_lanes<double>(syy),
                        add_lanes<double>(sxy)};
    for (; i < n; ++i) {
        auto const dx = static_cast<double>(x[i]) - origin_x;
        auto const dy = static_cast<double>(y[i]) - origin_y;
        total.x += dx;
        total.y += dy;
        total.xx += dx * dx;
        total.yy += dy * dy;
        total.xy += dx * dy;
    }
    return total;
}

} // inline namespace
} // namespace tally::detail
