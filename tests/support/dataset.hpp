// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Random samples with everything that a metric may ask for, for the laws. Some are bad on purpose: NaN, infinities,
// labels and groups out of range.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace tally::testing {

struct dataset {
    static constexpr std::size_t classes = 5;
    static constexpr std::size_t outputs = 3;

    std::vector<float> values, predictions, targets, probabilities, weights, seconds;
    std::vector<std::int64_t> items;
    std::vector<std::uint64_t> positions;
    std::vector<std::int32_t> labels, predicted, binary, groups;
    std::vector<float> scores;              // rows of `classes`
    std::vector<float> class_probabilities; // rows of `classes`, each sums to one
    std::vector<float> output_predictions;  // rows of `outputs`, in [0, 1]
    std::vector<float> output_targets;      // rows of `outputs`, 0 or 1
    std::vector<unsigned char> mask;

    [[nodiscard]] std::size_t size() const { return values.size(); }

    /// Adds sample i of another dataset.
    void append(dataset const& other, std::size_t i) {
        auto const copy = [i](auto const& from, auto& to, std::size_t width) {
            auto const begin = from.begin() + static_cast<std::ptrdiff_t>(i * width);
            to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
        };
        copy(other.values, values, 1), copy(other.predictions, predictions, 1), copy(other.targets, targets, 1);
        copy(other.probabilities, probabilities, 1), copy(other.weights, weights, 1);
        copy(other.seconds, seconds, 1), copy(other.items, items, 1), copy(other.positions, positions, 1);
        copy(other.labels, labels, 1), copy(other.predicted, predicted, 1), copy(other.binary, binary, 1);
        copy(other.groups, groups, 1), copy(other.scores, scores, classes);
        copy(other.class_probabilities, class_probabilities, classes);
        copy(other.output_predictions, output_predictions, outputs);
        copy(other.output_targets, output_targets, outputs), copy(other.mask, mask, 1);
    }
    /// The samples with these indices, in this order.
    [[nodiscard]] dataset select(std::vector<std::size_t> const& indices) const {
        dataset result;
        for (auto const i : indices) {
            result.append(*this, i);
        }
        return result;
    }
    [[nodiscard]] dataset slice(std::size_t begin, std::size_t end) const {
        std::vector<std::size_t> indices(end - begin);
        std::iota(indices.begin(), indices.end(), begin);
        return select(indices);
    }
};

/// `bad`: whether to mix in NaN, infinities, and labels and groups out of range. All samples are unmasked.
inline dataset make_dataset(std::size_t n, std::uint64_t seed, bool bad) {
    std::mt19937_64 random{seed};
    std::uniform_real_distribution<float> unit{0.0F, 1.0F};
    std::normal_distribution<float> normal{0.0F, 1.0F};
    auto const below = [&](std::uint64_t bound) { return static_cast<std::int32_t>(random() % bound); };
    auto const sometimes = [&] { return bad && random() % 32 == 0; };
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();

    dataset d;
    for (std::size_t i = 0; i < n; ++i) {
        d.values.push_back(sometimes() ? nan : 10.0F + normal(random));
        d.targets.push_back(sometimes() ? nan : normal(random));
        d.predictions.push_back(sometimes() ? nan : d.targets.back() * 0.8F + 0.3F * normal(random));
        d.binary.push_back(sometimes() ? 7 : below(2));
        auto const p = 0.6F * unit(random) + (d.binary.back() == 1 ? 0.4F : 0.0F);
        d.probabilities.push_back(sometimes() ? nan : p);
        d.weights.push_back(static_cast<float>(below(16)) / 4.0F);
        d.seconds.push_back(unit(random));
        d.items.push_back(below(1000));
        d.positions.push_back(i);
        d.labels.push_back(sometimes() ? (below(2) == 0 ? -1 : 1000) : below(dataset::classes));
        d.predicted.push_back(sometimes() ? -3 : (below(2) == 0 ? d.labels.back() : below(dataset::classes)));
        d.groups.push_back(sometimes() ? 99 : below(4));
        float total = 0.0F;
        std::vector<float> row(dataset::classes);
        for (std::size_t c = 0; c < dataset::classes; ++c) {
            auto const right = d.labels.back() == static_cast<std::int32_t>(c) ? 1.5F : 0.0F;
            // Quarters make ties frequent.
            auto const score = static_cast<float>(static_cast<int>(4.0F * (normal(random) + right))) / 4.0F;
            d.scores.push_back(sometimes() ? nan : score);
            row[c] = unit(random) + 0.01F;
            total += row[c];
        }
        for (auto const x : row) {
            d.class_probabilities.push_back(x / total);
        }
        for (std::size_t c = 0; c < dataset::outputs; ++c) {
            d.output_targets.push_back(static_cast<float>(below(2)));
            d.output_predictions.push_back(sometimes() ? nan : 0.5F * unit(random) + 0.5F * d.output_targets.back());
        }
        d.mask.push_back(1);
    }
    return d;
}

/// Samples [0, d.size()) in random order.
inline std::vector<std::size_t> permutation(std::size_t n, std::uint64_t seed) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random{seed};
    for (std::size_t i = n; i > 1; --i) {
        std::swap(order[i - 1], order[random() % i]);
    }
    return order;
}

/// Cuts [0, n) into `parts` runs of random, often zero, length.
inline std::vector<std::size_t> cuts(std::size_t n, std::size_t parts, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::vector<std::size_t> at{0};
    for (std::size_t k = 1; k < parts; ++k) {
        at.push_back(random() % 3 == 0 ? 0 : random() % (n + 1));
    }
    at.push_back(n);
    std::sort(at.begin(), at.end());
    return at;
}

} // namespace tally::testing
