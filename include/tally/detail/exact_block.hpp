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

/// Adds a tile of numbers below 2^bound in size: each is split at a digit so high that the upper parts add up exactly in
/// any order; the flag tells whether the lower parts do.
template <class Acc, class Source>
inline bool take_split(float_environment const& environment, Acc& acc, Source const& source, std::size_t n, int bound) {
    if (bound > 1000 || bound < -1000) {
        return false; // the constant below leaves the range
    }
    // Adding and subtracting 1.5 * 2^(bound + 8 - 1) rounds to a multiple of 2^(bound + 8 - 53): 256 such numbers below
    // 2^bound have an exact sum.
    auto const constant =
        bit_cast<double>((static_cast<std::uint64_t>(bound + exact_tile_bits - 1 + 1023) << 52) | 0x8'0000'0000'0000U);
    exact_lanes upper[4] = {};
    alignas(exact_lanes) double lower[exact_tile + exact_width];
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
    double high_sums[exact_width];
    std::memcpy(high_sums, &upper[0], sizeof(high_sums));
    static_cast<void>(environment.exact(high_sums)); // computed before the flag is cleared
    environment.clear();
    double low_sums[exact_width];
    bool const exact = sum_lanes(environment, number_source<double>{opaque(lower)}, n, low_sums);
    if (exact && all_finite(high_sums) && all_finite(low_sums)) {
        take_lanes(environment, acc, high_sums);
        take_lanes(environment, acc, low_sums);
        return true;
    }
    environment.clear();
    return false;
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
    for (; i < n; ++i) {
        auto const one = bit_cast<word>(x[i]) & magnitude;
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
    static constexpr int longest_pause = 31; // tiles
    int wait_ = 0;
    int pause_ = 0;
};

/// What has been tried on the tiles of one block.
struct method_trials {
    method_trial plain;
    method_trial split;
};

/// A tile of floats or doubles, by vectors if one of the methods is exact for it.
template <class Acc, class X>
inline bool take_vectors(float_environment const& environment, Acc& acc, X const* x, std::size_t n,
                         method_trials& trials) {
    if constexpr (std::is_same_v<X, float>) {
        if (trials.plain.due() && trials.plain.report(take_if_exact(environment, acc, number_source<X>{x}, n))) {
            return true;
        }
    }
    if (trials.split.due()) {
        auto const bound = bound_of(x, n);
        return trials.split.report(bound && take_split(environment, acc, number_source<X>{x}, n, *bound));
    }
    return false;
}

/// Floats of any exponents, one after the other. The table is made when it is first needed.
template <class Acc>
inline void take_by_table(Acc& acc, std::optional<exponent_table>& table, float const* x, std::size_t n) {
    if (!table) {
        table.emplace();
    } else if (table->full(n)) {
        table->flush(acc);
    }
    table->deposit(x, n);
    if (!bound_of(x, n)) {
        acc.add(count_specials(x, n));
    }
}

template <class Acc, class X>
inline void deposit_exactly(Acc& acc, X const* x, std::size_t n) {
    if constexpr (std::is_same_v<X, float> || std::is_same_v<X, double>) {
        float_environment const environment;
        bool const trusted = flag_works(environment);
        bool const with_table = std::is_same_v<X, float> && n >= 4096;
        std::optional<exponent_table> table;
        method_trials trials;
        for (std::size_t first = 0; first < n; first += exact_tile) {
            auto const size = n - first < exact_tile ? n - first : exact_tile;
            auto const* const tile = opaque(x + first);
            if (trusted && take_vectors(environment, acc, tile, size, trials)) {
                continue;
            }
            if constexpr (std::is_same_v<X, float>) {
                if (with_table) {
                    take_by_table(acc, table, tile, size);
                    continue;
                }
            }
            for (std::size_t i = 0; i < size; ++i) {
                acc.deposit(tile[i]);
            }
        }
        if (table) {
            table->flush(acc);
        }
    } else {
        for (std::size_t i = 0; i < n; ++i) {
            acc.deposit(x[i]);
        }
    }
}

template <class Acc, class X, class W>
inline void deposit_exactly(Acc& acc, X const* x, W const* w, std::size_t n) {
    if constexpr (std::is_same_v<X, float> && std::is_same_v<W, float>) {
        float_environment const environment;
        bool const trusted = flag_works(environment);
        method_trial trial;
        for (std::size_t first = 0; first < n; first += exact_tile) {
            auto const size = n - first < exact_tile ? n - first : exact_tile;
            auto const* const tile = opaque(x + first);
            auto const* const weights = opaque(w + first);
            if (trusted && trial.due()) {
                auto const x_bound = bound_of(tile, size);
                auto const w_bound = weights == tile ? x_bound : bound_of(weights, size);
                if (trial.report(
                        x_bound && w_bound &&
                        take_split(environment, acc, product_source{tile, weights}, size, *x_bound + *w_bound))) {
                    continue;
                }
            }
            for (std::size_t i = 0; i < size; ++i) {
                acc.deposit(tile[i], weights[i]);
            }
        }
    } else {
        for (std::size_t i = 0; i < n; ++i) {
            acc.deposit(x[i], w[i]);
        }
    }
}

} // inline namespace
} // namespace tally::detail
