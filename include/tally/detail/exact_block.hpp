// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Block deposits of exact sums on the host. A tile is summed in vectors of doubles, and the processor's inexact flag tells
// whether that was exact. If not, the next method takes the tile: for products and doubles first a split of every number at
// a common digit, then (and for floats at once) integers. No method rounds, so where a tile or block begins can't be seen.
#pragma once

#include <tally/core/bits.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/detail/exponent_table.hpp>
#include <tally/detail/float_environment.hpp>
#include <tally/detail/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace tally::detail {

#if defined(__AVX512F__)
inline namespace lanes_of_64_bytes {
#elif defined(__AVX2__)
inline namespace lanes_of_32_bytes {
#else
inline namespace lanes_of_16_bytes {
#endif

inline constexpr std::size_t exact_width = lane_count<double>;
inline constexpr std::size_t exact_tile = 256 * exact_width; ///< numbers added without a look at the flag
inline constexpr int exact_tile_bits = 8;                    ///< log2 of the numbers that meet in one lane
using exact_lanes = lanes<double>;

template <std::size_t Index>
using chain = std::integral_constant<std::size_t, Index>;

/// The numbers of a tile as vectors of doubles: a source is anything with load(i, lanes&) and an element [i].
template <class X>
struct number_source {
    X const* x;
    void load(std::size_t i, exact_lanes& to) const { load_lanes<double>(x + i, to); }
    [[nodiscard]] double operator[](std::size_t i) const { return static_cast<double>(x[i]); }
};
/// Products of two floats, exact in double.
struct product_source {
    float const* x;
    float const* w;
    void load(std::size_t i, exact_lanes& to) const {
        exact_lanes factor;
        load_lanes<double>(x + i, to);
        load_lanes<double>(w + i, factor);
        to *= factor;
    }
    [[nodiscard]] double operator[](std::size_t i) const {
        return static_cast<double>(x[i]) * static_cast<double>(w[i]);
    }
};

/// Calls f(chain, i, vector) for all numbers of [0, n), the last vector filled up with zeros. `chain` is a constant, so that
/// what f keeps for each of the four chains in flight stays in registers.
template <class Source, class F>
[[gnu::always_inline]] inline void for_each_vector(Source const& source, std::size_t n, F&& f) {
    constexpr auto width = exact_width;
    exact_lanes v;
    std::size_t i = 0;
    for (; i + 4 * width <= n; i += 4 * width) {
        source.load(i, v);
        f(chain<0>{}, i, v);
        source.load(i + width, v);
        f(chain<1>{}, i + width, v);
        source.load(i + 2 * width, v);
        f(chain<2>{}, i + 2 * width, v);
        source.load(i + 3 * width, v);
        f(chain<3>{}, i + 3 * width, v);
    }
    for (; i + width <= n; i += width) {
        source.load(i, v);
        f(chain<0>{}, i, v);
    }
    if (i < n) {
        double rest[width] = {};
        for (std::size_t k = 0; i + k < n; ++k) {
            rest[k] = source[i + k];
        }
        std::memcpy(&v, rest, sizeof(rest));
        f(chain<0>{}, i, v);
    }
}

/// Sums of a tile, one a lane. True if they are exact; false also if one of them is not finite.
template <class Source>
inline bool sum_lanes(float_environment const& environment, Source const& source, std::size_t n,
                      double (&sums)[exact_width]) {
    exact_lanes partial[4] = {};
    for_each_vector(
        source, n, [&](auto k, std::size_t, exact_lanes const& v) __attribute__((always_inline)) { partial[k] += v; });
    partial[0] += partial[1];
    partial[2] += partial[3];
    partial[0] += partial[2];
    std::memcpy(sums, &partial[0], sizeof(sums));
    return environment.exact(sums);
}

[[nodiscard]] inline bool all_finite(double const (&sums)[exact_width]) {
    bool finite = true;
    for (auto const sum : sums) {
        finite = finite && ((bit_cast<std::uint64_t>(sum) >> 52) & 0x7ffU) != 0x7ffU;
    }
    return finite;
}

/// Adds the sums of lanes to acc: as one number where that is exact, to save work on digits. The flag must be clear.
template <class Acc>
inline void take_lanes(float_environment const& environment, Acc& acc, double const (&sums)[exact_width]) {
    auto const* const s = opaque(sums);
    double part[exact_width];
    std::memcpy(part, s, sizeof(part));
    for (std::size_t half = exact_width / 2; half > 0; half /= 2) {
        for (std::size_t k = 0; k < half; ++k) {
            part[k] += part[k + half];
        }
    }
    double const total[1] = {part[0]};
    if (environment.exact(total)) {
        acc.template add<53>(decompose(total[0]));
        return;
    }
    environment.clear();
    for (std::size_t k = 0; k < exact_width; ++k) {
        acc.template add<53>(decompose(s[k]));
    }
}

template <class Acc, class Source>
inline void take_one_by_one(Acc& acc, Source const& source, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        acc.template add<53>(decompose(source[i]));
    }
}

/// Adds a tile of floats if their sum is exact in double.
template <class Acc, class Source>
inline bool take_if_exact(float_environment const& environment, Acc& acc, Source const& source, std::size_t n) {
    double sums[exact_width];
    bool const exact = sum_lanes(environment, source, n, sums);
    if (exact && all_finite(sums)) {
        take_lanes(environment, acc, sums);
        return true;
    }
    environment.clear();
    return false;
}

/// Splits numbers below 2^bound in size at a digit so high that the upper parts add up exactly in any order. Adds those to
/// acc and leaves the lower parts, which are below 2^(bound - split_step), in `lower`.
template <class Acc, class Source>
inline void take_upper_parts(float_environment const& environment, Acc& acc, Source const& source, std::size_t n,
                             int bound, double* lower) {
    // Adding and subtracting 1.5 * 2^(bound + 8 - 1) rounds to a multiple of 2^(bound + 8 - 53): 256 such numbers below
    // 2^bound have an exact sum.
    auto const constant =
        bit_cast<double>((static_cast<std::uint64_t>(bound + exact_tile_bits - 1 + 1023) << 52) | 0x8'0000'0000'0000U);
    exact_lanes upper[4] = {};
    for_each_vector(
        source, n, [&](auto k, std::size_t i, exact_lanes const& v) __attribute__((always_inline)) {
            exact_lanes high = v + constant;
            forget_origin(high);
            high -= constant;
            forget_origin(high);
            exact_lanes const low = v - high;
            upper[k] += high;
            std::memcpy(lower + i, &low, sizeof(low));
        });
    upper[0] += upper[1];
    upper[2] += upper[3];
    upper[0] += upper[2];
    double sums[exact_width];
    std::memcpy(sums, &upper[0], sizeof(sums));
    static_cast<void>(environment.exact(sums)); // computed before the flag, which the split has raised, is cleared
    environment.clear();
    take_lanes(environment, acc, sums);
    environment.clear();
}

// Splits that are enough for all floats and all products of floats; doubles may need more.
inline constexpr int splits_of_floats = 7;
inline constexpr int splits_of_products = 13;

/// Adds a tile of finite numbers below 2^bound: splits them until the flag says that the lower parts have an exact sum.
/// Gives the number of splits, which is above `most_splits` if they were not enough and the rest has gone one by one.
template <class Acc, class Source>
inline int take_split(float_environment const& environment, Acc& acc, Source const& source, std::size_t n, int bound,
                      int most_splits) {
    constexpr int split_step = 53 - exact_tile_bits + 1;
    auto const in_range = [](int b) { return b <= 1000 && b >= -1000; }; // of the constant
    if (!in_range(bound)) {
        take_one_by_one(acc, source, n);
        return most_splits + 1;
    }
    alignas(exact_lanes) double lower[exact_tile + exact_width];
    take_upper_parts(environment, acc, source, n, bound, lower);
    number_source<double> const rest{opaque(lower)};
    for (int split = 1;; ++split) {
        double sums[exact_width];
        if (sum_lanes(environment, rest, n, sums)) {
            take_lanes(environment, acc, sums);
            environment.clear();
            return split;
        }
        environment.clear();
        bound -= split_step;
        if (split == most_splits || !in_range(bound)) {
            take_one_by_one(acc, rest, n);
            return most_splits + 1;
        }
        take_upper_parts(environment, acc, rest, n, bound, lower);
    }
}

/// An exponent b so that |x[i]| < 2^b for all i, if all are finite.
template <class X>
inline std::optional<int> bound_of(X const* x, std::size_t n) {
    constexpr bool narrow = std::is_same_v<X, float>;
    using word = std::conditional_t<narrow, std::int32_t, std::int64_t>;
    constexpr word magnitude = narrow ? static_cast<word>(0x7fff'ffff) : static_cast<word>(0x7fff'ffff'ffff'ffff);
    constexpr int precision = narrow ? 24 : 53;
    constexpr int special = narrow ? 0xff : 0x7ff;
    constexpr std::size_t width = lane_count<word>;
    lanes<word> largest[2] = {};
    std::size_t i = 0;
    for (; i + 2 * width <= n; i += 2 * width) {
        for (std::size_t k = 0; k < 2; ++k) {
            lanes<word> v;
            std::memcpy(&v, x + i + k * width, sizeof(v));
            v &= magnitude;
            largest[k] = v > largest[k] ? v : largest[k];
        }
    }
    word each[2 * width];
    std::memcpy(each, largest, sizeof(each));
    word greatest = 0;
    for (auto const one : each) {
        greatest = one > greatest ? one : greatest;
    }
    for (auto const* rest = x + i; rest != x + n; ++rest) {
        auto const one = bit_cast<word>(*rest) & magnitude;
        greatest = one > greatest ? one : greatest;
    }
    auto const exponent = static_cast<int>(greatest >> (precision - 1));
    return exponent == special ? std::nullopt : std::optional<int>(exponent - (special / 2 - 1));
}

/// How many of n < 2^32 floats are not finite.
inline special_values count_specials(float const* x, std::size_t n) {
    std::uint32_t nans = 0;
    std::uint32_t positive = 0;
    std::uint32_t negative = 0;
    for (std::size_t i = 0; i < n; ++i) {
        auto const bits = bit_cast<std::uint32_t>(x[i]);
        nans += static_cast<std::uint32_t>((bits & 0x7fff'ffffU) > 0x7f80'0000U);
        positive += static_cast<std::uint32_t>(bits == 0x7f80'0000U);
        negative += static_cast<std::uint32_t>(bits == 0xff80'0000U);
    }
    return {nans, positive, negative};
}

/// Tries a method for a tile, and less and less often while it fails.
class method_trial {
public:
    [[nodiscard]] bool due() {
        if (wait_ > 0) {
            --wait_;
            return false;
        }
        return true;
    }
    bool report(bool success) {
        if (success) {
            pause_ = 0;
        } else {
            wait_ = pause_;
            pause_ = pause_ < longest_pause ? 2 * pause_ + 1 : pause_;
        }
        return success;
    }

private:
    static constexpr int longest_pause = 63; // tiles
    int wait_ = 0;
    int pause_ = 0;
};

/// What has been tried on the tiles of one block.
struct method_trials {
    method_trial plain;
    method_trial split;
};

/// A tile of floats or doubles. False if it hasn't been taken. A split that took more than `good_splits` is not tried again
/// soon.
template <class Acc, class X>
inline bool take_vectors(float_environment const& environment, Acc& acc, X const* x, std::size_t n,
                         method_trials& trials, int good_splits) {
    if constexpr (std::is_same_v<X, float>) {
        if (trials.plain.due() && trials.plain.report(take_if_exact(environment, acc, number_source<X>{x}, n))) {
            return true;
        }
    }
    if (trials.split.due()) {
        if (auto const bound = bound_of(x, n)) {
            int const splits = take_split(environment, acc, number_source<X>{x}, n, *bound, splits_of_floats);
            trials.split.report(splits <= good_splits);
            return true;
        }
    }
    return false;
}

/// All tiles of a block; those that no vector method takes go to take_slowly(tile, size).
template <class Acc, class X, class F>
inline void take_tiles(Acc& acc, X const* x, std::size_t n, int good_splits, F&& take_slowly) {
    bool const trusted = flag_works();
    float_environment const environment;
    method_trials trials;
    for (std::size_t first = 0; first < n; first += exact_tile) {
        auto const size = n - first < exact_tile ? n - first : exact_tile;
        auto const* const tile = opaque(x + first);
        if (!trusted || !take_vectors(environment, acc, tile, size, trials, good_splits)) {
            take_slowly(tile, size);
        }
    }
}

/// A long block of floats. The table takes any exponents, for about the cost of a single split.
template <class Acc>
inline void deposit_long(Acc& acc, float const* x, std::size_t n) {
    std::optional<exponent_table> table; // made when it is first needed
    take_tiles(acc, x, n, 1, [&](float const* tile, std::size_t size) {
        if (!table) {
            table.emplace();
        } else if (table->full(size)) {
            table->flush(acc);
        }
        table->deposit(tile, size);
        if (!bound_of(tile, size)) {
            acc.add(count_specials(tile, size));
        }
    });
    if (table) {
        table->flush(acc);
    }
}

inline constexpr std::size_t vectors_pay_from = 24;
inline constexpr std::size_t table_pays_from = 4096;

template <class Acc, class X>
inline void deposit_exactly(Acc& acc, X const* x, std::size_t n) {
    auto const one_by_one = [&acc](X const* from, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            acc.deposit(from[i]);
        }
    };
    if constexpr (std::is_same_v<X, float> || std::is_same_v<X, double>) {
        if constexpr (std::is_same_v<X, float>) {
            if (n >= table_pays_from) {
                deposit_long(acc, x, n);
                return;
            }
        }
        if (n >= vectors_pay_from) {
            take_tiles(acc, x, n, splits_of_floats, one_by_one);
            return;
        }
    }
    one_by_one(x, n);
}

template <class Acc, class X, class W>
inline void deposit_exactly(Acc& acc, X const* x, W const* w, std::size_t n) {
    auto const one_by_one = [&](std::size_t begin, std::size_t size) {
        for (std::size_t i = begin; i < begin + size; ++i) {
            acc.deposit(x[i], w[i]);
        }
    };
    if constexpr (std::is_same_v<X, float> && std::is_same_v<W, float>) {
        if (n >= vectors_pay_from && flag_works()) {
            float_environment const environment;
            method_trial trial;
            for (std::size_t first = 0; first < n; first += exact_tile) {
                auto const size = n - first < exact_tile ? n - first : exact_tile;
                auto const* const tile = opaque(x + first);
                auto const* const weights = opaque(w + first);
                auto const x_bound = trial.due() ? bound_of(tile, size) : std::nullopt;
                auto const w_bound = weights == tile ? x_bound : x_bound ? bound_of(weights, size) : std::nullopt;
                if (x_bound && w_bound) {
                    int const splits = take_split(environment, acc, product_source{tile, weights}, size,
                                                  *x_bound + *w_bound, splits_of_products);
                    trial.report(splits <= splits_of_products);
                } else {
                    one_by_one(first, size);
                }
            }
            return;
        }
    }
    one_by_one(0, n);
}

} // inline namespace
} // namespace tally::detail
