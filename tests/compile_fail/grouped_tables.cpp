// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A table refers to cells that the engine owns. In a cell of another table it would have none, and count nothing.
// expect: a grouped metric can hold accumulators only; a metric with tables has no place in a cell
// expect: the first argument of table<Acc, Extents> must be an accumulator
#include <tally/host/tracker.hpp>
#include <tally/layout/grouped.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/mean.hpp>

using row = tally::table<tally::count, tally::extents<tally::fixed<3>>>;

#ifdef TALLY_OK
using inner = tally::mean<>;
using matrix = tally::table<tally::count, tally::extents<tally::fixed<2>, tally::fixed<3>>>;
#else
using inner = tally::confusion_matrix<2>;
using matrix = tally::table<row, tally::extents<tally::fixed<2>>>;
#endif

tally::host::tracker<tally::grouped<inner, 3>> tracker;
matrix cells;
