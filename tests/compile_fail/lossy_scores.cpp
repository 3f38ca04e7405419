// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows are computed in float or double, and int64 has values between those of double.
// expect: elements don't fit what a metric asks for without loss
#include <tally/host/tracker.hpp>
#include <tally/metric/accuracy.hpp>

#include <cstdint>

#ifdef TALLY_OK
using number = std::int32_t;
#else
using number = std::int64_t;
#endif

void use(tally::host::tracker<tally::accuracy<>>& tracker, number const* scores, int const* labels) {
    tracker.update(tally::scores(scores, 4, 3), tally::targets(labels, 4));
}
