// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Smallest and largest value, with or without the position where it stands. Metrics; smallest and largest travel in the
// one unsigned maximum of a message, the forms with a position are gathered. Partition law: exact.
#pragma once

#include <tally/accumulator/arg_extrema.hpp>
#include <tally/accumulator/extrema.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>

#include <cstdint>

namespace tally {

namespace detail {

template <extreme Which, class T, class Weighting>
struct extreme_value {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = extreme_value<Which, T, Other>;

    struct state {
        extremum<Which, T> found;
    };
    TALLY_HD static constexpr auto observe(value<T> x) { return contribute(x.value); }
    TALLY_HD static constexpr result<T> finalize(state const& s) { return s.found.value(); }
};

} // namespace detail

/// A value and the global index of its sample; both or neither.
template <class T>
struct value_at {
    result<T> value;
    result<std::uint64_t> position;
};

namespace detail {

template <extreme Which, class T, class Weighting>
struct extreme_position {
    using weighting = Weighting;
    template <class Other>
    using with_weighting = extreme_position<Which, T, Other>;

    struct state {
        arg_extremum<Which, T> found;
    };
    TALLY_HD static constexpr auto observe(value<T> x, sample_position position) {
        return contribute(located(x.value, position.value));
    }
    TALLY_HD static constexpr value_at<T> finalize(state const& s) {
        return {s.found.value(), s.found.position().with_dropped(s.found.nans())};
    }
};

} // namespace detail

/// Smallest of values(...), as T. NaN has no order: it is counted as dropped and never wins (no policy: a propagated
/// NaN would travel as an integer and lose its meaning). -0 is below +0; infinities take part. No data or NaN only:
/// reason::no_samples. Weighted: samples of weight zero don't take part, others count alike. State: 24 bytes.
/// Partition law: exact.
template <class T = float, class Weighting = unweighted>
using smallest = detail::extreme_value<detail::extreme::minimum, T, Weighting>;

/// Largest of values(...); otherwise as smallest.
template <class T = float, class Weighting = unweighted>
using largest = detail::extreme_value<detail::extreme::maximum, T, Weighting>;

/// Smallest of values(...) and the global index of its sample, from positions(...): value_at<T>. Where several
/// samples hold it, the lowest position wins, so every split of the samples gives the same answer. NaN, infinities,
/// no data and weights as in smallest. In a matrix all elements of a row have the position of the row. State: 32
/// bytes, gathered. Partition law: exact.
template <class T = float, class Weighting = unweighted>
using smallest_at = detail::extreme_position<detail::extreme::minimum, T, Weighting>;

/// Largest of values(...) and the global index of its sample; otherwise as smallest_at.
template <class T = float, class Weighting = unweighted>
using largest_at = detail::extreme_position<detail::extreme::maximum, T, Weighting>;

} // namespace tally
