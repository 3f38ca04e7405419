// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Covariance, Pearson correlation and concordance of predictions and targets. Metrics that share one counter.
#pragma once

#include <tally/accumulator/co_moments.hpp>
#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/degrees_of_freedom.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/metric/policies.hpp>

#include <cmath>
#include <cstddef>

namespace tally {

/// Counters of covariance, pearson_correlation and concordance: means, sums of squared deviations and of their
/// products in double, merged by Chan, Golub, LeVeque 1983. Samples with NaN on either side are left out and counted,
/// or propagate. State: 64 bytes, gathered and merged in rank order. Partition law: bounded.
template <class T, nan_policy Nan, class Weighting>
struct co_moment_counters {
    using weighting = Weighting;
    struct state {
        co_moments pairs;
        occurrences nans;
    };
    TALLY_HD static constexpr auto observe(prediction<T> p, target<T> t) {
        bool const missing = detail::either_nan(p.value, t.value);
        return contribute(when(detail::takes_part<Nan>(missing), paired(p.value, t.value)), when(missing, one));
    }
};

/// sum(w (p - mean p)(t - mean t)) / (sum(w) - Ddof). Ddof = 1 (default, as in statistics packages) is the unbiased
/// estimate. No data: reason::no_samples; total weight of Ddof or less: too_few_samples; Ddof = 0 and weights that sum
/// to zero: zero_denominator. Constant data: 0, exactly. Otherwise as co_moment_counters.
template <class T = float, std::size_t Ddof = 1, nan_policy Nan = nan::skip, class Weighting = unweighted>
struct covariance {
    using counters = co_moment_counters<T, Nan, Weighting>;
    template <class Other>
    using with_weighting = covariance<T, Ddof, Nan, Other>;

    TALLY_HD static constexpr result<double> finalize(typename counters::state const& s) {
        auto const& m = s.pairs;
        return detail::per_degree_of_freedom(m.c_xy(), m.weight(), m.deposits(), Ddof)
            .with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }
};

/// Pearson's r, in [-1, 1]: covariance over the product of standard deviations. Judged without absolute thresholds, so
/// data of any scale in the range of T work. No data: reason::no_samples; one sample: too_few_samples; predictions or
/// targets that are constant: no_variance. Otherwise as co_moment_counters.
template <class T = float, nan_policy Nan = nan::skip, class Weighting = unweighted>
struct pearson_correlation {
    using counters = co_moment_counters<T, Nan, Weighting>;
    template <class Other>
    using with_weighting = pearson_correlation<T, Nan, Other>;

    TALLY_HD static result<double> finalize(typename counters::state const& s) {
        return coefficient(s.pairs).with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }

private:
    TALLY_HD static result<double> coefficient(co_moments const& m) {
        if (m.deposits() < 2) {
            return m.deposits() == 0 ? reason::no_samples : reason::too_few_samples;
        }
        if (m.weight() == 0.0) {
            return reason::zero_denominator;
        }
        if (m.m2_x() <= 0.0 || m.m2_y() <= 0.0) {
            return reason::no_variance;
        }
        // One root of the product keeps perfect correlations at exactly 1; two roots where the product nears the end
        // of the range.
        auto const product = m.m2_x() * m.m2_y();
        bool const in_range = product > 0x1p-1000 && product < 0x1p1000;
        auto const r = m.c_xy() / (in_range ? std::sqrt(product) : std::sqrt(m.m2_x()) * std::sqrt(m.m2_y()));
        return r > 1.0 ? 1.0 : (r < -1.0 ? -1.0 : r); // rounding may step over the bound; NaN stays
    }
};

/// Lin's concordance correlation coefficient, 2 s_pt / (s_p^2 + s_t^2 + (mean p - mean t)^2), in [-1, 1]: agreement
/// with the line prediction = target. Moments divide by sum(w) - Ddof. Ddof = 0 (default) is Lin's definition
/// (Biometrics 45, 1989) and exact for the data at hand; Ddof = 1 reproduces tools that use sample variances. No
/// data: reason::no_samples; total weight of Ddof or less: too_few_samples; all predictions and targets equal:
/// no_variance.
template <class T = float, std::size_t Ddof = 0, nan_policy Nan = nan::skip, class Weighting = unweighted>
struct concordance {
    using counters = co_moment_counters<T, Nan, Weighting>;
    template <class Other>
    using with_weighting = concordance<T, Ddof, Nan, Other>;

    TALLY_HD static constexpr result<double> finalize(typename counters::state const& s) {
        return coefficient(s.pairs).with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }

private:
    TALLY_HD static constexpr result<double> coefficient(co_moments const& m) {
        auto const apart = m.mean_x() - m.mean_y();
        auto const product = detail::per_degree_of_freedom(2.0 * m.c_xy(), m.weight(), m.deposits(), Ddof);
        auto const squares = detail::per_degree_of_freedom(m.m2_x() + m.m2_y(), m.weight(), m.deposits(), Ddof);
        if (!product.has_value()) {
            return product;
        }
        auto const below = squares.as_double() + apart * apart;
        return below == 0.0 ? result<double>(reason::no_variance) : result<double>(product.as_double() / below);
    }
};

} // namespace tally
