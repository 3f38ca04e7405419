// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// classes<Classes, Labels>: the source of metrics for single-label classification with any number of classes. Models
// class_source. Integer counters: the partition law holds bit for bit.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/guarded_extent.hpp>
#include <tally/layout/table.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/policies.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

/// Counters of classes<>: 24 bytes a class and 32 beside them.
/// A prediction that is no class (a row with a NaN, a label out of range, the ignored label) is a wrong prediction: its
/// target misses a sample, no class gains a false positive. A target that is no class is counted and left out.
template <std::size_t Classes, class Labels, class Weighting>
struct class_counters {
    using weighting = Weighting;
    using extent = detail::extent_or<Classes, num_classes>;

    struct state {
        table<cell_count_of<Weighting>, extents<extent>> true_positives;         ///< by class
        table<cell_count_of<Weighting>, guarded_extent<extent>> false_positives; ///< by predicted class
        table<cell_count_of<Weighting>, extents<extent>> false_negatives;        ///< by class of the target
        occurrences ignored_samples;
    };
    TALLY_HD static constexpr auto observe(predicted_class guess, target<class_index> truth) {
        bool const ignored = Labels::ignores(truth);
        bool const right = guess == truth;
        bool const wrong = !right && !ignored;
        return contribute(when(right && !ignored, at(truth)), when(wrong, at(guess, truth)), when(wrong, at(truth)),
                          when(ignored, one));
    }

    /// Samples whose target is no class: left out.
    static std::uint64_t dropped(state const& s) { return s.true_positives.outside() + s.false_negatives.outside(); }
    /// Samples whose target is a class and whose prediction is none: counted as wrong.
    static std::uint64_t invalid_predictions(state const& s) {
        return s.false_positives.outside() - s.false_negatives.outside();
    }
    static std::uint64_t ignored(state const& s) { return s.ignored_samples.value(); }
};

/// Reads class_counters.
template <std::size_t Classes, class Labels, class Weighting>
class class_counters_view {
    using counters = class_counters<Classes, Labels, Weighting>;

public:
    explicit class_counters_view(typename counters::state const& s) : state_{&s} {
        for (std::size_t k = 0; k < size(); ++k) {
            right_ += cell(s.true_positives, k);
            wrong_ += cell(s.false_negatives, k);
            deposits_ += deposits(s.true_positives, k) + deposits(s.false_negatives, k);
            taking_part_ += takes_part(k) ? 1 : 0;
            misplaced_ = misplaced_ || (!takes_part(k) && cell(s.false_positives, k) != 0);
        }
    }

    [[nodiscard]] std::size_t size() const { return state_->true_positives.cells(); }
    [[nodiscard]] bool takes_part(std::size_t k) const { return !Labels::ignores(static_cast<std::int32_t>(k)); }
    [[nodiscard]] class_outcomes outcomes(std::size_t k) const {
        auto const hits = cell(state_->true_positives, k);
        auto const false_alarms = cell(state_->false_positives, k);
        auto const misses = cell(state_->false_negatives, k);
        // Whether samples of other classes were left alone is told by deposits: weights would leave a rest of rounding.
        auto const others = deposits_ - deposits(state_->true_positives, k) - deposits(state_->false_negatives, k);
        bool const any = others != deposits(state_->false_positives, k);
        return {hits, false_alarms, misses, any ? total() - hits - false_alarms - misses : 0.0};
    }
    /// Each sample is one decision for one class: a wrong one is one false positive, of a class or of none.
    [[nodiscard]] class_outcomes pooled() const {
        return {right_, wrong_, wrong_, static_cast<double>(taking_part_ - 1) * total() - wrong_};
    }
    [[nodiscard]] double right() const { return right_; }
    [[nodiscard]] double total() const { return right_ + wrong_; }
    [[nodiscard]] reason why_no_total() const {
        return detail::why_no_total(state_->true_positives, state_->false_negatives);
    }
    [[nodiscard]] std::uint64_t dropped() const { return counters::dropped(*state_); }
    /// Wrong predictions that are none of the classes; exactly 0 if there are none, whatever the weights.
    [[nodiscard]] double unclassified() const {
        if (counters::invalid_predictions(*state_) == 0 && !misplaced_) {
            return 0;
        }
        double rest = wrong_;
        for (std::size_t k = 0; k < size(); ++k) {
            rest -= takes_part(k) ? cell(state_->false_positives, k) : 0;
        }
        return rest;
    }

private:
    template <class Table>
    static double cell(Table const& t, std::size_t k) {
        return detail::number_of(t.data()[k]);
    }

    template <class Table>
    static std::uint64_t deposits(Table const& t, std::size_t k) {
        return detail::deposits_in(t.data()[k]);
    }

    typename counters::state const* state_;
    std::uint64_t deposits_ = 0;
    double right_ = 0;
    double wrong_ = 0;
    std::int64_t taking_part_ = 0;
    bool misplaced_ = false; // the ignored label was predicted
};

/// Predicted classes against labels. update needs scores(...), probabilities(...) or integer predictions(...), and
/// targets(...). `Classes` is their number, or `dynamic`: then num_classes{n} is given to the tracker.
template <std::size_t Classes = dynamic, class Labels = labels::all>
struct classes {
    static constexpr fixed_string name = "classes";
    template <class Weighting>
    using counters = class_counters<Classes, Labels, Weighting>;
    template <class Weighting>
    using view = class_counters_view<Classes, Labels, Weighting>;
    using table = classes;
    static constexpr bool absent_applies = true;
};
static_assert(class_source<classes<>>);

} // namespace tally
