// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: weights are accepted and not used.
#include "support/engine.hpp"

#include <tally/metric/auroc.hpp>

#include <tally/core/inputs.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

TEST_CASE("weights ignored: the area under a ROC curve is over pairs of weights") {
    std::vector<float> const scores{.1F, .4F, .35F, .8F};
    std::vector<int> const targets{0, 0, 1, 1};
    std::vector<float> const weights{1, 3, 2, 1};
    tally::testing::tracker<tally::weighted<tally::auroc<>>> tracker;
    tracker.update(tally::predictions(scores), tally::targets(targets), tally::weights(weights));
    CHECK(tracker.finalize().value() == 0.5);
    CHECK(tracker.finalize().get().lower() == 0.5);
    CHECK(tracker.finalize().get().upper() == 0.5);
}

} // namespace
