// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Sum of values, weighted on request. A metric; all its fields add up between replicas.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/metric/nan_handling.hpp>
#include <tally/metric/policies.hpp>

#include <type_traits>

namespace tally {

/// sum(w x) over all samples. The result has the type that Sum gives: double for floats, T for integers (modulo
/// 2^64). NaN values are left out and counted as dropped (default: one NaN must not hide a whole epoch), or with
/// nan::propagate make the result NaN; infinities follow IEEE 754. No data: reason::no_samples, not 0, so that a
/// metric that was never fed is told from one whose values cancel. Weights change the sum only; weights that sum to
/// zero are legal. State: 16 bytes and Sum. Partition law: that of Sum.
template <class T = float, class Sum = default_sum<T>, nan_policy Nan = nan::skip, class Weighting = unweighted>
struct total {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = total<T, Sum, Nan, Other>;

    struct state {
        total_of<Sum, Weighting> values;
        occurrences samples;
        occurrences nans;
    };
    TALLY_HD static constexpr auto observe(value<T> x) {
        bool const missing = detail::is_nan(x.value);
        bool const keep = detail::takes_part<Nan>(missing);
        return contribute(when(keep, x.value), when(keep, one), when(missing, one));
    }
    TALLY_HD static constexpr auto finalize(state const& s) {
        using number = std::remove_cvref_t<decltype(s.values.value())>;
        bool const empty = s.samples.value() == 0;
        auto const added = empty ? result<number>(reason::no_samples) : result<number>(s.values.value());
        return added.with_dropped(detail::dropped_of<Nan>(s.nans.value()));
    }
};

} // namespace tally
