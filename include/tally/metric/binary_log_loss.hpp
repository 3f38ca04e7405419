// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy of yes/no predictions: binary_log_loss (nats a sample) and normalised_entropy, which divides it by the
// entropy of the base rate. Both use the same counters.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/exp_log.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/multiply_add.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/log_loss.hpp>

namespace tally {

/// predictions(...) are probabilities of class 1. Outside [0, 1] they are invalid.
struct from_probabilities {
    static constexpr fixed_string name = "from_probabilities";

    /// -log p(label). log1p keeps the small losses of confident negatives.
    template <class T>
    TALLY_HD static T loss(T probability, bool label) {
        return label ? -math::log(probability) : -math::log1p(-probability);
    }
    template <class T>
    TALLY_HD static constexpr bool valid(T probability) {
        return probability >= T{0} && probability <= T{1};
    }
};

/// predictions(...) are logits. The loss of a confident mistake is its logit, not the infinity of a saturated sigmoid.
struct from_logits {
    static constexpr fixed_string name = "from_logits";

    template <class T>
    TALLY_HD static T loss(T logit, bool label) {
        T const against = label ? -logit : logit;
        T const size = against < T{0} ? -against : against;
        return (against > T{0} ? against : T{0}) + math::log1p(math::exp(-size));
    }
    template <class T>
    TALLY_HD static constexpr bool valid(T logit) {
        return logit == logit;
    }
};

/// State and observe of binary_log_loss and normalised_entropy. `infinite` as in log_loss_counters.
template <class Input, class T, class Sum, class Weighting>
struct binary_log_loss_counters {
    using weighting = Weighting;

    struct state {
        total_of<Sum, Weighting> finite_total;
        count_of<Weighting> negatives;
        count_of<Weighting> positives;
        count_of<Weighting> infinite;
        occurrences dropped;
    };
    TALLY_HD static auto observe(prediction<T> p, target<class_index> label) {
        bool const positive = label == 1;
        bool const valid = Input::valid(p.value) && (positive || label == 0);
        T const loss = Input::loss(p.value, positive);
        bool const finite = valid && loss <= detail::highest_of<T>;
        return contribute(when(finite, loss), when(valid && !positive, one), when(valid && positive, one),
                          when(valid && !finite, one), when(!valid, one));
    }
    TALLY_HD static constexpr result<double> mean(state const& s) {
        auto all = s.negatives;
        all.merge(s.positives);
        return detail::mean_loss(s.finite_total, s.infinite, all).with_dropped(s.dropped.value());
    }
};

/// Mean of -(y log p + (1 - y) log(1 - p)) in nats. Input says what predictions(...) are: probabilities of class 1, the
/// default, or logits. targets(...) are 0 or 1; other labels, NaN and probabilities outside [0, 1] are dropped and
/// counted. p = 0 for a positive or p = 1 for a negative is an infinite loss, and so is the mean (see log_loss);
/// state.infinite counts them. From logits only an infinite logit has an infinite loss.
/// No data: reason::no_samples. Weights that sum to zero: reason::zero_denominator.
/// State: 32 bytes and Sum. Partition law: that of Sum.
template <class Input = from_probabilities, class T = float, class Sum = default_sum<T>, class Weighting = unweighted>
struct binary_log_loss {
    using counters = binary_log_loss_counters<Input, T, Sum, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = binary_log_loss<Input, T, Sum, Other>;

    TALLY_HD static constexpr result<double> finalize(state const& s) { return counters::mean(s); }
};

/// binary_log_loss / H(r), r = positives / samples, H(r) = -(r log r + (1 - r) log(1 - r)): below 1 if the predictions
/// say more than the base rate does (He et al. 2014, "Practical lessons from predicting clicks on ads at Facebook").
/// The base rate is that of all replicas. One class only has no entropy: reason::single_class. A base rate outside
/// [0, 1], from negative weights: reason::zero_denominator. No data: as binary_log_loss, whose state it shares.
template <class Input = from_probabilities, class T = float, class Sum = default_sum<T>, class Weighting = unweighted>
struct normalised_entropy {
    using counters = binary_log_loss_counters<Input, T, Sum, Weighting>;
    using state = typename counters::state;
    template <class Other>
    using with_weighting = normalised_entropy<Input, T, Sum, Other>;

    TALLY_HD static result<double> finalize(state const& s) {
        auto const loss = counters::mean(s);
        if (!loss.has_value()) {
            return loss;
        }
        auto const positives = detail::number_of(s.positives);
        auto const negatives = detail::number_of(s.negatives);
        if (positives == 0.0 || negatives == 0.0) {
            return result<double>(reason::single_class).with_dropped(loss.dropped());
        }
        auto const rate = positives / (positives + negatives);
        auto const entropy =
            -(detail::rounded_product(rate, math::log(rate)) + detail::rounded_product(1.0 - rate, math::log1p(-rate)));
        if (!(rate > 0.0 && rate < 1.0 && entropy > 0.0)) {
            return result<double>(reason::zero_denominator).with_dropped(loss.dropped());
        }
        return result<double>(loss.as_double() / entropy).with_dropped(loss.dropped());
    }
};

} // namespace tally
