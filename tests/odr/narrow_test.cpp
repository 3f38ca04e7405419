// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Translation units compiled for different instruction sets in one program: narrow registers. Both are compiled without
// optimisation, so that nothing is inlined, and use different metrics on top of the same vector functions, which the
// linker must keep apart.
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>

#include <doctest/doctest.h>

#include <vector>

TEST_CASE("two instruction sets in one program: narrow registers") {
    // 0, 1, ..., 36 a hundred times: mean 18, variance 114.
    std::vector<float> x;
    for (int i = 0; i < 37 * 100; ++i) {
        x.push_back(static_cast<float>(i % 37));
    }
    tally::host::tracker<tally::mean<>> tracker;
    tracker.update(tally::values(x));
    CHECK(tracker.finalize().value() == 18.0);
}
