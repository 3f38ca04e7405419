// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers from a seed that are the same on every compiler and standard library: a counter-based generator (SplitMix64's
// mixing function applied to a position), so that any part of the program can draw its own numbers without sharing a
// generator. <random>'s engines are portable but its distributions and std::shuffle are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace digits {

/// What a random number is for; numbers of different purposes are independent of each other.
enum class purpose : std::uint64_t { held_out_split = 1, sample_order = 2, weights = 3 };

class random_numbers {
public:
    /// `index` separates the sequences of one purpose, such as the epochs.
    random_numbers(std::uint64_t seed, purpose use, std::uint64_t index = 0);

    /// The next 64 random bits.
    std::uint64_t bits();

    /// A number from [-1, 1): a multiple of 2^-23, so that float and double hold the same value.
    double signed_unit();

    /// A number from [0, bound); bound > 0. The bias is below bound / 2^64.
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(bits() % bound); }

private:
    std::uint64_t key_;
    std::uint64_t position_ = 0;
};

/// The numbers 0 ... count - 1 in random order (Fisher-Yates).
std::vector<std::size_t> permutation(std::size_t count, random_numbers random);

} // namespace digits
