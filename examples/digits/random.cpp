// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "random.hpp"

#include <numeric>
#include <utility>

namespace digits {

namespace {

// The output function of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15u;

} // namespace

random_numbers::random_numbers(std::uint64_t seed, purpose use, std::uint64_t index)
    : key_{mix(mix(mix(seed + golden_gamma) + static_cast<std::uint64_t>(use) * golden_gamma) + index * golden_gamma)} {
}

std::uint64_t random_numbers::bits() { return mix(key_ + ++position_ * golden_gamma); }

double random_numbers::signed_unit() { return static_cast<double>(bits() >> 40) * 0x1p-23 - 1.0; }

std::vector<std::size_t> permutation(std::size_t count, random_numbers random) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
    return order;
}

} // namespace digits
