// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Weighting as a policy of a metric: whether samples count once or by a weight given to update.
// A metric declares its counters as count_of<Weighting>, and those in tables as cell_count_of<Weighting>, so one
// definition serves both; the engine hands the weight to every accumulator. weighted<M> is the weighted form of a
// metric or of a whole collection.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/weight_sum.hpp>
#include <tally/core/fixed_string.hpp>

#include <type_traits>

namespace tally {

/// Every sample counts once.
struct unweighted {
    static constexpr fixed_string name = "unweighted";
};
/// A sample counts by its weight, an element of weights(...) widened to T. Negative weights are allowed.
template <class T = float>
struct by_weight {
    static constexpr fixed_string name = "by_weight";
    using type = T;
};

namespace detail {

template <class Weighting>
struct counter_for {
    using type = count;
    using cell = count;
};
template <class T>
struct counter_for<by_weight<T>> {
    using type = weight_sum;
    using cell = weight_sum;
};
template <>
struct counter_for<by_weight<float>> {
    using type = exact_weight_sum;
    using cell = weight_sum;
};

template <class M>
struct weighting_of {
    using type = unweighted;
};
template <class M>
    requires requires { typename M::weighting; }
struct weighting_of<M> {
    using type = typename M::weighting;
};

template <class Weighting>
inline constexpr bool is_weighted_v = !std::is_same_v<Weighting, unweighted>;

} // namespace detail

/// count, or a sum of weights: exact if they are floats.
template <class Weighting>
using count_of = typename detail::counter_for<Weighting>::type;

/// The same for the cells of a table, of which there may be many: count, or weight_sum, which takes 16 bytes.
template <class Weighting>
using cell_count_of = typename detail::counter_for<Weighting>::cell;

} // namespace tally
