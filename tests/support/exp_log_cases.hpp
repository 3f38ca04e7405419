// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Arguments for exp, log and log1p, and a fingerprint of what they gave. The fingerprints were recorded from one build
// (g++ 12, x86-64); every other compiler, instruction set and engine must reproduce them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tally::testing {

/// Every 10007th float, and those next to what is special.
inline std::vector<float> arguments_of(float) {
    std::vector<float> x;
    auto const add = [&](std::uint32_t bits) {
        x.emplace_back();
        std::memcpy(&x.back(), &bits, sizeof bits);
    };
    for (std::uint64_t bits = 0; bits < (1ULL << 32); bits += 10007) {
        add(static_cast<std::uint32_t>(bits));
    }
    for (std::uint32_t const special : {0x00000000U, 0x00800000U, 0x3f2aaaabU, 0x3f800000U, 0x42b00000U, 0x7f800000U}) {
        for (std::uint32_t k = 0; k < 64; ++k) {
            add(special - k);
            add(special + k);
            add((special ^ 0x80000000U) - k);
            add((special ^ 0x80000000U) + k);
        }
    }
    return x;
}

/// Doubles of all exponents, more of them where the functions are neither trivial nor infinite.
inline std::vector<double> arguments_of(double) {
    std::vector<double> x;
    std::uint64_t state = 1;
    for (int i = 0; i < 400000; ++i) {
        state += 0x9e3779b97f4a7c15U; // splitmix64
        std::uint64_t bits = state;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
        bits ^= bits >> 31;
        if (i % 4 != 0) {
            bits = (bits & 0x800fffffffffffffU) | ((1023 - 50 + bits % 61) << 52); // 2^-50 ... 2^10
        }
        x.emplace_back();
        std::memcpy(&x.back(), &bits, sizeof bits);
    }
    double const infinity = __builtin_huge_val();
    x.insert(x.end(), {0.0, -0.0, 1.0, -1.0, 0x1p-1022, 0x1p-1074, -0x1p-1074, infinity, -infinity, __builtin_nan("")});
    return x;
}

/// Depends on every bit and on the order. All NaN are one.
template <class T>
std::uint64_t fingerprint_of(std::vector<T> const& x) {
    std::uint64_t hash = 0;
    for (T const y : x) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &y, sizeof y);
        hash = (hash ^ (y == y ? bits : 1U)) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 29;
    }
    return hash;
}

template <class T>
struct fingerprints;
template <>
struct fingerprints<float> {
    static constexpr std::uint64_t exp = 0x9461316de8e2fa46;
    static constexpr std::uint64_t log = 0xbf3f9ef35705f186;
    static constexpr std::uint64_t log1p = 0xfb9a98c1f081b89c;
};
template <>
struct fingerprints<double> {
    static constexpr std::uint64_t exp = 0xfc2298bb430fd132;
    static constexpr std::uint64_t log = 0x40fca2198377bd2a;
    static constexpr std::uint64_t log1p = 0x5187ccf618d55dde;
};

} // namespace tally::testing
