// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// int32 has values between those of float.
// expect: elements don't fit what a metric asks for without loss: use its wider form, such as mean<double>
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>

#include <cstdint>

#ifdef TALLY_OK
using number = std::int16_t;
#else
using number = std::int32_t;
#endif

void use(tally::host::tracker<tally::mean<float>>& tracker, number const* x) { tracker.update(tally::values(x, 4)); }
