// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The sentence about a bad state reaches a user who only ever wrote a tracker.
// expect: every field of a state must be an accumulator \(count, sum<double>, \.\.\.\) or a table
#include <tally/host/tracker.hpp>

struct plain_number {
    struct state {
#ifdef TALLY_OK
        tally::sum<double> total;
#else
        double total;
#endif
    };
    static auto observe(tally::value<float> x) { return tally::contribute(x.value); }
    static double finalize(state const&) { return 0.0; }
};

void use(tally::host::tracker<plain_number>& tracker, float const* x) { tracker.update(tally::values(x, 3)); }
