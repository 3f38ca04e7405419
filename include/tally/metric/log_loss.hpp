// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy of class labels: log_loss (nats a sample) and perplexity, its exponential, from the same counters.
// The log softmax comes from the engine's row features; no probability is ever clipped.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/exp_log.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/policies.hpp>

namespace tally {

namespace detail {

/// Mean of losses of which the infinite ones are counted apart. Kept out of the sum, an infinite loss of weight zero
/// has no part in the mean, as it should; added to it, it would make the mean NaN.
template <class Sum, class Count>
TALLY_HD constexpr result<double> mean_loss(Sum const& finite, Count const& infinite, Count const& samples) {
    auto const mean = ratio(finite, samples);
    auto const lost = number_of(infinite);
    if (!mean.has_value() || lost == 0) {
        return mean;
    }
    return (lost > 0) == (number_of(samples) > 0) ? positive_infinity : -positive_infinity;
}

} // namespace detail

/// State and observe of log_loss and perplexity. `infinite` is how many samples (in a weighted metric: how much weight)
/// gave their true class probability 0; `ignored` samples are those with the label of labels::ignore.
template <class T, class Sum, class Weighting, class Labels, class RowSums>
struct log_loss_counters {
    using weighting = Weighting;

    struct state {
        total_of<Sum, Weighting> finite_total;
        count_of<Weighting> samples;
        count_of<Weighting> infinite;
        occurrences dropped;
        occurrences ignored;
    };
    TALLY_HD static constexpr auto observe(target_log_probability<T, RowSums> log_probability,
                                           target<class_index> label) {
        bool const ignored = Labels::ignores(label);
        // False for NaN (a NaN in the row, a label out of range) and for "probabilities" above 1.
        bool const valid = !ignored && log_probability.value <= T{0};
        bool const finite = valid && log_probability.value >= detail::lowest_of<T>;
        return contribute(when(finite, -log_probability.value), when(valid, one), when(valid && !finite, one),
                          when(!ignored && !valid, one), when(ignored, one));
    }
};

/// Mean of -log p(true class) in nats, from scores(...) by a log softmax that does not overflow, or from
/// probabilities(...) as they are. Also known as categorical cross-entropy, negative log-likelihood (Good 1952).
/// A true class of probability 0 has an infinite loss and so has the mean: clipping would report a number that the data
/// do not have. state.infinite tells how many there are, finite_part() is the mean of the others.
/// Dropped and counted: a NaN in the row of scores, a label out of range, a target probability outside [0, 1].
/// No data: reason::no_samples. Weights that sum to zero: reason::zero_denominator.
/// State: 32 bytes and Sum. Partition law: that of Sum. T is the type in which a loss is computed: double for double
/// scores. RowSums: how the log softmax is rounded, row_sums::reproducible or row_sums::fast.
template <class T = float, class Sum = default_sum<T>, class Weighting = unweighted, class Labels = labels::all,
          class RowSums = row_sums::reproducible>
struct log_loss {
    using counters = log_loss_counters<T, Sum, Weighting, Labels, RowSums>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = log_loss<T, Sum, Other, Labels, RowSums>;

    TALLY_HD static constexpr result<double> finalize(state const& s) {
        return detail::mean_loss(s.finite_total, s.infinite, s.samples).with_dropped(s.dropped.value());
    }
    /// Mean of the losses that are finite.
    TALLY_HD static constexpr result<double> finite_part(state const& s) {
        auto const samples = detail::number_of(s.samples) - detail::number_of(s.infinite);
        if (samples == 0.0) {
            return ratio(s.finite_total, count_of<Weighting>{}).with_dropped(s.dropped.value());
        }
        return ratio(s.finite_total, samples).with_dropped(s.dropped.value());
    }
};

/// exp(log_loss): the perplexity of a language model when each sample is a token. It is the exponential of the mean
/// over all tokens of all replicas; a mean of perplexities is another number, and larger. Infinite where log_loss is.
/// Padding is left out by mask(...) or by labels::ignore. Shares the counters of log_loss: no state of its own.
template <class T = float, class Sum = default_sum<T>, class Weighting = unweighted, class Labels = labels::all,
          class RowSums = row_sums::reproducible>
struct perplexity {
    using counters = log_loss_counters<T, Sum, Weighting, Labels, RowSums>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = perplexity<T, Sum, Other, Labels, RowSums>;

    TALLY_HD static result<double> finalize(state const& s) {
        auto const loss = log_loss<T, Sum, Weighting, Labels, RowSums>::finalize(s);
        return loss.has_value() ? result<double>(math::exp(loss.as_double())).with_dropped(loss.dropped()) : loss;
    }
};

} // namespace tally
