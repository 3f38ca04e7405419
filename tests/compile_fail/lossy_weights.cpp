// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The type of the weights is that of weighted<M, T>, not of the metric.
// expect: weights' elements don't fit float without loss: use weighted<M, double>
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>
#include <tally/weighted.hpp>

#ifdef TALLY_OK
using metric = tally::weighted<tally::mean<double>, double>;
#else
using metric = tally::weighted<tally::mean<double>>;
#endif

void use(tally::host::tracker<metric>& tracker, double const* x) {
    tracker.update(tally::values(x, 4), tally::weights(x, 4));
}
