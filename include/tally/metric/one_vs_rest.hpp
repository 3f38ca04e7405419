// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Binned ranking metrics of several classes or labels, each against the rest: AUROC and average precision for
// multiclass probabilities (multiclass_...) and for independent yes/no labels (multilabel_...). Metrics with the same
// bins share one state. How the classes become one value is a policy; classes without a value never count as 0.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/table.hpp>
#include <tally/metric/auroc.hpp>
#include <tally/metric/average_precision.hpp>
#include <tally/metric/binned_scores.hpp>
#include <tally/metric/bracketed.hpp>
#include <tally/metric/policies.hpp>
#include <tally/metric/score_bins.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tally {

namespace detail {

template <class Bins, class Weighting, class Classes>
struct one_vs_rest_state {
    table<cell_count_of<Weighting>, extents<Classes, fixed<Bins::bins>, fixed<2>>> samples; ///< [class][bin][label]
    occurrences dropped;

    /// Matrix elements that were dropped, those of columns beyond the number of classes included.
    [[nodiscard]] TALLY_HD constexpr std::uint64_t lost() const { return dropped.value() + samples.outside(); }
};

/// The bins of one class.
template <class State>
TALLY_HD constexpr auto labels_of_class(State const& s, std::size_t index) {
    using counter = typename decltype(s.samples)::cell_type;
    return make_binned_labels<counter>(s.samples.extent(1), [&s, index](std::size_t bin, int label) {
        return static_cast<double>(s.samples(index, bin, label).value());
    });
}

/// The bins of all classes together.
template <class State>
TALLY_HD constexpr auto pooled_labels(State const& s) {
    using counter = typename decltype(s.samples)::cell_type;
    return make_binned_labels<counter>(s.samples.extent(1), [&s](std::size_t bin, int label) {
        double all = 0;
        for (std::size_t c = 0; c < s.samples.extent(0); ++c) {
            all += static_cast<double>(s.samples(c, bin, label).value());
        }
        return all;
    });
}

/// Formula is called with the bins of a class and gives a bracketed value.
template <class Average, class State, class Formula>
auto one_vs_rest_value(State const& s, Formula formula) {
    static_assert(std::is_same_v<Average, average::macro> || std::is_same_v<Average, average::weighted> ||
                      std::is_same_v<Average, average::micro> || std::is_same_v<Average, average::none>,
                  "tally: the average of a one-vs-rest metric is average::macro, weighted, micro or none");
    auto const classes = s.samples.extent(0);
    auto const of_class = [&](std::size_t c) -> bracketed {
        auto const labels = labels_of_class(s, c);
        auto const ranking = formula(labels);
        bool const absent = ranking.why() == reason::single_class && labels.total(1) == 0.0;
        return absent ? bracketed(reason::absent_class) : ranking;
    };
    if constexpr (std::is_same_v<Average, average::micro>) {
        return bracketed(formula(pooled_labels(s))).with_dropped(s.lost());
    } else if constexpr (std::is_same_v<Average, average::none>) {
        std::vector<bracketed> values;
        values.reserve(classes);
        for (std::size_t c = 0; c < classes; ++c) {
            values.push_back(of_class(c).with_dropped(s.lost()));
        }
        return values;
    } else {
        double shares = 0;
        double value = 0;
        double lower = 0;
        double upper = 0;
        reason why = reason::no_samples;
        for (std::size_t c = 0; c < classes; ++c) {
            auto const ranking = of_class(c);
            if (ranking.has_value()) {
                auto const share = std::is_same_v<Average, average::macro> ? 1.0 : labels_of_class(s, c).total(1);
                shares += share;
                value += share * ranking.as_double();
                lower += share * ranking.lower();
                upper += share * ranking.upper();
            } else if (ranking.why() != reason::no_samples) {
                why = ranking.why() == reason::absent_class ? reason::single_class : ranking.why();
            }
        }
        if (shares == 0.0) {
            return bracketed(why).with_dropped(s.lost());
        }
        return bracketed(value / shares, lower / shares, upper / shares).with_dropped(s.lost());
    }
}

} // namespace detail

/// State and observe of multiclass_auroc and multiclass_average_precision. State: 16 bytes a class and bin, + 8.
/// Dropped and counted, as matrix elements: rows with a label out of range or without a probability of it, elements
/// with NaN or a probability outside of the bins, columns beyond Classes.
template <std::size_t Classes, score_bins Bins, class T, class Weighting>
struct multiclass_scores {
    using weighting = Weighting;
    using state = detail::one_vs_rest_state<Bins, Weighting, detail::extent_or<Classes, num_classes>>;

    // The target's probability is asked for because it is NaN where the label is out of range.
    TALLY_HD static constexpr auto observe(column_index column, class_probability<T> p, target_probability<T> of_target,
                                           target<class_index> label) {
        auto const bin = Bins::index(p.value);
        bool const valid = bin >= 0 && of_target.value == of_target.value;
        return contribute(when(valid, at(column.value, bin, column == label)), when(!valid, one));
    }
};

/// State and observe of multilabel_auroc and multilabel_average_precision. State: 16 bytes a label and bin, + 8.
/// Dropped and counted, as matrix elements: targets other than 0 and 1, scores outside of the bins, NaN.
template <std::size_t Labels, score_bins Bins, class T, class Weighting>
struct multilabel_scores {
    using weighting = Weighting;
    using state = detail::one_vs_rest_state<Bins, Weighting, detail::extent_or<Labels, num_labels>>;

    TALLY_HD static constexpr auto observe(column_index column, prediction<T> score, target<class_index> label) {
        auto const bin = Bins::index(score.value);
        bool const valid = bin >= 0 && (label == 0 || label == 1);
        return contribute(when(valid, at(column.value, bin, label.value.value)), when(!valid, one));
    }
};

/// AUROC of each class against all others (see auroc), from scores(...) by softmax or probabilities(...), and
/// targets(...). Average: macro, the mean of the classes that have a value (Fawcett 2006; the default, all classes
/// count alike), weighted by positives, micro (all elements pooled), or none: a std::vector with one result a class.
/// A class without positives has reason::absent_class, one without negatives reason::single_class; neither counts as 0.
/// No class with a value: single_class, or no_samples. The bracket of an average is the average of the brackets.
/// Classes may be `dynamic`: give num_classes{n} to the tracker. State: 16,000 bytes a class with the default bins.
template <std::size_t Classes, score_bins Bins = probability_bins<>, class Average = average::macro, class T = float,
          class Weighting = unweighted>
struct multiclass_auroc {
    using counters = multiclass_scores<Classes, Bins, T, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = multiclass_auroc<Classes, Bins, Average, T, Other>;

    static auto finalize(state const& s) {
        return detail::one_vs_rest_value<Average>(s, [](auto const& bins) { return detail::area_under_roc(bins); });
    }
};

/// Average precision of each class against all others (see average_precision); the rest as multiclass_auroc, except
/// that a class without negatives has the value 1.
template <std::size_t Classes, score_bins Bins = probability_bins<>, class Average = average::macro, class T = float,
          class Weighting = unweighted>
struct multiclass_average_precision {
    using counters = multiclass_scores<Classes, Bins, T, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = multiclass_average_precision<Classes, Bins, Average, T, Other>;

    static auto finalize(state const& s) {
        return detail::one_vs_rest_value<Average>(s,
                                                  [](auto const& bins) { return detail::average_precision_of(bins); });
    }
};

/// AUROC of each label, from matrices predictions(...) and targets(...) of the same shape, samples x labels; a mask or
/// weights(...) have one element a sample. Averages and reasons as multiclass_auroc. Labels may be `dynamic`:
/// num_labels{n}.
template <std::size_t Labels, score_bins Bins = probability_bins<>, class Average = average::macro, class T = float,
          class Weighting = unweighted>
struct multilabel_auroc {
    using counters = multilabel_scores<Labels, Bins, T, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = multilabel_auroc<Labels, Bins, Average, T, Other>;

    static auto finalize(state const& s) {
        return detail::one_vs_rest_value<Average>(s, [](auto const& bins) { return detail::area_under_roc(bins); });
    }
};

/// Average precision of each label (see average_precision); inputs and averages as multilabel_auroc.
template <std::size_t Labels, score_bins Bins = probability_bins<>, class Average = average::macro, class T = float,
          class Weighting = unweighted>
struct multilabel_average_precision {
    using counters = multilabel_scores<Labels, Bins, T, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = multilabel_average_precision<Labels, Bins, Average, T, Other>;

    static auto finalize(state const& s) {
        return detail::one_vs_rest_value<Average>(s,
                                                  [](auto const& bins) { return detail::average_precision_of(bins); });
    }
};

} // namespace tally
