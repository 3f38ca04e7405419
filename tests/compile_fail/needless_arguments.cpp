// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A mean has no extents.
// expect: a tracker's arguments are run-time extents of its tables; this metric has none of this type
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>

#ifdef TALLY_OK
tally::host::tracker<tally::mean<>> tracker{};
#else
tally::host::tracker<tally::mean<>> tracker{5, 3.5, "x"};
#endif
