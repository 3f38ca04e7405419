// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// multilabel<Count, Threshold, Labels, T>: the source of metrics for samples that may carry several labels at once, one
// column a label. Models class_source. Integer counters: the partition law holds bit for bit.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/table.hpp>
#include <tally/metric/binary.hpp>
#include <tally/metric/class_source.hpp>
#include <tally/metric/policies.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

/// Counters of multilabel<>: 32 bytes a label and 56 beside them. Targets are 0 or 1; others are counted and left out.
/// A prediction that is NaN is wrong whatever the target. Columns beyond Count are counted and left out.
template <std::size_t Count, class Threshold, class Labels, class T, class Weighting>
struct multilabel_counters {
    using weighting = Weighting;
    using by_label = table<cell_count_of<Weighting>, extents<detail::extent_or<Count, num_labels>>>;

    struct state {
        by_label true_positives;
        by_label false_positives;
        by_label false_negatives;
        by_label true_negatives;
        occurrences nan_predictions; ///< they are among the false ones
        occurrences bad_labels;
        occurrences ignored_elements;
    };
    TALLY_HD static constexpr auto observe(prediction<T> p, target<class_index> truth, column_index label) {
        auto const d = detail::decide<Threshold, Labels>(p.value, truth);
        auto const cell = at(label);
        return contribute(when(d.true_positive, cell), when(d.false_positive, cell), when(d.false_negative, cell),
                          when(d.true_negative, cell), when(d.invalid, one), when(d.bad_label, one),
                          when(d.ignored, one));
    }

    /// Elements whose target is neither 0 nor 1, or whose column is beyond the labels: left out.
    static std::uint64_t dropped(state const& s) {
        return s.bad_labels.value() + s.true_positives.outside() + s.false_positives.outside() +
               s.false_negatives.outside() + s.true_negatives.outside();
    }
    /// Elements whose prediction is NaN: counted as wrong.
    static std::uint64_t invalid_predictions(state const& s) { return s.nan_predictions.value(); }
    static std::uint64_t ignored(state const& s) { return s.ignored_elements.value(); }
};

/// Reads multilabel_counters.
template <class Counters>
class multilabel_view {
public:
    explicit multilabel_view(typename Counters::state const& s) : state_{&s} {
        for (std::size_t k = 0; k < size(); ++k) {
            auto const label = outcomes(k);
            pooled_.true_positives += label.true_positives;
            pooled_.false_positives += label.false_positives;
            pooled_.false_negatives += label.false_negatives;
            pooled_.true_negatives += label.true_negatives;
        }
    }

    [[nodiscard]] std::size_t size() const { return state_->true_positives.cells(); }
    [[nodiscard]] bool takes_part(std::size_t) const { return true; }
    [[nodiscard]] class_outcomes outcomes(std::size_t k) const {
        return {detail::number_of(state_->true_positives(k)), detail::number_of(state_->false_positives(k)),
                detail::number_of(state_->false_negatives(k)), detail::number_of(state_->true_negatives(k))};
    }
    [[nodiscard]] class_outcomes pooled() const { return pooled_; }
    [[nodiscard]] double right() const { return pooled_.true_positives + pooled_.true_negatives; }
    [[nodiscard]] double total() const { return right() + pooled_.false_positives + pooled_.false_negatives; }
    [[nodiscard]] std::uint64_t dropped() const { return Counters::dropped(*state_); }
    [[nodiscard]] reason why_no_total() const {
        return detail::why_no_total(state_->true_positives, state_->false_positives, state_->false_negatives,
                                    state_->true_negatives);
    }

private:
    typename Counters::state const* state_;
    class_outcomes pooled_;
};

/// Matrices predictions(...) and targets(...) of 0 and 1, one row a sample, one column a label. `Count` is the number
/// of labels, or `dynamic`: then num_labels{n} is given to the tracker.
template <std::size_t Count = dynamic, class Threshold = threshold<>, class Labels = labels::all, class T = float>
struct multilabel {
    static constexpr fixed_string name = "multilabel";
    template <class Weighting>
    using counters = multilabel_counters<Count, Threshold, Labels, T, Weighting>;
    template <class Weighting>
    using view = multilabel_view<counters<Weighting>>;
    using table = void;
    static constexpr bool absent_applies = true;
};
static_assert(class_source<multilabel<>>);

} // namespace tally
