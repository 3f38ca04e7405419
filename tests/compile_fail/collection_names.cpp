// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Names of a collection.
// expect: the collection has no metric of this name
// expect: two metrics of a collection have the same name
// expect: a collection needs at least one metric
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>

#ifdef TALLY_OK
#define SECOND "two"
#define MISSPELT "loss"
using nothing = tally::collection<tally::named<"loss", tally::mean<>>>;
#else
#define SECOND "one"
#define MISSPELT "lost"
using nothing = tally::collection<>;
#endif

using loss_only = tally::collection<tally::named<"loss", tally::mean<>>>;
using twice = tally::collection<tally::named<"one", tally::mean<>>, tally::named<SECOND, tally::mean<double>>>;

auto get(tally::local<loss_only> const& result) { return result[tally::metric_name<MISSPELT>{}]; }
tally::host::tracker<twice> two_of_a_name;
tally::host::tracker<nothing> empty;
