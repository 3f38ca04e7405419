// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Covariance, Pearson correlation and concordance of predictions and targets. Metrics that share one counter.
#pragma once

#include <tally/accumulator/default_moments.hpp>
#include <tally/config.hpp>
#include <tally/core/result.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/co_moment_counters.hpp>
#include <tally/metric/degrees_of_freedom.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/metric/policies.hpp>

#include <cmath>
#include <cstddef>

namespace tally {

/// sum(w (p - mean p)(t - mean t)) / (sum(w) - Ddof). Ddof = 1 (default, as in statistics packages) is the unbiased
/// estimate. Nothing cancels, constant data give exactly 0. Moments, the way in which it is computed:
///   exact_co_moments<float>  default for floats: the exact covariance rounded once, the same bits for any split of the
///                            samples, on any engine. State: 712 bytes. Partition law: exact.
///   co_moments               deviations from running means in double (Chan, Golub, LeVeque 1983): default for other T,
///                            and what takes weights. State: 64 bytes, gathered and merged in rank order. Partition
///                            law: bounded.
/// No data: reason::no_samples; total weight of Ddof or less: too_few_samples; Ddof = 0 and weights that sum to zero:
/// zero_denominator. NaN as in co_moment_counters.
template <class T = float, std::size_t Ddof = 1, class Moments = default_co_moments<T>, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
struct covariance {
    using counters = co_moment_counters<T, Moments, Nan, Weighting>;
    template <class Other>
    using with_weighting = covariance<T, Ddof, Moments, Nan, Other>;

    TALLY_HD static constexpr result<double> finalize(typename counters::state const& s) {
        auto const why = detail::why_no_freedom(s.pairs, Ddof);
        return (why == reason::none ? result<double>(s.pairs.covariance(Ddof)) : result<double>(why))
            .with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }
};

/// Pearson's r, in [-1, 1]: covariance over the product of standard deviations. Judged without absolute thresholds, so
/// data of any scale in the range of T work. No data: reason::no_samples; one sample: too_few_samples; predictions or
/// targets that are constant: no_variance. Moments as in covariance; with exact ones the three sums are rounded once
/// each.
template <class T = float, class Moments = default_co_moments<T>, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
struct pearson_correlation {
    using counters = co_moment_counters<T, Moments, Nan, Weighting>;
    template <class Other>
    using with_weighting = pearson_correlation<T, Moments, Nan, Other>;

    TALLY_HD static result<double> finalize(typename counters::state const& s) {
        return coefficient(s.pairs).with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }

private:
    template <class Pairs>
    TALLY_HD static result<double> coefficient(Pairs const& m) {
        if (m.deposits() < 2) {
            return m.deposits() == 0 ? reason::no_samples : reason::too_few_samples;
        }
        if (m.weight() == 0.0) {
            return reason::zero_denominator;
        }
        auto const xx = m.m2_x();
        auto const yy = m.m2_y();
        if (xx <= 0.0 || yy <= 0.0) {
            return reason::no_variance;
        }
        // One root of the product keeps perfect correlations at exactly 1; two roots where the product nears the end
        // of the range.
        auto const product = xx * yy;
        bool const in_range = product > 0x1p-1000 && product < 0x1p1000;
        auto const r = m.c_xy() / (in_range ? std::sqrt(product) : std::sqrt(xx) * std::sqrt(yy));
        return r > 1.0 ? 1.0 : (r < -1.0 ? -1.0 : r); // rounding may step over the bound; NaN stays
    }
};

/// Lin's concordance correlation coefficient, 2 s_pt / (s_p^2 + s_t^2 + (mean p - mean t)^2), in [-1, 1]: agreement
/// with the line prediction = target. Moments divide by sum(w) - Ddof. Ddof = 0 (default) is Lin's definition
/// (Biometrics 45, 1989) and exact for the data at hand; Ddof = 1 reproduces tools that use sample variances. No
/// data: reason::no_samples; total weight of Ddof or less: too_few_samples; all predictions and targets equal:
/// no_variance. Moments as in covariance.
template <class T = float, std::size_t Ddof = 0, class Moments = default_co_moments<T>, nan_policy Nan = nan::skip,
          class Weighting = unweighted>
struct concordance {
    using counters = co_moment_counters<T, Moments, Nan, Weighting>;
    template <class Other>
    using with_weighting = concordance<T, Ddof, Moments, Nan, Other>;

    TALLY_HD static constexpr result<double> finalize(typename counters::state const& s) {
        return coefficient(s.pairs).with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }

private:
    template <class Pairs>
    TALLY_HD static constexpr result<double> coefficient(Pairs const& m) {
        auto const why = detail::why_no_freedom(m, Ddof);
        if (why != reason::none) {
            return why;
        }
        auto const apart = m.mean_difference();
        auto const below = m.variance_x(Ddof) + m.variance_y(Ddof) + apart * apart;
        return below == 0.0 ? result<double>(reason::no_variance) : result<double>(2.0 * m.covariance(Ddof) / below);
    }
};

} // namespace tally
