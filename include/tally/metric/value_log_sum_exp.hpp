// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Log of the sum of exponentials of values. A metric; combines log-probabilities or log-weights without overflow.
#pragma once

#include <tally/accumulator/log_sum_exp.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>

namespace tally {

/// log(sum(w exp(x))), natural logarithm, by a running maximum (Blanchard, Higham, Higham 2021). Values of -inf add
/// nothing (all of them: -inf), one +inf gives +inf. NaN values and weights that are not positive are left out and
/// counted as dropped. No data: reason::no_samples. State: 32 bytes. Partition law: bounded, a few units in the last
/// place.
template <class T = float, class Weighting = unweighted>
struct value_log_sum_exp {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = value_log_sum_exp<T, Other>;

    struct state {
        log_sum_exp values;
    };
    TALLY_HD static constexpr auto observe(value<T> x) { return contribute(x.value); }
    TALLY_HD static result<double> finalize(state const& s) { return s.values.value(); }
};

} // namespace tally
