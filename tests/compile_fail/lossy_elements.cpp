// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements are widened, never narrowed: 2^24 + 1 as a double is no float.
// expect: elements don't fit what a metric asks for without loss: use its wider form, such as mean<double>
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>

#ifdef TALLY_OK
using metric = tally::mean<double>;
#else
using metric = tally::mean<float>;
#endif

void use(tally::host::tracker<metric>& tracker, double const* x) { tracker.update(tally::values(x, 4)); }
