// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A collection offers its metrics by name.
// expect: a metric of a collection needs a name: collection<named<.?"x.?", M>, \.\.\.>
#include <tally/host/tracker.hpp>
#include <tally/metric/accuracy.hpp>
#include <tally/metric/mean.hpp>

#ifdef TALLY_OK
using metric = tally::collection<tally::named<"loss", tally::mean<>>, tally::named<"accuracy", tally::accuracy<>>>;
#else
using metric = tally::collection<tally::mean<>, tally::accuracy<>>;
#endif

tally::host::tracker<metric> tracker;
