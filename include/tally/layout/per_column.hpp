// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// per_column<M, Columns>: one state of M for each column of the input matrices, in one table: the value of each output
// of a model instead of their mean. Columns beyond the table are counted, never written.
#pragma once

#include <tally/core/metric.hpp>
#include <tally/core/roles.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/grouped.hpp>

#include <cstddef>

namespace tally {

/// Run-time extent of per_column<M>: tracker<per_column<M>> t{num_columns{n}}.
struct num_columns {
    std::size_t value;
};

/// M for each of `Columns` columns, or of num_columns{n} if Columns is `dynamic`: grouped_values, one entry a column,
/// and in `outside` the elements of columns beyond. Inputs are matrices, predictions(p, rows, columns); vectors given
/// beside them hold for a whole row. A column without samples has M's reason. weighted<per_column<M>> is
/// per_column<weighted<M>>. Memory: Columns states of M. M holds accumulators only, no tables. Partition law: that of
/// M.
template <class M, std::size_t Columns = dynamic>
using per_column = detail::indexed_metric<M, detail::extent_or<Columns, num_columns>, column_index>;

} // namespace tally
