// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// top_class<Labels> and top_k<K, Ties, Labels>: the rules by which accuracy decides that a sample is right, where no
// counts by class are kept.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/policies.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tally {

namespace detail {

/// Reads counters with the fields right, samples and a function dropped.
template <class Counters>
class right_view {
public:
    explicit right_view(typename Counters::state const& s)
        : right_{number_of(s.right)}, total_{number_of(s.samples)}, dropped_{Counters::dropped(s)},
          why_no_total_{why_zero(s.samples)} {}
    [[nodiscard]] double right() const { return right_; }
    [[nodiscard]] double total() const { return total_; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
    [[nodiscard]] reason why_no_total() const { return why_no_total_; }

private:
    double right_;
    double total_;
    std::uint64_t dropped_;
    reason why_no_total_;
};

} // namespace detail

/// Counters of top_class<>: 32 bytes.
template <class Labels, class Weighting>
struct top_class_counters {
    using weighting = Weighting;

    struct state {
        count_of<Weighting> right;
        count_of<Weighting> samples;
        occurrences bad_labels;
        occurrences ignored_samples;
    };
    TALLY_HD static constexpr auto observe(predicted_class guess, target<class_index> truth) {
        bool const ignored = Labels::ignores(truth);
        bool const taken = !ignored && truth >= 0;
        return contribute(when(taken && guess == truth, one), when(taken, one), when(!taken && !ignored, one),
                          when(ignored, one));
    }

    static std::uint64_t dropped(state const& s) { return s.bad_labels.value(); }
    static std::uint64_t ignored(state const& s) { return s.ignored_samples.value(); }
};

/// Right if the predicted class is the target: the lowest index of the highest score, or the label that was given as
/// prediction. A row with a NaN predicts nothing and is wrong. Targets that are no index (NaN, negative) are left out
/// and counted; the number of classes isn't known here, so a target beyond the last column is a sample that no
/// prediction gets right. Where that must be told apart: top_k<1> or classes<C>.
template <class Labels = labels::all>
struct top_class {
    static constexpr fixed_string name = "top_class";
    template <class Weighting>
    using counters = top_class_counters<Labels, Weighting>;
    template <class Weighting>
    using view = detail::right_view<counters<Weighting>>;
};

/// Counters of top_k<>: 40 bytes, with ties::average 128.
template <std::int32_t K, class Ties, class Labels, class Weighting>
struct top_k_counters {
    using weighting = Weighting;
    static constexpr bool fractional = std::is_same_v<Ties, ties::average>;

    struct state {
        std::conditional_t<fractional, total_of<default_sum<float>, Weighting>, count_of<Weighting>> right;
        count_of<Weighting> samples;
        occurrences bad_labels;
        occurrences short_rows; ///< rows of at most K classes: every target would be right
        occurrences ignored_samples;
    };
    TALLY_HD static constexpr auto observe(target_rank rank) {
        auto const r = rank.value;
        bool const ignored = Labels::ignores(r.target);
        bool const valid = !ignored && r.target_valid();
        bool const taken = valid && r.classes > K;
        auto const bad = when(!ignored && !valid, one);
        auto const short_row = when(valid && !taken, one);
        if constexpr (fractional) {
            return contribute(when(taken, credit(r)), when(taken, one), bad, short_row, when(ignored, one));
        } else {
            return contribute(when(taken && !r.row_has_nan && place(r) < K, one), when(taken, one), bad, short_row,
                              when(ignored, one));
        }
    }

    static std::uint64_t dropped(state const& s) { return s.bad_labels.value() + s.short_rows.value(); }
    static std::uint64_t ignored(state const& s) { return s.ignored_samples.value(); }

private:
    /// Place of the target in the ranking, from 0.
    TALLY_HD static constexpr std::int32_t place(rank_of_target const& r) {
        if constexpr (std::is_same_v<Ties, ties::lowest_index>) {
            return r.greater + r.equal_before;
        } else if constexpr (std::is_same_v<Ties, ties::pessimistic>) {
            return r.greater + r.equal_before + r.equal_after;
        } else {
            return r.greater;
        }
    }
    /// Share of the orders of the tied classes in which the target is among the first K.
    TALLY_HD static constexpr float credit(rank_of_target const& r) {
        auto const tied = r.equal_before + r.equal_after + 1;
        auto const free = K - r.greater;
        auto const places = free < 0 ? 0 : free < tied ? free : tied;
        return r.row_has_nan ? 0.0F : static_cast<float>(places) / static_cast<float>(tied);
    }
};

/// Right if the target is among the K highest scores. update needs scores(...) or probabilities(...), and targets(...).
/// ties::lowest_index by default: at K = 1 it agrees with top_class, and more K never make it worse; nor do constant
/// scores look perfect. A row with a NaN is wrong. Targets outside the columns are left out and counted, and so are
/// rows of at most K columns, where every target would be right: if all rows are so short, there is no value.
template <std::int32_t K, class Ties = ties::lowest_index, class Labels = labels::all>
struct top_k {
    static_assert(K > 0, "tally: top_k<K> needs a K of at least 1");
    static constexpr fixed_string name = "top_k";
    template <class Weighting>
    using counters = top_k_counters<K, Ties, Labels, Weighting>;
    template <class Weighting>
    using view = detail::right_view<counters<Weighting>>;
};

} // namespace tally
