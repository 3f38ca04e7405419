// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Spearman's rank correlation by its definition: ranks by counting, then Pearson's formula. Slow on purpose.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace tally::testing {

/// Mean rank of each number, from 1; equal numbers share it. O(n^2).
inline std::vector<long double> mean_ranks(std::vector<float> const& numbers) {
    std::vector<long double> ranks;
    for (auto const x : numbers) {
        long double below = 0;
        long double equal = 0;
        for (auto const y : numbers) {
            below += y < x ? 1 : 0;
            equal += y == x ? 1 : 0;
        }
        ranks.push_back(below + (equal + 1) / 2);
    }
    return ranks;
}

inline double exact_spearman(std::vector<float> const& a, std::vector<float> const& b) {
    auto const x = mean_ranks(a);
    auto const y = mean_ranks(b);
    auto const mean = static_cast<long double>(a.size() + 1) / 2;
    long double xx = 0;
    long double yy = 0;
    long double xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
        xy += (x[i] - mean) * (y[i] - mean);
    }
    return static_cast<double>(xy / std::sqrt(xx * yy));
}

struct paired_numbers {
    std::vector<float> predictions;
    std::vector<float> targets;
};

/// A repeatable sample of related numbers, coarse enough for ties on both sides.
inline paired_numbers noisy_pairs(std::size_t n, unsigned seed) {
    paired_numbers data;
    unsigned long long state = seed;
    auto const below = [&state](unsigned limit) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<float>((state >> 40) % limit);
    };
    for (std::size_t i = 0; i < n; ++i) {
        auto const x = below(97) - 40;
        data.predictions.push_back(x);
        data.targets.push_back(x / 2 + below(31));
    }
    return data;
}

} // namespace tally::testing
