// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations between replicas. They are tags: an accumulator's own `travel` or `merge` implies one, `across` names
// another. A user-defined operation is a type with `static void merge(Acc& into, Acc const& next)`, applied in rank order.
#pragma once

#include <tally/core/fixed_string.hpp>

namespace tally::op {

/// Adds; integers modulo 2^64.
struct sum {
    static constexpr fixed_string name = "sum";
};
/// Adds, then divides by the number of replicas; for all_reduce of users' own data only, never for states.
struct mean {
    static constexpr fixed_string name = "mean";
};
/// Smallest value of the replicas that have one.
struct min {
    static constexpr fixed_string name = "min";
};
/// Largest value of the replicas that have one.
struct max {
    static constexpr fixed_string name = "max";
};
/// All replicas hold the same value, which counts once; replicas that differ are reported.
struct replicated {
    static constexpr fixed_string name = "replicated";
};
/// The value of the lowest rank that has one.
struct first {
    static constexpr fixed_string name = "first";
};
/// Gathers, and merges in rank order.
struct ordered {
    static constexpr fixed_string name = "ordered";
};

namespace detail {

template <class Op, class Acc>
concept user_defined = requires(Acc& into, Acc const& next) { Op::merge(into, next); };

} // namespace detail
} // namespace tally::op
