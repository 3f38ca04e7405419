// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Bins and tables without room.
// expect: the lower edge of a histogram must be below its upper edge
// expect: a histogram needs at least one bin
// expect: a table needs at least one cell along each extent
// expect: the first argument of table<Acc, Extents> must be an accumulator
#include <tally/layout/bins.hpp>
#include <tally/layout/table.hpp>
#include <tally/metric/histogram.hpp>

#include <ratio>

#ifdef TALLY_OK
using upper = std::ratio<13>;
using cell = tally::count;
constexpr std::size_t some = 1;
#else
using upper = std::ratio<12>;
using cell = int;
constexpr std::size_t some = 0;
#endif

tally::histogram<tally::linear_bins<5, std::ratio<12>, upper>>::state gradients;
tally::linear_bins<some> no_bins;
tally::fixed<some> no_cells;
tally::table<cell, tally::extents<tally::fixed<3>>> numbers;
