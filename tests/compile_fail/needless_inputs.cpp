// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Inputs that nobody reads are mistakes: a misplaced weight would silently count for nothing.
// expect: update was given the same input twice
// expect: weights\(\.\.\.\) was given but no metric counts by weight: use weighted<M>
// expect: update was given an input that no metric of this tracker asks for
// expect: give either scores \(logits\) or probabilities, not both
#include <tally/host/tracker.hpp>
#include <tally/metric/accuracy.hpp>
#include <tally/metric/mean.hpp>

void use(tally::host::tracker<tally::mean<>>& mean, tally::host::tracker<tally::accuracy<>>& accuracy, float const* x,
         int const* labels) {
#ifdef TALLY_OK
    mean.update(tally::values(x, 4));
    accuracy.update(tally::scores(x, 2, 2), tally::targets(labels, 2));
#else
    mean.update(tally::values(x, 4), tally::values(x, 4));
    mean.update(tally::values(x, 4), tally::weights(x, 4));
    mean.update(tally::values(x, 4), tally::predictions(x, 4));
    accuracy.update(tally::scores(x, 2, 2), tally::probabilities(x, 2, 2), tally::targets(labels, 2));
#endif
}
