// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/nccl.hpp>
#include <tally/tally.hpp>

double mean_over(tally::nccl_communicator& comm, tally::host::tracker<tally::mean<>> const& tracker);
double mean_over(tally::nccl_communicator& comm, tally::host::tracker<tally::mean<>> const& tracker) {
    return tracker.combine(comm).value();
}
