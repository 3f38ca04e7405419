// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// top_k says which decisions are right; the metric is what counts them.
// expect: a rule such as top_k<5> is no metric by itself: write accuracy<top_k<5>>
#include <tally/host/tracker.hpp>
#include <tally/metric/accuracy.hpp>

#ifdef TALLY_OK
using metric = tally::accuracy<tally::top_k<5>>;
#else
using metric = tally::top_k<5>;
#endif

tally::host::tracker<metric> tracker;
