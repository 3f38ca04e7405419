// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Policies of metrics: what to do with NaN, ties, absent classes, zero denominators and an ignored label, how classes
// are averaged, and where a prediction becomes positive. They are types, so the choice is part of a metric's name and
// of its layout hash; replicas that chose differently can't be combined. Each metric's page says its defaults and why.
#pragma once

#include <tally/config.hpp>
#include <tally/core/class_index.hpp>
#include <tally/core/fixed_string.hpp>

#include <concepts>
#include <cstdint>
#include <ratio>

namespace tally {

/// A value that is NaN.
namespace nan {

/// The sample is left out together with its weight, and counted.
struct skip {
    static constexpr fixed_string name = "nan::skip";
};
/// The sample takes part, so that the result is NaN by IEEE 754; it is counted as well.
struct propagate {
    static constexpr fixed_string name = "nan::propagate";
};

} // namespace nan

/// Scores equal to the target's: which places of the ranking the tied classes get. The target's place, from 0:
namespace ties {

/// greater + equal scores at lower indices. At k = 1 this is exactly "the predicted class is the target".
struct lowest_index {
    static constexpr fixed_string name = "ties::lowest_index";
};
/// greater + all equal scores: the worst place. Constant scores are never right.
struct pessimistic {
    static constexpr fixed_string name = "ties::pessimistic";
};
/// Each order of the tied classes is equally likely: the expected credit, a fraction.
struct average {
    static constexpr fixed_string name = "ties::average";
};
/// greater only: the best place. Constant scores are always right; for comparison with tools that do this.
struct optimistic {
    static constexpr fixed_string name = "ties::optimistic";
};

} // namespace ties

/// How the values of classes become one.
namespace average {

/// Of the pooled counts of all classes.
struct micro {
    static constexpr fixed_string name = "average::micro";
};
/// Plain mean of the classes that have a value.
struct macro {
    static constexpr fixed_string name = "average::macro";
};
/// Mean of the classes that have a value, weighted by their samples.
struct weighted {
    static constexpr fixed_string name = "average::weighted";
};
/// Not at all: one result for each class, in a std::vector.
struct none {
    static constexpr fixed_string name = "average::none";
};

} // namespace average

/// A class that occurs, but for which the metric divides by zero: the precision of a class that was never predicted.
namespace zero_division {

/// It has no value (reason::zero_denominator) and does not take part in averages.
struct skip {
    static constexpr fixed_string name = "zero_division::skip";
};
struct zero {
    static constexpr fixed_string name = "zero_division::zero";
    static constexpr double value = 0;
};
struct one {
    static constexpr fixed_string name = "zero_division::one";
    static constexpr double value = 1;
};

} // namespace zero_division

/// A class that neither occurs nor was predicted.
namespace absent {

/// It has no value (reason::absent_class) and does not take part in averages.
struct skip {
    static constexpr fixed_string name = "absent::skip";
};
struct zero {
    static constexpr fixed_string name = "absent::zero";
    static constexpr double value = 0;
};
struct one {
    static constexpr fixed_string name = "absent::one";
    static constexpr double value = 1;
};

} // namespace absent

/// Which labels take part.
namespace labels {

struct all {
    static constexpr fixed_string name = "labels::all";
    TALLY_HD static constexpr bool ignores(std::int32_t) { return false; }
};
/// Samples whose target is Label are left out and counted apart. Label may lie inside the range of classes (then it is
/// no class any more, neither as target nor as prediction) or outside (-100, 255).
template <std::int32_t Label>
struct ignore {
    static_assert(Label != class_index::invalid(),
                  "tally: labels::ignore can't ignore what stands for labels that are NaN");
    static constexpr fixed_string name = "labels::ignore";
    TALLY_HD static constexpr bool ignores(std::int32_t label) { return label == Label; }
};

} // namespace labels

/// Which side of a threshold is positive.
namespace positive {

/// p > threshold: at 1/2 a tie is class 0, as the lowest index wins among equal scores.
struct above {
    static constexpr fixed_string name = "positive::above";
    template <class T>
    TALLY_HD static constexpr bool decide(T p, T at) {
        return p > at;
    }
};
/// p >= threshold.
struct at_least {
    static constexpr fixed_string name = "positive::at_least";
    template <class T>
    TALLY_HD static constexpr bool decide(T p, T at) {
        return p >= at;
    }
};

} // namespace positive

/// Where a prediction becomes positive: threshold<std::ratio<3, 10>>. Compared in the type of the predictions, to which
/// Ratio is rounded: 0.3f is not above 3/10. For logits, 1/2 of a probability is threshold<std::ratio<0>>.
template <class Ratio = std::ratio<1, 2>, class Positive = positive::above>
struct threshold {
    static constexpr fixed_string name = "threshold";
    template <std::floating_point T>
    TALLY_HD static constexpr bool is_positive(T p) {
        return Positive::decide(p, static_cast<T>(static_cast<double>(Ratio::num) / static_cast<double>(Ratio::den)));
    }
};

} // namespace tally
