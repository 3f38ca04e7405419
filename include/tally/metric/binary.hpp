// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// binary<Threshold, Labels, T> and two_classes<...>: sources of metrics for a yes-or-no decision from one number a
// sample. Both model class_source and share their counters: binary reports the positive class, two_classes both.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/policies.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

namespace detail {

/// Where one yes-or-no decision belongs: exactly one of the first four, bad_label and ignored holds.
struct decision {
    bool true_positive, false_positive, false_negative, true_negative;
    bool bad_label, ignored;
    bool invalid; // NaN: the decision is wrong whatever the target
};

template <class Threshold, class Labels, class T>
TALLY_HD constexpr decision decide(T prediction, std::int32_t truth) {
    bool const ignored = Labels::ignores(truth);
    bool const yes = truth == 1 && !ignored;
    bool const no = truth == 0 && !ignored;
    bool const invalid = prediction != prediction;
    bool const says_yes = Threshold::is_positive(prediction) && !invalid;
    bool const says_no = !Threshold::is_positive(prediction) && !invalid;
    return {yes && says_yes,         no && !says_no, yes && !says_yes,      no && says_no,
            !yes && !no && !ignored, ignored,        (yes || no) && invalid};
}

} // namespace detail

/// Counters of binary<>: 56 bytes. Targets are 0 or 1; others are counted and left out.
/// A prediction that is NaN is wrong whatever the target: a miss or a false alarm.
template <class Threshold, class Labels, class T, class Weighting>
struct binary_counters {
    using weighting = Weighting;

    struct state {
        count_of<Weighting> true_positives;
        count_of<Weighting> false_positives;
        count_of<Weighting> false_negatives;
        count_of<Weighting> true_negatives;
        occurrences nan_predictions; ///< they are among the false ones
        occurrences bad_labels;
        occurrences ignored_samples;
    };
    TALLY_HD static constexpr auto observe(prediction<T> p, target<class_index> truth) {
        auto const d = detail::decide<Threshold, Labels>(p.value, truth);
        return contribute(when(d.true_positive, one), when(d.false_positive, one), when(d.false_negative, one),
                          when(d.true_negative, one), when(d.invalid, one), when(d.bad_label, one),
                          when(d.ignored, one));
    }

    /// Samples whose target is neither 0 nor 1: left out.
    static std::uint64_t dropped(state const& s) { return s.bad_labels.value(); }
    /// Samples whose prediction is NaN: counted as wrong.
    static std::uint64_t invalid_predictions(state const& s) { return s.nan_predictions.value(); }
    static std::uint64_t ignored(state const& s) { return s.ignored_samples.value(); }
};

/// Reads binary_counters as the positive class (Classes = 1) or as class 0 and class 1 (Classes = 2).
template <class Counters, std::size_t Classes>
class binary_view {
public:
    explicit binary_view(typename Counters::state const& s)
        : positive_{detail::number_of(s.true_positives), detail::number_of(s.false_positives),
                    detail::number_of(s.false_negatives), detail::number_of(s.true_negatives)},
          dropped_{Counters::dropped(s)}, why_no_total_{detail::why_no_total(s.true_positives, s.false_positives,
                                                                             s.false_negatives, s.true_negatives)} {}

    [[nodiscard]] std::size_t size() const { return Classes; }
    [[nodiscard]] bool takes_part(std::size_t) const { return true; }
    [[nodiscard]] class_outcomes outcomes(std::size_t k) const {
        if (k + 1 == Classes) {
            return positive_;
        }
        return {positive_.true_negatives, positive_.false_negatives, positive_.false_positives,
                positive_.true_positives};
    }
    [[nodiscard]] class_outcomes pooled() const {
        if (Classes == 1) {
            return positive_;
        }
        auto const wrong = positive_.false_positives + positive_.false_negatives;
        return {right(), wrong, wrong, right()};
    }
    [[nodiscard]] double right() const { return positive_.true_positives + positive_.true_negatives; }
    [[nodiscard]] double total() const { return right() + positive_.false_positives + positive_.false_negatives; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
    [[nodiscard]] reason why_no_total() const { return why_no_total_; }
    [[nodiscard]] double unclassified() const { return 0; }

private:
    class_outcomes positive_;
    std::uint64_t dropped_;
    reason why_no_total_;
};

template <class Threshold = threshold<>, class Labels = labels::all, class T = float>
struct two_classes;

/// Predictions against a threshold, the value is that of class 1. update needs predictions(...) and targets(...) of 0
/// and 1; both may be matrices, then each element is a decision. `T` is the type of the predictions, float or double.
/// The positive class is always of interest, so absent::... does not apply to it.
template <class Threshold = threshold<>, class Labels = labels::all, class T = float>
struct binary {
    static constexpr fixed_string name = "binary";
    template <class Weighting>
    using counters = binary_counters<Threshold, Labels, T, Weighting>;
    template <class Weighting>
    using view = binary_view<counters<Weighting>, 1>;
    using table = two_classes<Threshold, Labels, T>;
    static constexpr bool absent_applies = false;
};

/// The same decisions, reported for class 0 and class 1: a mean IoU or macro F1 of both.
template <class Threshold, class Labels, class T>
struct two_classes {
    static constexpr fixed_string name = "two_classes";
    template <class Weighting>
    using counters = binary_counters<Threshold, Labels, T, Weighting>;
    template <class Weighting>
    using view = binary_view<counters<Weighting>, 2>;
    using table = two_classes;
    static constexpr bool absent_applies = true;
};
static_assert(class_source<binary<>> && class_source<two_classes<>>);

} // namespace tally
