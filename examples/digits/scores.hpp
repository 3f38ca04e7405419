// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What one evaluation of the network gives: the values that the tables and files show, free of the
// library's types.
#pragma once

#include "dataset.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace digits {

inline constexpr std::array<std::string_view, 6> score_names{"loss", "top-1", "top-3", "macro F1", "calibration error",
                                                             "AUROC"};

/// counts[true class][predicted class]
using confusion_counts = std::array<std::array<std::uint64_t, num_classes>, num_classes>;

struct scores {
    std::array<double, score_names.size()> values; ///< in the order of `score_names`; NaN where there is no value
    confusion_counts confusion;
};

/// The number of values and counts that differ in any bit.
std::size_t differences(scores const& a, scores const& b);
inline constexpr std::size_t num_compared = score_names.size() + num_classes * num_classes;

/// Of one class, from the confusion counts; NaN where the denominator is zero.
struct class_scores {
    double precision; ///< of the samples predicted as this class, the share that is right
    double recall;    ///< of the samples of this class, the share that is found
    double f1;
    std::uint64_t support; ///< samples of this class
};

class_scores scores_of_class(confusion_counts const& confusion, std::size_t index);

} // namespace digits
