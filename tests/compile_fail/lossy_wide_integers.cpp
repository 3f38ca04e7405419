// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// int64 has values between those of double, so no mean of floating-point numbers takes it.
// expect: 64-bit integers don't fit what a metric asks for without loss: use an integer T, as in mean<std::int64_t>
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>

#include <cstdint>

#ifdef TALLY_OK
using metric = tally::mean<std::int64_t>;
#else
using metric = tally::mean<double>;
#endif

void use(tally::host::tracker<metric>& tracker, std::int64_t const* x) { tracker.update(tally::values(x, 4)); }
