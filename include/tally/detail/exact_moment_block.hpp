// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Block deposits of exact moments on the host: values and their products in one pass. The exponents of a tile tell in
// advance whether plain sums of doubles are exact; each product is split at a common digit, so that the upper parts and
// the lower parts have exact sums. Other tiles go to the exact sums one by one. No method rounds, so none can be told
// by its sum.
#pragma once

#include <tally/core/bits.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/detail/exact_block.hpp>
#include <tally/detail/float_environment.hpp>
#include <tally/detail/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tally::detail {

#if defined(__AVX512F__)
inline namespace lanes_of_64_bytes {
#elif defined(__AVX2__)
inline namespace lanes_of_32_bytes {
#else
inline namespace lanes_of_16_bytes {
#endif

/// Numbers of which every one is a multiple of 2^lowest and below 2^bound in size, if all are finite.
struct exponent_span {
    int lowest;
    int bound;
    [[nodiscard]] bool finite() const { return bound <= 128; }
    [[nodiscard]] int bits() const { return bound - lowest; }
};

inline exponent_span span_of(float const* x, std::size_t n) {
    constexpr std::int32_t magnitude = 0x7fff'ffff;
    constexpr std::size_t width = lane_count<std::int32_t>;
    lanes<std::int32_t> largest{};
    lanes<std::int32_t> smallest = lanes<std::int32_t>{} + magnitude; // of those that aren't zero, less one
    std::size_t i = 0;
    for (; i + width <= n; i += width) {
        lanes<std::int32_t> v;
        std::memcpy(&v, x + i, sizeof(v));
        v &= magnitude;
        largest = v > largest ? v : largest;
        v = (v - 1) & magnitude; // the largest number instead of -1
        smallest = v < smallest ? v : smallest;
    }
    std::int32_t each_largest[width];
    std::int32_t each_smallest[width];
    std::memcpy(each_largest, &largest, sizeof(each_largest));
    std::memcpy(each_smallest, &smallest, sizeof(each_smallest));
    std::int32_t high = 0;
    std::int32_t low = magnitude;
    auto const take = [&](std::int32_t from_above, std::int32_t less_one) {
        high = from_above > high ? from_above : high;
        low = less_one < low ? less_one : low;
    };
    for (std::size_t k = 0; k < width; ++k) {
        take(each_largest[k], each_smallest[k]);
    }
    for (; i < n; ++i) {
        auto const v = bit_cast<std::int32_t>(x[i]) & magnitude;
        take(v, v == 0 ? magnitude : v - 1);
    }
    auto const lowest_exponent = low >> 23;
    return {(lowest_exponent == 0 ? 1 : lowest_exponent) - 150, (high >> 23) - 126};
}

inline constexpr int moment_tile_bits = 9;
inline constexpr std::size_t moment_tile = std::size_t{1} << moment_tile_bits;

/// Sums of up to moment_tile products below 2^bound, in parts above and below a common digit.
class split_products {
public:
    /// Adding and subtracting 1.5 * 2^k rounds to a multiple of 2^(k - 52): moment_tile such numbers of at most 2^bound
    /// have an exact sum if k = bound + moment_tile_bits - 1.
    explicit split_products(int bound)
        : constant_{bit_cast<double>((static_cast<std::uint64_t>(bound + moment_tile_bits - 1 + 1023) << 52) |
                                     0x8'0000'0000'0000U)} {}
    /// What is below the digit is at most 2^(k - 53): whether a tile of that has an exact sum, the products being
    /// multiples of 2^(bound - bits).
    static constexpr bool exact(int bits) { return bits <= 107 - 2 * moment_tile_bits; }

    [[gnu::always_inline]] void add(exact_lanes const& product) {
        exact_lanes high = product + constant_;
        forget_origin(high);
        high -= constant_;
        forget_origin(high);
        upper_ += high;
        lower_ += product - high;
    }
    /// The sums of the other part of a tile.
    void join(split_products const& other) {
        upper_ += other.upper_;
        lower_ += other.lower_;
    }
    template <class Acc>
    void flush_into(Acc& acc, float_environment const& environment) const {
        double const sums[2] = {add_lanes<double>(upper_), add_lanes<double>(lower_)};
        static_cast<void>(environment.exact(sums)); // computed while the environment lasts
        acc.template add<53>(decompose(sums[0]));
        acc.template add<53>(decompose(sums[1]));
    }

private:
    double constant_;
    exact_lanes upper_{};
    exact_lanes lower_{};
};

/// Whether a tile can be taken whose numbers have so many bits. Then plain sums of the numbers are exact too.
inline bool fits_tile(exponent_span const& span) {
    static_assert(!split_products::exact(2 * (53 - moment_tile_bits + 1)));
    return span.finite() && split_products::exact(2 * span.bits());
}

template <class Acc>
inline void flush_values(Acc& acc, float_environment const& environment, exact_lanes const& values) {
    double const sum[1] = {add_lanes<double>(values)};
    static_cast<void>(environment.exact(sum));
    acc.template add<53>(decompose(sum[0]));
}

/// exact_width numbers, or the n that are left, filled up with zeros.
[[gnu::always_inline]] inline void load_some(float const* x, std::size_t n, exact_lanes& to) {
    if (n >= exact_width) {
        load_lanes<double>(x, to);
        return;
    }
    double rest[exact_width] = {};
    for (std::size_t k = 0; k < n; ++k) {
        rest[k] = static_cast<double>(x[k]);
    }
    std::memcpy(&to, rest, sizeof(rest));
}

/// A tile of values and their squares. False if it hasn't been taken.
template <class Values, class Squares>
inline bool take_moments(Values& values, Squares& squares, float const* x, std::size_t n) {
    auto const span = span_of(x, n);
    if (!fits_tile(span)) {
        return false;
    }
    float_environment const environment;
    auto const* const from = opaque(x);
    exact_lanes sums[2] = {};
    split_products products[2] = {split_products{2 * span.bound}, split_products{2 * span.bound}};
    exact_lanes v;
    std::size_t i = 0;
    for (; i + 2 * exact_width <= n; i += 2 * exact_width) {
        load_lanes<double>(from + i, v);
        sums[0] += v;
        products[0].add(v * v);
        load_lanes<double>(from + i + exact_width, v);
        sums[1] += v;
        products[1].add(v * v);
    }
    for (; i < n; i += exact_width) {
        load_some(from + i, n - i, v);
        sums[0] += v;
        products[0].add(v * v);
    }
    sums[0] += sums[1];
    products[0].join(products[1]);
    flush_values(values, environment, sums[0]);
    products[0].flush_into(squares, environment);
    return true;
}

/// A tile of pairs: into the sums of x, y, and of their products.
template <class Values, class Products>
inline bool take_co_moments(Values& x, Values& y, Products& xx, Products& yy, Products& xy, float const* from_x,
                            float const* from_y, std::size_t n) {
    auto const span_x = span_of(from_x, n);
    auto const span_y = span_of(from_y, n);
    if (!fits_tile(span_x) || !fits_tile(span_y)) {
        return false;
    }
    float_environment const environment;
    auto const* const a = opaque(from_x);
    auto const* const b = opaque(from_y);
    exact_lanes sums_x{};
    exact_lanes sums_y{};
    split_products products_xx{2 * span_x.bound};
    split_products products_yy{2 * span_y.bound};
    split_products products_xy{span_x.bound + span_y.bound};
    exact_lanes v;
    exact_lanes w;
    for (std::size_t i = 0; i < n; i += exact_width) {
        load_some(a + i, n - i, v);
        load_some(b + i, n - i, w);
        sums_x += v;
        sums_y += w;
        products_xx.add(v * v);
        products_yy.add(w * w);
        products_xy.add(v * w);
    }
    flush_values(x, environment, sums_x);
    flush_values(y, environment, sums_y);
    products_xx.flush_into(xx, environment);
    products_yy.flush_into(yy, environment);
    products_xy.flush_into(xy, environment);
    return true;
}

} // inline namespace
} // namespace tally::detail
