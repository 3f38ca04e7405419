// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// ranked_pairs: predictions and targets kept, for Spearman's rank correlation. What a ranking buffer holds, and the
// value it gives.
#pragma once

#include <tally/config.hpp>
#include <tally/core/fixed_string.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/metric/policies.hpp>
#include <tally/ranking/detail/record.hpp>
#include <tally/ranking/detail/uint128.hpp>
#include <tally/ranking/ranking_counts.hpp>

#include <cmath>
#include <concepts>

namespace tally {

/// Sums over the samples of products of ranks; ranks are doubled and counted from their mean, so they are integers.
struct pair_summary {
    detail::uint128 products; ///< in two's complement
    detail::uint128 predictions;
    detail::uint128 targets;
};

/// Values of ranked_pairs, over one replica or all.
template <nan_policy Nan>
class pair_ranking {
public:
    pair_ranking(ranking_counts const& counts, pair_summary const& summary) : counts_{counts}, summary_{summary} {}

    /// Spearman's rho, in [-1, 1]: Pearson's correlation of the ranks, equal numbers sharing the mean of their ranks.
    /// No samples: reason::no_samples; one: too_few_samples; all predictions or all targets equal: no_variance.
    [[nodiscard]] ranked_value spearman() const {
        return {coefficient(), detail::dropped_of<Nan>(counts_.dropped), counts_.overflow};
    }

    [[nodiscard]] ranking_counts const& counts() const { return counts_; }

private:
    [[nodiscard]] result<double> coefficient() const {
        if (std::same_as<Nan, nan::propagate> && counts_.dropped != 0) {
            return detail::not_a_number;
        }
        if (counts_.samples < 2) {
            return counts_.samples == 0 ? reason::no_samples : reason::too_few_samples;
        }
        if (summary_.predictions.is_zero() || summary_.targets.is_zero()) {
            return reason::no_variance;
        }
        // The root of a square is exact, so equal rankings give exactly 1.
        auto const below = std::sqrt(summary_.predictions.to_double() * summary_.targets.to_double());
        auto const rho = summary_.products.signed_to_double() / below;
        return rho > 1.0 ? 1.0 : (rho < -1.0 ? -1.0 : rho); // rounding may step over the bound
    }

    ranking_counts counts_;
    pair_summary summary_;
};

/// predictions(...) and targets(...) of type T, float or double. Samples with NaN on either side are left out and
/// counted, or propagate. The value is the exact quotient but for the roundings of the last division and root. Weights
/// have no meaning here. Memory of a sample: docs/metrics/exact_ranking.md.
template <class T = float, nan_policy Nan = nan::skip>
struct ranked_pairs {
    static constexpr fixed_string name = "ranked_pairs";
    using weighting = unweighted;
    using record = detail::ranking_record<detail::bits_of<T>, detail::bits_of<T>>;
    using summary = pair_summary;
    using values = pair_ranking<Nan>;

    TALLY_HD static constexpr record observe(prediction<T> p, target<T> t) {
        bool const valid = !detail::either_nan(p.value, t.value);
        return {valid ? detail::rank_key(p.value) : detail::bits_of<T>{},
                valid ? detail::rank_key(t.value) : detail::bits_of<T>{}, valid};
    }
};

} // namespace tally
