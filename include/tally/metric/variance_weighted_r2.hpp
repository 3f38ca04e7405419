// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// R2 of a model with several outputs as one number. A metric; it shares its state with per_column<r2_score>.
#pragma once

#include <tally/core/result.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/per_column.hpp>
#include <tally/metric/r2_score.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

/// Mean of the columns' R2, weighted by the squared deviations of their targets, which is 1 - sum(SSE) / sum(SST).
/// Columns with constant targets have no R2 and weigh nothing (as in scikit-learn, multioutput="variance_weighted");
/// if there is no other: reason::no_variance. Reasons, NaN and Moments as in r2_score. State: that of r2_score for each
/// column. Partition law: that of Moments.
template <class T = float, std::size_t Columns = dynamic, class Moments = default_co_moments<T>,
          nan_policy Nan = nan::skip, class Weighting = unweighted>
struct variance_weighted_r2 {
    using counters = per_column<r2_score<T, Moments, Nan, Weighting>, Columns>;
    template <class Other>
    using with_weighting = variance_weighted_r2<T, Columns, Moments, Nan, Other>;

    static result<double> finalize(typename counters::state const& s) {
        double unexplained = 0.0;
        double deviations = 0.0;
        std::uint64_t dropped = 0;
        auto why = reason::no_samples;
        for (std::size_t c = 0; c < s.cells.cells(); ++c) {
            auto const& column = s.cells(c).state();
            auto const r2 = r2_score<T, Moments, Nan, Weighting>::finalize(column);
            dropped += r2.dropped();
            if (r2.has_value()) {
                auto const sums = detail::error_sums_of(column);
                unexplained += sums.squared_errors;
                deviations += sums.target_deviations;
                why = reason::none;
            } else if (why == reason::no_samples) {
                why = r2.why();
            }
        }
        auto const pooled = why == reason::none ? result<double>(1.0 - unexplained / deviations) : result<double>(why);
        return pooled.with_dropped(dropped);
    }
};

} // namespace tally
