// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// mean_loss<Loss>: the mean over samples of a loss of prediction and target. A metric; squared, absolute, relative and
// logarithmic errors are losses of a few lines, and so is a loss of your own.
//
// | member of Loss                              | meaning                                                            |
// |---------------------------------------------|--------------------------------------------------------------------|
// | static T of(T prediction, T target)         | the loss of one sample; a template or a function of T              |
// | optional                                    |                                                                    |
// | static bool defined(T prediction, T target) | false where the loss has no value; true if one of them is NaN      |
//
// Nothing in a loss may branch on more than a selection: it is vectorised, and compiled for devices.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/metric/policies.hpp>

#include <concepts>

namespace tally {

namespace detail {

/// A loss that some pairs have no value of.
template <class Loss, class T>
concept partial_loss = requires(T x) { Loss::defined(x, x); };

} // namespace detail

/// sum(w loss(prediction, target)) / sum(w). The loss is computed in T, so that it can be added exactly; take T =
/// double where floats lose what you need (squares of float differences below 1e-19 or above 1e19 leave the range of
/// float). Samples with NaN are left out and counted as dropped (default: one NaN must not hide a whole epoch), or
/// with nan::propagate make the result NaN; samples for which the loss is not defined are always left out and
/// counted. Infinities follow IEEE 754. No data: reason::no_samples; weights that sum to zero: zero_denominator.
/// Inputs may be matrices: every element is a sample, so outputs are averaged uniformly; per_column keeps them apart.
/// State: 24 bytes and Sum. Partition law: that of Sum.
template <class Loss, class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
struct mean_loss {
    static_assert(std::floating_point<T>, "tally: a loss is computed in float or double: use T = double for integers");
    using weighting = Weighting;
    template <class Other>
    using with_weighting = mean_loss<Loss, T, Sum, Nan, Other>;

    struct state {
        total_of<Sum, Weighting> total;
        count_of<Weighting> samples;
        occurrences nans;
        occurrences undefined;
    };
    TALLY_HD static constexpr auto observe(prediction<T> p, target<T> t) {
        bool const missing = detail::either_nan(p.value, t.value);
        bool const present = detail::takes_part<Nan>(missing);
        T const loss = Loss::of(p.value, t.value);
        if constexpr (detail::partial_loss<Loss, T>) {
            bool const defined = Loss::defined(p.value, t.value);
            bool const keep = present && defined;
            return contribute(when(keep, loss), when(keep, one), when(missing, one), when(present && !defined, one));
        } else {
            return contribute(when(present, loss), when(present, one), when(missing, one), nothing);
        }
    }
    TALLY_HD static constexpr result<double> finalize(state const& s) {
        return ratio(s.total, s.samples).with_dropped(detail::dropped_of<Nan>(s.nans.value()) + s.undefined.value());
    }
};

} // namespace tally
