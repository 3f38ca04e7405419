// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Slow, obvious classification metrics: one walk over all labels per class and per question, by definition, in long
// double. The reference for the counters of the library, which it shares nothing with.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

namespace tally::testing {

struct labelled {
    std::vector<int> targets;
    std::vector<int> predictions;
    std::vector<float> weights;

    [[nodiscard]] long double weight(std::size_t i) const { return weights.empty() ? 1.0L : weights[i]; }

    /// Weight of the samples for which f(target, prediction) holds.
    template <class F>
    [[nodiscard]] long double where(F f) const {
        long double sum = 0;
        for (std::size_t i = 0; i < targets.size(); ++i) {
            sum += f(targets[i], predictions[i]) ? weight(i) : 0.0L;
        }
        return sum;
    }
};

struct slow_counts {
    long double tp, fp, fn, tn;
};

inline slow_counts count_class(labelled const& d, int k) {
    return {d.where([k](int t, int p) { return t == k && p == k; }),
            d.where([k](int t, int p) { return t != k && p == k; }),
            d.where([k](int t, int p) { return t == k && p != k; }),
            d.where([k](int t, int p) { return t != k && p != k; })};
}

/// Mean of f(counts) over the classes for which f has a value and which occur as target or prediction, each weighted by
/// share(counts).
template <class F, class Share>
std::optional<double> mean_over_classes(labelled const& d, int classes, F f, Share share) {
    long double sum = 0, below = 0;
    for (int k = 0; k < classes; ++k) {
        auto const c = count_class(d, k);
        if (c.tp + c.fp + c.fn == 0) continue;
        if (std::optional<long double> const value = f(c)) {
            sum += share(c) * *value;
            below += share(c);
        }
    }
    if (below == 0) return std::nullopt;
    return static_cast<double>(sum / below);
}

inline std::optional<long double> divide(long double above, long double below) {
    if (below == 0) return std::nullopt;
    return above / below;
}

/// Random labels of `classes` classes, of which the last is never a target and is predicted rarely.
inline labelled random_labels(std::size_t n, int classes, unsigned seed, bool weighted) {
    std::mt19937 random{seed};
    labelled d;
    for (std::size_t i = 0; i < n; ++i) {
        int const t = static_cast<int>(random() % static_cast<unsigned>(classes - 1));
        int const guess = static_cast<int>(random() % static_cast<unsigned>(classes));
        d.targets.push_back(t);
        d.predictions.push_back(random() % 2 == 0 ? t : guess);
        if (weighted) d.weights.push_back(static_cast<float>(random() % 64) / 16);
    }
    return d;
}

} // namespace tally::testing
