// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's part of the tests with 30 metrics, for the host's compiler, which is faster.
#include "nccl/thirty_metrics.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/tally.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace tally::testing {

namespace {

host::tracker<thirty> tracker_of(int rank) {
    std::vector<float> values;
    std::vector<int> predicted;
    std::vector<int> labels;
    for (int i = 0; i < 300 * rank; ++i) {
        values.push_back(0.1F * static_cast<float>(i * (rank + 3) % 1001) - 20.0F);
        predicted.push_back(i * 7 % 100);
        labels.push_back(i * i % 103);
    }
    tally::host::tracker<thirty> tracker;
    tracker.update(tally::values(values), tally::predictions(predicted), tally::targets(labels));
    return tracker;
}

} // namespace

states_of<thirty> samples_of(int rank) { return tracker_of(rank).merged(); }

std::vector<std::byte> combined_by_threads(int size) {
    return replicas{size, std::chrono::seconds{60}}.run(
        [](thread_communicator& comm) { return snapshot(tracker_of(comm.rank()).combine(comm)); })[0];
}

} // namespace tally::testing
