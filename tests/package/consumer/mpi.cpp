// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/mpi.hpp>
#include <tally/tally.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    bool right = false;
    {
        tally::mpi_communicator comm{MPI_COMM_WORLD};
        tally::host::tracker<tally::mean<>> tracker;
        tracker.update(tally::values(std::vector<float>{1, 3}));
        right = tracker.combine(comm).value() == 2.0;
    }
    MPI_Finalize();
    std::puts(right ? "consumer_mpi: ok" : "consumer_mpi: a wrong mean");
    return right ? 0 : 1;
}
