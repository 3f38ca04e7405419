// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A sum of integers can't hold weighted values: a weight of 1/2 would be cut to 0.
// expect: a field of a weighted metric can't take weights: use count_of<Weighting> for counts, total_of<Sum, Weighting> for sums
#include <tally/metric/total.hpp>
#include <tally/weighted.hpp>

#include <cstdint>

#ifdef TALLY_OK
using metric = tally::total<std::int64_t, tally::sum<double>>;
#else
using metric = tally::total<std::int64_t>;
#endif

static_assert(tally::check_metric<tally::weighted<metric>>());
