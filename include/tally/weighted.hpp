// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// weighted<M>: the form of a metric, or of every metric of a collection, in which samples count by weights(...).
#pragma once

#include <tally/collection.hpp>
#include <tally/core/weighting.hpp>

namespace tally {

namespace detail {

/// A metric without a weighting parameter: every accumulator of its state is handed the weight. Its counts must be
/// able to hold weights; check_metric says so where they can't.
template <class M, class T>
struct weighted_metric : M {
    using weighting = by_weight<T>;
};

template <class M, class T>
struct weighted_form {
    using type = weighted_metric<M, T>;
};
template <class M, class T>
    requires requires { typename M::template with_weighting<by_weight<T>>; }
struct weighted_form<M, T> {
    using type = typename M::template with_weighting<by_weight<T>>;
};
template <class... Named, class T>
struct weighted_form<collection<Named...>, T> {
    using type = collection<named<Named::name, typename weighted_form<typename Named::metric, T>::type>...>;
};

} // namespace detail

/// M with weights of type T, which are widened to T without loss.
template <class M, class T = float>
using weighted = typename detail::weighted_form<M, T>::type;

} // namespace tally
