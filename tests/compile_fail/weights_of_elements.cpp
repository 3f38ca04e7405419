// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A weight for each element of a matrix, but the values are a vector.
// expect: weights\(\.\.\.\) is a matrix and the weighted input is none: give one weight a sample
#include <tally/host/tracker.hpp>
#include <tally/metric/mean.hpp>
#include <tally/weighted.hpp>

#include <vector>

void use(tally::host::tracker<tally::weighted<tally::mean<>>>& tracker, std::vector<float> const& x) {
#ifdef TALLY_OK
    tracker.update(tally::values(tally::matrix(x, 2)), tally::weights(tally::matrix(x, 2)));
#else
    tracker.update(tally::values(x), tally::weights(tally::matrix(x, 1)));
#endif
}
