// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The wider form is that of the metric which asks, not of mean.
// expect: elements don't fit what a metric asks for without loss: widen the metric's T to theirs
#include <tally/host/tracker.hpp>
#include <tally/metric/accuracy.hpp>

#ifdef TALLY_OK
using metric = tally::accuracy<tally::binary<tally::threshold<>, tally::labels::all, double>>;
#else
using metric = tally::accuracy<tally::binary<>>;
#endif

void use(tally::host::tracker<metric>& tracker, double const* p, int const* labels) {
    tracker.update(tally::predictions(p, 4), tally::targets(labels, 4));
}
