// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "scores.hpp"

#include <bit>
#include <limits>

namespace digits {

std::size_t differences(scores const& a, scores const& b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        count += std::bit_cast<std::uint64_t>(a.values[i]) != std::bit_cast<std::uint64_t>(b.values[i]);
    }
    for (std::size_t i = 0; i < num_classes; ++i) {
        for (std::size_t j = 0; j < num_classes; ++j) count += a.confusion[i][j] != b.confusion[i][j];
    }
    return count;
}

class_scores scores_of_class(confusion_counts const& confusion, std::size_t index) {
    std::uint64_t predicted = 0;
    std::uint64_t support = 0;
    for (std::size_t other = 0; other < num_classes; ++other) {
        predicted += confusion[other][index];
        support += confusion[index][other];
    }
    auto const ratio = [](std::uint64_t numerator, std::uint64_t denominator) {
        return denominator == 0 ? std::numeric_limits<double>::quiet_NaN()
                                : static_cast<double>(numerator) / static_cast<double>(denominator);
    };
    std::uint64_t const right = confusion[index][index];
    return {ratio(right, predicted), ratio(right, support), ratio(2 * right, predicted + support), support};
}

} // namespace digits
