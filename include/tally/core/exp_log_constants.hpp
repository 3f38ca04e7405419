// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Constants of the library's exp and log (exp_log.hpp, and on vectors host/detail/kernels): e^x = 2^n p(r) with
// n = round(x / ln 2), r = x - n ln 2; log(2^n (1 + f)) = n ln 2 + log1p(f) with |f| <= 1/3. The same on every engine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::detail {

template <class T>
struct exp_constants;

template <>
struct exp_constants<float> {
    using bits = std::uint32_t;
    static constexpr int mantissa_bits = 23;
    static constexpr float log2_e = 0x1.715476p+0F;
    // Adding 1.5 * 2^23 rounds to an integer, which then sits in the low bits of the float; the 127 more are the bias
    // of the exponent, so a shift alone makes 2^n out of it.
    static constexpr float shifter = 12582912.0F + 127.0F;
    // 355/512, whose products with n are exact, and the rest.
    static constexpr float ln2_high = 0x1.63p-1F;
    static constexpr float ln2_low = -0x1.bd0106p-13F;
    static constexpr float floor = -88.0F;  // n = -127, whose power comes out as 0
    static constexpr float large = 88.0F;   // from 88.37 on n = 128
    static constexpr float ceiling = 89.0F; // e^89 is infinite
    // Minimax for the relative error on |r| <= 0.3466, the last two fixed: 3.1e-9. The highest power comes first.
    static constexpr std::size_t terms = 7;
    static constexpr float polynomial[terms] = {
        0x1.6a2438p-10F, 0x1.1239e0p-7F, 0x1.5558f2p-5F, 0x1.555492p-3F, 0x1.fffffcp-2F, 1.0F, 1.0F};
};

template <>
struct exp_constants<double> {
    using bits = std::uint64_t;
    static constexpr int mantissa_bits = 52;
    static constexpr double log2_e = 0x1.71547652b82fep+0;
    static constexpr double shifter = 6755399441055744.0 + 1023.0; // 1.5 * 2^52 and the bias
    static constexpr double ln2_high = 0x1.62e42feep-1;            // 32 bits
    static constexpr double ln2_low = 0x1.a39ef35793c76p-33;
    static constexpr double floor = -709.4; // n = -1023
    static constexpr double large = 709.0;  // from 709.44 on n = 1024
    static constexpr double ceiling = 710.0;
    // Interpolates (e^r - 1 - r) / r^2 at the Chebyshev nodes of |r| <= 0.3466: relative error 1.6e-17.
    static constexpr std::size_t terms = 12;
    static constexpr double polynomial[terms] = {0x1.af38a71a18cb9p-26,
                                                 0x1.2891834686c7ep-22,
                                                 0x1.71de0daf7a6ccp-19,
                                                 0x1.a019b90eefe8ep-16,
                                                 0x1.a01a01a7c3d59p-13,
                                                 0x1.6c16c1788b646p-10,
                                                 0x1.11111111109b4p-7,
                                                 0x1.5555555553d64p-5,
                                                 0x1.5555555555556p-3,
                                                 0x1.0000000000001p-1,
                                                 1.0,
                                                 1.0};
};

template <class T>
struct log_constants;

/// log1p(f) = f + f^2 g(f).
template <>
struct log_constants<float> {
    using bits = std::uint32_t;
    using signed_bits = std::int32_t;
    static constexpr int mantissa_bits = 23;
    static constexpr bits two_thirds = 0x3f2aaaab;
    static constexpr bits four = 0x40800000;
    static constexpr float smallest_normal = 0x1p-126F;
    static constexpr float subnormal_scale = 0x1p23F;
    static constexpr signed_bits subnormal_shift = 23;
    static constexpr float ln2_high = 0x1.62e430p-1F;
    static constexpr float ln2_low = -0x1.05c610p-29F;
    // Minimax for g, weighted by f: relative error of log1p 4.7e-9. The highest power comes first.
    static constexpr std::size_t terms = 9;
    static constexpr float polynomial[terms] = {-0x1.109f84p-3F, 0x1.1ed8f0p-3F,  -0x1.eeb8c6p-4F,
                                                0x1.1ebca6p-3F,  -0x1.55cd0ep-3F, 0x1.99d212p-3F,
                                                -0x1.fffd6ap-3F, 0x1.555502p-2F,  -0.5F};
};

/// log1p(f) = f - s (f - z h(z)), s = f / (2 + f), z = s^2: the series of the inverse hyperbolic tangent.
template <>
struct log_constants<double> {
    using bits = std::uint64_t;
    using signed_bits = std::int64_t;
    static constexpr int mantissa_bits = 52;
    static constexpr bits two_thirds = 0x3fe5555555555555;
    static constexpr bits four = 0x4010000000000000;
    static constexpr double smallest_normal = 0x1p-1022;
    static constexpr double subnormal_scale = 0x1p52;
    static constexpr signed_bits subnormal_shift = 52;
    static constexpr double ln2_high = 0x1.62e42fefp-1; // 33 bits: products with n are exact
    static constexpr double ln2_low = 0x1.473de6af278edp-34;
    // Minimax for h on [0, 1/25]: relative error of log1p 4.6e-21.
    static constexpr std::size_t terms = 9;
    static constexpr double polynomial[terms] = {0x1.fcb9901080935p-4, 0x1.dbdf1823f1e84p-4, 0x1.1130b55b311abp-3,
                                                 0x1.3b12f04c1540bp-3, 0x1.745d19f6bba86p-3, 0x1.c71c71c1b8ef1p-3,
                                                 0x1.2492492494fc6p-2, 0x1.9999999999989p-2, 0x1.5555555555555p-1};
};

} // namespace tally::detail
