// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Mean of values, weighted on request.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>

namespace tally {

/// Arithmetic mean, sum(w x) / sum(w). NaN values are left out together with their weight, and counted as dropped;
/// infinities follow IEEE 754. No data: reason::no_samples. Weights that sum to zero: reason::zero_denominator.
/// State: 16 bytes and Sum. Partition law: that of Sum.
template <class T = float, class Sum = default_sum<T>, class Weighting = unweighted>
struct mean {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = mean<T, Sum, Other>;

    struct state {
        total_of<Sum, Weighting> total;
        count_of<Weighting> samples;
        occurrences nans;
    };
    TALLY_HD static constexpr auto observe(value<T> x) {
        bool const valid = x == x;
        return contribute(when(valid, x.value), when(valid, one), when(!valid, one));
    }
    TALLY_HD static constexpr auto finalize(state const& s) {
        return ratio(s.total, s.samples).with_dropped(s.nans.value());
    }
};

} // namespace tally
