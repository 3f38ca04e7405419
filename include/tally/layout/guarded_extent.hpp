// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The shape of a table with one cell per class that is addressed by two class indices, at(cell, guard), and takes a
// contribution only if both are in range. `observe` doesn't know run-time extents; this is how a prediction is
// counted only for samples whose target is a class.
#pragma once

#include <tally/config.hpp>
#include <tally/layout/extents.hpp>

#include <cstddef>
#include <tuple>

namespace tally {

/// table<Acc, guarded_extent<E>> has E cells. at(i, j) goes to cell i, or is counted as outside if i or j is no index <
/// E.
template <class E>
struct guarded_extent {
    static constexpr std::size_t rank = 2;
    static constexpr bool is_static = extents<E>::is_static;

    std::size_t size[rank];

    template <class... Given>
    static guarded_extent from(std::tuple<Given...> const& sizes) {
        auto const n = extents<E>::from(sizes).cells();
        return {{n, n}};
    }

    [[nodiscard]] TALLY_HD constexpr std::size_t cells() const { return size[0]; }

    /// The cell, or cells() if either index is outside.
    template <class Index>
    [[nodiscard]] TALLY_HD constexpr std::size_t offset(Index const (&index)[rank]) const {
        auto const cell = static_cast<std::size_t>(index[0]); // a negative index becomes huge
        auto const guard = static_cast<std::size_t>(index[1]);
        return cell < size[0] && guard < size[1] ? cell : cells();
    }

    [[nodiscard]] constexpr bool operator==(guarded_extent const&) const = default;
};

} // namespace tally
