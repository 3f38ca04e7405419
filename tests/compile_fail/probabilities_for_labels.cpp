// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Probabilities given as predictions are no labels: compared as such, the accuracy would be 0.
// expect: predictions\(\.\.\.\) are numbers, not labels: use accuracy<binary<>> or give scores\(\.\.\.\)
#include <tally/host/tracker.hpp>
#include <tally/metric/accuracy.hpp>

#ifdef TALLY_OK
using metric = tally::accuracy<tally::binary<>>;
#else
using metric = tally::accuracy<>;
#endif

void use(tally::host::tracker<metric>& tracker, float const* p, int const* labels) {
    tracker.update(tally::predictions(p, 4), tally::targets(labels, 4));
}
