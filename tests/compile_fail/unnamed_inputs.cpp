// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory without a word about what it holds.
// expect: update takes named inputs: update\(values\(v\)\), or what the metric asks for
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>

#include <vector>

void use(tally::host::tracker<tally::mean<>>& tracker, std::vector<float> const& v) {
#ifdef TALLY_OK
    tracker.update(tally::values(v));
#else
    tracker.update(v);
#endif
}
