// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The accumulator concept: the smallest value that can be merged.
//
// | expression              | returns | meaning                                                              | cost |
// |-------------------------|---------|----------------------------------------------------------------------|------|
// | Acc{}                   | Acc     | identity: merging it changes nothing                                 | O(1) |
// | a.deposit(x)            | void    | takes one contribution                                               | O(1) |
// | a.merge(b)              | void    | joins another accumulator of the same replica; associative           | O(1) |
// | optional                |         |                                                                      |      |
// | a.deposit(x, w)         | void    | takes one contribution of weight w                                   | O(1) |
// | a.deposit_block(x, n)   | void    | takes x[0..n) at once; default: one by one                           | O(n) |
// | a.deposit_block(x, w, n)| void    | the same with weights w[0..n)                                        | O(n) |
// | a.travel(archive)       | void    | names its words by archive.sum(u64&) and archive.max(u64&); default: |      |
// |                         |         | raw bytes, gathered and merged in rank order                         |      |
// | a.fold(b)               | void    | joins the next replica's accumulator, if that is not `merge`         | O(1) |
// | a.value()               | number  | what it stands for                                                   | O(1) |
//
// Models: count, sum, exact_sum, fixed_sum, compensated_sum, minimum, maximum, arg_minimum, arg_maximum, moments,
// co_moments, exact_moments, exact_co_moments, log_sum_exp, across, cell_state.
#pragma once

#include <tally/config.hpp>
#include <tally/core/wire.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace tally {

template <class Acc>
concept accumulator = std::is_trivially_copyable_v<Acc> && std::is_default_constructible_v<Acc> &&
                      requires(Acc& into, Acc const& other) { into.merge(other); } &&
                      !requires { typename Acc::extents_type; }; // a table only refers to its cells: it can't be one

/// An accumulator that takes contributions of type X.
template <class Acc, class X>
concept accepts = requires(Acc& into, X const& contribution) { into.deposit(contribution); };

/// An accumulator that takes weighted contributions of type X.
template <class Acc, class X, class Weight>
concept accepts_weighted = requires(Acc& into, X const& x, Weight const& w) { into.deposit(x, w); };

/// Takes n contributions: the accumulator's own block path if it has one, else one by one. A block is a pointer, or a
/// pair_block for pairs.
template <class Acc, class Block>
constexpr void deposit_block(Acc& into, Block contributions, std::size_t n) {
    if constexpr (requires { into.deposit_block(contributions, n); }) {
        into.deposit_block(contributions, n);
    } else {
        for (std::size_t i = 0; i < n; ++i) {
            into.deposit(contributions[i]);
        }
    }
}

/// Takes n weighted contributions.
template <class Acc, class Block, class Weight>
constexpr void deposit_block(Acc& into, Block contributions, Weight const* weights, std::size_t n) {
    if constexpr (requires { into.deposit_block(contributions, weights, n); }) {
        into.deposit_block(contributions, weights, n);
    } else {
        for (std::size_t i = 0; i < n; ++i) {
            into.deposit(contributions[i], weights[i]);
        }
    }
}

} // namespace tally
