// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The reference for gradient monitors: big integers and counts, with none of the library's code but the names of cells;
// and the floats that sums find hard.
#pragma once

#include "support/big_integer.hpp"
#include "support/named_data.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace tally::testing {

/// Sums of finite floats, of their magnitudes and of their squares; counts of what is in them.
struct gradient_reference {
    static constexpr int unit = -149;
    big_integer<12> sum;
    big_integer<12> magnitudes;
    big_integer<20> squares; ///< in units of 2^(2 unit)
    std::uint64_t elements = 0, finite = 0, zeros = 0, nans = 0, positive = 0, negative = 0;
    double largest = -1.0;

    void take(float x) {
        ++elements;
        nans += std::isnan(x) ? 1U : 0U;
        positive += x == INFINITY ? 1U : 0U;
        negative += x == -INFINITY ? 1U : 0U;
        if (std::isfinite(x)) {
            ++finite;
            zeros += x == 0.0F ? 1U : 0U;
            sum += to_big<12>(static_cast<double>(x), unit);
            magnitudes += to_big<12>(std::abs(static_cast<double>(x)), unit);
            squares += to_big_product<20>(x, x, 2 * unit);
            largest = std::max(largest, std::abs(static_cast<double>(x)));
        }
    }
    void take(std::span<float const> x) {
        for (auto const each : x) {
            take(each);
        }
    }
    [[nodiscard]] double value_sum() const { return to_nearest<double>(sum, unit); }
    [[nodiscard]] double magnitude_sum() const { return to_nearest<double>(magnitudes, unit); }
    [[nodiscard]] double square_sum() const { return to_nearest<double>(squares, 2 * unit); }
};

/// n floats of each kind: benign, cancelling, of any spread, tiny, huge, and not finite.
inline named_data<float> hard_gradients(std::size_t n, unsigned seed) {
    std::mt19937 random{seed};
    std::normal_distribution<float> normal{1e-5F, 1e-3F};
    std::normal_distribution<float> exponent{-30.0F, 12.0F};
    named_data<float> sets;
    auto const add = [&](char const* name, auto make) { add_data(sets, n, name, make); };
    auto const any_sign = [&](float x) { return random() % 2 == 0 ? x : -x; };
    add("normal", [&](std::size_t) { return normal(random); });
    add("normal with zeros of both signs", [&](std::size_t i) { return i % 3 == 0 ? any_sign(0.0F) : normal(random); });
    add("zeros of both signs", [&](std::size_t) { return any_sign(0.0F); });
    add("many octaves", [&](std::size_t) { return any_sign(std::exp2(exponent(random))); });
    add("one outlier", [&](std::size_t i) { return i == n / 2 ? 3e38F : normal(random); });
    add("largest, cancelling",
        [&](std::size_t i) { return i % 5 == 3 ? FLT_TRUE_MIN : (i % 2 == 0 ? FLT_MAX : -FLT_MAX); });
    add("largest", [](std::size_t) { return FLT_MAX; });
    add("subnormal",
        [&](std::size_t) { return from_bits<float>(static_cast<std::uint32_t>(random()) & 0x807f'ffffU); });
    add("smallest subnormal", [&](std::size_t) { return any_sign(FLT_TRUE_MIN); });
    add("normal and a smallest", [&](std::size_t i) { return i % 7 == 0 ? any_sign(FLT_TRUE_MIN) : normal(random); });
    add("random bits", [&](std::size_t) { return from_bits<float>(static_cast<std::uint32_t>(random())); });
    add("some not finite", [&](std::size_t i) {
        return i % 11 == 4 ? NAN : i % 13 == 5 ? INFINITY : i % 17 == 6 ? -INFINITY : normal(random);
    });
    add("never finite", [&](std::size_t i) { return i % 2 == 0 ? -std::nanf("") : any_sign(INFINITY); });
    return sets;
}

} // namespace tally::testing
