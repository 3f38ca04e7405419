// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// An update of unknown size would take no samples, and nobody would notice.
// expect: no input of update says how many samples there are: pass one besides positions\(first\)
#include <tally/host/tracker.hpp>

struct sample_counter {
    struct state {
        tally::count samples;
    };
    static auto observe(tally::sample_position) { return tally::contribute(tally::one); }
    static std::uint64_t finalize(state const& s) { return s.samples.value(); }
};

void use(tally::host::tracker<sample_counter>& tracker, float const* mask) {
#ifdef TALLY_OK
    tracker.update(tally::positions(17), tally::mask(mask, 4));
#else
    tracker.update(tally::positions(17));
#endif
}
