// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Calibration: whether events predicted with probability p happen in a share p of the cases. calibration_error looks at
// the confidence in the predicted class, binary_calibration_error at the probability of class 1; each has a reliability
// diagram, which uses the same counters.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/accumulator/probability_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/bins.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/table.hpp>
#include <tally/metric/policies.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tally {

/// How the gaps |rate - confidence| of the bins become one number; n_b is the samples of a bin, n all of them.
namespace norm {

/// sum n_b/n gap: the expected calibration error, ECE (Naeini, Cooper, Hauskrecht 2015).
struct l1 {
    static constexpr fixed_string name = "norm::l1";
};
/// sqrt(sum n_b/n gap^2).
struct l2 {
    static constexpr fixed_string name = "norm::l2";
};
/// Largest gap: the maximum calibration error, MCE.
struct max {
    static constexpr fixed_string name = "norm::max";
};

} // namespace norm

/// One bin of a reliability diagram: probabilities in [lower, upper), in the last bin [lower, upper].
struct reliability_bin {
    double lower;
    double upper;
    double samples;            ///< or their weight
    result<double> confidence; ///< mean predicted probability
    result<double> rate;       ///< share of the cases in which it happened
};

struct reliability {
    std::vector<reliability_bin> bins;
    std::uint64_t dropped;
};

namespace detail {

template <std::size_t Bins, class Sum, class Weighting>
struct calibration_state {
    table<cell_count_of<Weighting>, extents<fixed<Bins>>> samples;
    table<cell_count_of<Weighting>, extents<fixed<Bins>>> hits;
    table<total_of<Sum, Weighting>, extents<fixed<Bins>>> confidence;
    occurrences dropped;
    occurrences ignored;
};

/// The contribution of an event predicted with probability p.
template <std::size_t Bins, class T>
TALLY_HD constexpr auto calibration_contribution(T p, bool happened, bool ignored, bool usable) {
    bool const valid = !ignored && usable && p >= T{0} && p <= T{1};
    auto const bin = at(linear_bins<Bins>::index(p) - 1);
    return contribute(when(valid, bin), when(valid && happened, bin), when(valid, bin.add(p)),
                      when(!ignored && !valid, one), when(ignored, one));
}

template <class Norm, std::size_t Bins, class Sum, class Weighting>
TALLY_HD result<double> calibration_value(calibration_state<Bins, Sum, Weighting> const& s) {
    cell_count_of<Weighting> all;
    double total = 0;
    for (std::size_t b = 0; b < Bins; ++b) {
        auto const samples = number_of(s.samples(b));
        all.merge(s.samples(b));
        if (samples == 0.0) {
            continue;
        }
        auto const gap = std::fabs(number_of(s.hits(b)) - number_of(s.confidence(b))); // times samples
        if constexpr (std::is_same_v<Norm, norm::l1>) {
            total += gap;
        } else if constexpr (std::is_same_v<Norm, norm::l2>) {
            total += gap * (gap / samples);
        } else {
            static_assert(std::is_same_v<Norm, norm::max>,
                          "tally: the norm of a calibration error is norm::l1, norm::l2 or norm::max");
            total = gap / samples > total ? gap / samples : total;
        }
    }
    auto error = ratio(total, all);
    if (error.has_value()) {
        if constexpr (std::is_same_v<Norm, norm::l2>) {
            error = std::sqrt(error.as_double());
        } else if constexpr (std::is_same_v<Norm, norm::max>) {
            error = total;
        }
    }
    return error.with_dropped(s.dropped.value());
}

template <std::size_t Bins, class Sum, class Weighting>
reliability reliability_of(calibration_state<Bins, Sum, Weighting> const& s) {
    reliability diagram{{}, s.dropped.value()};
    diagram.bins.reserve(Bins);
    for (std::size_t b = 0; b < Bins; ++b) {
        diagram.bins.push_back({linear_bins<Bins>::edge(b), linear_bins<Bins>::edge(b + 1), number_of(s.samples(b)),
                                ratio(s.confidence(b), s.samples(b)), ratio(s.hits(b), s.samples(b))});
    }
    return diagram;
}

} // namespace detail

/// State and observe of calibration_error and reliability_diagram.
template <std::size_t Bins, class T, class Sum, class Weighting, class Labels, class RowSums>
struct calibration_counters {
    using weighting = Weighting;
    using state = detail::calibration_state<Bins, Sum, Weighting>;

    // The target's probability is asked for because it is NaN where the label is out of range.
    TALLY_HD static constexpr auto observe(max_probability<T, RowSums> confidence, predicted_class predicted,
                                           target_probability<T, RowSums> of_target, target<class_index> label) {
        return detail::calibration_contribution<Bins>(confidence.value, predicted == label, Labels::ignores(label),
                                                      of_target.value == of_target.value);
    }
};

/// State and observe of binary_calibration_error and binary_reliability_diagram.
template <std::size_t Bins, class T, class Sum, class Weighting>
struct binary_calibration_counters {
    using weighting = Weighting;
    using state = detail::calibration_state<Bins, Sum, Weighting>;

    TALLY_HD static constexpr auto observe(prediction<T> p, target<class_index> label) {
        return detail::calibration_contribution<Bins>(p.value, label == 1, false, label == 0 || label == 1);
    }
};

/// Calibration of the predicted class: in each bin of equal width of its probability, the gap between mean probability
/// and accuracy; over the bins by Norm (Guo, Pleiss, Sun, Weinberger 2017). From scores(...) by softmax, or
/// probabilities(...) as they are. 15 bins and l1 by default, as in that paper; the value depends on the bins, so
/// compare only equal ones. Bins are [lower, upper), the last one also contains 1. Empty bins do not count.
/// Dropped and counted: a NaN in the row, a label out of range, a probability outside [0, 1]. `ignored`:
/// labels::ignore. No data: reason::no_samples. Weights (not negative) that sum to zero: reason::zero_denominator.
/// Sum adds up the confidences of a bin: probability_sum, exact but for multiples of 2^-54, so the value has the same
/// bits for any split of the samples; sum<double> where there are weights.
/// State: 16 bytes and Sum a bin, + 16: 496 bytes for 15 bins. Partition law: that of Sum. RowSums: how the softmax is
/// rounded, row_sums::reproducible or row_sums::fast.
template <std::size_t Bins = 15, class Norm = norm::l1, class T = float, class Sum = probability_sum,
          class Weighting = unweighted, class Labels = labels::all, class RowSums = row_sums::reproducible>
struct calibration_error {
    using counters = calibration_counters<Bins, T, Sum, Weighting, Labels, RowSums>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = calibration_error<Bins, Norm, T, Sum, Other, Labels, RowSums>;

    TALLY_HD static result<double> finalize(state const& s) { return detail::calibration_value<Norm>(s); }
};

/// The bins of calibration_error, to be plotted. Shares its state.
template <std::size_t Bins = 15, class T = float, class Sum = probability_sum, class Weighting = unweighted,
          class Labels = labels::all, class RowSums = row_sums::reproducible>
struct reliability_diagram {
    using counters = calibration_counters<Bins, T, Sum, Weighting, Labels, RowSums>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = reliability_diagram<Bins, T, Sum, Other, Labels, RowSums>;

    static reliability finalize(state const& s) { return detail::reliability_of(s); }
};

/// Calibration of yes/no predictions: in each bin of predictions(...), the probability of class 1, the gap between mean
/// probability and share of positives. Everything else as calibration_error; labels other than 0 and 1 are dropped.
template <std::size_t Bins = 15, class Norm = norm::l1, class T = float, class Sum = probability_sum,
          class Weighting = unweighted>
struct binary_calibration_error {
    using counters = binary_calibration_counters<Bins, T, Sum, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = binary_calibration_error<Bins, Norm, T, Sum, Other>;

    TALLY_HD static result<double> finalize(state const& s) { return detail::calibration_value<Norm>(s); }
};

/// The bins of binary_calibration_error, to be plotted. Shares its state.
template <std::size_t Bins = 15, class T = float, class Sum = probability_sum, class Weighting = unweighted>
struct binary_reliability_diagram {
    using counters = binary_calibration_counters<Bins, T, Sum, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = binary_reliability_diagram<Bins, T, Sum, Other>;

    static reliability finalize(state const& s) { return detail::reliability_of(s); }
};

} // namespace tally
