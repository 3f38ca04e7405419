// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What was combined has values and no update, so that nothing is counted twice.
// expect: (no member named 'update'|has no member named 'update')
#include <tally/comm/self.hpp>
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>

double use(tally::host::tracker<tally::mean<>>& tracker, tally::self_communicator& communicator, float const* x) {
    auto const combined = tracker.combine(communicator);
#ifdef TALLY_OK
    tracker.update(tally::values(x, 4));
#else
    combined.update(tally::values(x, 4));
#endif
    return combined.value();
}
