// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// "How do I control the reduction of a stateful metric across replicas?" Asked of Keras under MirroredStrategy.
//
// What was wrong there: each replica finalized its own result, and the strategy reduced the results: by their mean, by
// their sum, or by taking the first. None of them is the metric of all samples once replicas differ in size, and the
// operation named in the metric was not the one that ran. Here the states are combined, each part of a state by the
// operation in its type, and the result is computed once, from the combined state.
#include <tally/tally.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

using namespace tally;

struct error_of_all {
    struct state {
        sum<double> total;              // combined by sum
        count samples;                  // combined by sum
        across<op::max, count> longest; // counted inside a replica, combined by max: the busiest one
    };
    static auto observe(prediction<float> p, target<float> t) {
        return contribute(std::fabs(static_cast<double>(p) - static_cast<double>(t)), one, one);
    }
    struct value {
        result<double> error;
        std::uint64_t busiest;
    };
    static value finalize(state const& s) { return {ratio(s.total, s.samples), s.longest.value()}; }
};

} // namespace

int main() {
    // The mean over all is 20 / 5 = 4; the results of the replicas are 2 and 7, their mean 4.5, their sum 9, the first 2.
    std::vector<float> const errors[] = {{1, 1, 4}, {6, 8}};
    auto const values = replicas{2}.run([&](thread_communicator& comm) {
        auto const& mine = errors[comm.rank()];
        host::tracker<error_of_all> tracker;
        tracker.update(predictions(mine), targets(std::vector<float>(mine.size(), 0.0F)));
        auto const combined = tracker.combine(comm).get(); // the tracker is unchanged and can go on
        auto const result_of_one = tracker.finalize().get().error.value();
        std::printf("replica %d alone %.2f, all replicas %.2f over at most %d samples a replica\n", comm.rank(),
                    result_of_one, combined.error.value(), static_cast<int>(combined.busiest));
        return combined;
    });
    return values[0].error.value() == 4.0 && values[1].error.value() == 4.0 && values[0].busiest == 3 ? 0 : 1;
}
