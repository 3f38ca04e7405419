// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: a value of the legal type of an argument that secretly means something else: root -1 as "everybody".
#include "support/engine.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/comm/self.hpp>
#include <tally/core/inputs.hpp>
#include <tally/metric/mean.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace tally;

TEST_CASE("sentinel root: a root outside the group is refused on every replica, whatever its sign") {
    std::vector<float> const x{1.0F, 2.0F};
    for (int const root : {-1, -2, std::numeric_limits<int>::min(), 2, 99}) {
        CAPTURE(root);
        replicas{2}.run([&](thread_communicator& comm) {
            testing::tracker<mean<>> tracker;
            tracker.update(values(x));
            CHECK_THROWS_AS((void)tracker.combine_to(comm, root), configuration_error);
            CHECK(tracker.combine(comm).value() == 1.5); // the group still works
            CHECK(tracker.combine_to(comm, 1).has_value() == (comm.rank() == 1));
        });
    }
    self_communicator self;
    testing::tracker<mean<>> const tracker;
    CHECK_THROWS_AS((void)tracker.combine_to(self, -1), configuration_error);
}
