// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Slow, exact ranking metrics by their definitions, over all pairs and all thresholds: what binned ones are tested
// against.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tally::testing {

/// One sample: score, label 0 or 1, weight.
struct ranked {
    double score;
    int label;
    double weight = 1;
};

/// Weighted share of the pairs (positive, negative) in which the positive scores higher, ties half. O(n^2).
inline double exact_auroc(std::vector<ranked> const& samples) {
    double won = 0;
    double pairs = 0;
    for (auto const& p : samples) {
        for (auto const& n : samples) {
            if (p.label == 1 && n.label == 0) {
                auto const pair = p.weight * n.weight;
                pairs += pair;
                won += p.score > n.score ? pair : (p.score == n.score ? pair / 2 : 0.0);
            }
        }
    }
    return won / pairs;
}

/// sum (R_i - R_(i-1)) P_i over the distinct scores as thresholds, each by a pass over all samples. O(n^2).
inline double exact_average_precision(std::vector<ranked> const& samples) {
    std::vector<double> thresholds;
    double positives = 0;
    for (auto const& s : samples) {
        thresholds.push_back(s.score);
        positives += s.label == 1 ? s.weight : 0.0;
    }
    std::sort(thresholds.begin(), thresholds.end());
    thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
    double area = 0;
    double recall_before = 0;
    for (std::size_t i = thresholds.size(); i-- > 0;) {
        double called = 0;
        double right = 0;
        for (auto const& s : samples) {
            if (s.score >= thresholds[i]) {
                called += s.weight;
                right += s.label == 1 ? s.weight : 0.0;
            }
        }
        area += (right / positives - recall_before) * (right / called);
        recall_before = right / positives;
    }
    return area;
}

/// A repeatable sample of overlapping score distributions in [0, 1), on a grid of 1/4096, so that some scores are tied.
inline std::vector<ranked> overlapping_scores(std::size_t n, unsigned seed) {
    std::vector<ranked> samples;
    unsigned long long state = seed;
    auto const uniform = [&state] {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<double>(state >> 40) / static_cast<double>(1ULL << 24);
    };
    for (std::size_t i = 0; i < n; ++i) {
        auto const label = uniform() < 0.3 ? 1 : 0;
        auto const raw = label == 1 ? 1.0 - uniform() * uniform() : uniform() * uniform() * 1.2;
        auto const score = static_cast<double>(static_cast<long>(std::min(raw, 0.9999) * 4096)) / 4096.0;
        samples.push_back({score, label, 0.25 * static_cast<double>(1 + i % 7)});
    }
    return samples;
}

} // namespace tally::testing
