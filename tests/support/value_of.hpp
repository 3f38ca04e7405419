// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Shorthands of metric tests: the value of a metric after one update, and after one update on each of several replicas.
#pragma once

#include "support/engine.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/core/inputs.hpp>

#include <vector>

namespace tally::testing {

/// finalize() of a fresh tracker that took `inputs` in one update: the value, and the state behind it.
template <class M, class... Inputs>
local<M> results_of(Inputs const&... inputs) {
    testing::tracker<M> tracker;
    tracker.update(inputs...);
    return tracker.finalize();
}

/// The value alone.
template <class M, class... Inputs>
auto value_of(Inputs const&... inputs) {
    return results_of<M>(inputs...).get();
}

/// combine(...).get() of each replica, after update_of(tracker, rank) on each.
template <class M, class UpdateOf>
auto values_of_replicas(int replicas, UpdateOf update_of) {
    return tally::replicas{replicas}.run([&](tally::thread_communicator& comm) {
        testing::tracker<M> tracker;
        update_of(tracker, comm.rank());
        return tracker.combine(comm).get();
    });
}

} // namespace tally::testing
