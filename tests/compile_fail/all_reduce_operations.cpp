// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations of all_reduce that would lose something.
// expect: op::mean of integers truncates: all_reduce op::sum and divide where the result may be a fraction
// expect: all_reduce takes op::sum, op::mean, op::min or op::max
#include <tally/comm/all_reduce.hpp>
#include <tally/comm/self.hpp>

#include <span>

void use(tally::self_communicator& communicator, std::span<int> counts, std::span<float> gradients) {
#ifdef TALLY_OK
    tally::all_reduce(communicator, counts, tally::op::sum{});
    tally::all_reduce(communicator, gradients, tally::op::mean{});
#else
    tally::all_reduce(communicator, counts, tally::op::mean{});
    tally::all_reduce(communicator, gradients, tally::op::replicated{});
#endif
}
