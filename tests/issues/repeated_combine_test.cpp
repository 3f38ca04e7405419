// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: a combine that leaves the sums of all replicas in the local state, so that the next one counts them
// again (ignite).
#include "support/engine.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/core/inputs.hpp>
#include <tally/metric/accuracy.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace tally;

TEST_CASE("repeated combine: update, combine, update, combine equals one pass") {
    // (right, samples): first update (1, 2) and (2, 2), second (0, 2) and (0, 2).
    std::vector<int> const t{1, 1};
    std::vector<int> const first[] = {{1, 0}, {1, 1}};
    std::vector<int> const second{0, 0};
    tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        testing::tracker<accuracy<>> tracker;
        tracker.update(predictions(first[comm.rank()]), targets(t));
        CHECK(tracker.combine(comm).value() == 0.75);
        CHECK(tracker.combine(comm).value() == 0.75);
        tracker.update(predictions(second), targets(t));
        CHECK(tracker.combine(comm).value() == 0.375); // the fault: 0.5
        CHECK(tracker.finalize().value() == (comm.rank() == 0 ? 0.25 : 0.5));
    });
}
