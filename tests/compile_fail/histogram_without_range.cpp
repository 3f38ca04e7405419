// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A histogram whose lower and upper edge are the same has no bins. It must not take its range from somewhere else.
// expect: tally: the lower edge of a histogram must be below its upper edge
#include <tally/core/inputs.hpp>
#include <tally/host/tracker.hpp>
#include <tally/metric/histogram.hpp>

#include <ratio>
#include <vector>

#ifdef TALLY_OK
using bins = tally::linear_bins<5, std::ratio<7>, std::ratio<8>>;
#else
using bins = tally::linear_bins<5, std::ratio<7>, std::ratio<7>>;
#endif

int main() {
    tally::host::tracker<tally::histogram<bins>> tracker;
    tracker.update(tally::values(std::vector<float>{1, 2, 3}));
}
