// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// The main example with processes as replicas: everything but this file is that of examples/digits, and so are the
// numbers that it prints. Start it with mpirun -n 4, which is where the number of replicas comes from.

#include "digits/evaluation.hpp"
#include "digits/one_replica.hpp"
#include "digits/options.hpp"
#include "digits/training_run.hpp"

#include <tally/mpi.hpp>

#include <exception>
#include <iostream>
#include <variant>

namespace digits {

namespace {

/// A replica that fails here ends its communicator on the way out, which ends the wait of all others.
int run_replica(int argc, char** argv) {
    try {
        tally::mpi_communicator comm{MPI_COMM_WORLD};
        if (comm.rank() != 0) { // one replica speaks for all
            std::cout.setstate(std::ios::failbit);
            std::cerr.setstate(std::ios::failbit);
        }
        auto const parsed = parse_options(argc, argv);
        if (int const* const status = std::get_if<int>(&parsed)) return *status;
        run_as_replica(comm, std::get<options>(parsed), evaluate_with<evaluator, tally::mpi_communicator>);
        return 0;
    } catch (tally::replica_lost const&) {
        return exit_failure; // the replica that was lost says why
    } catch (std::exception const& error) {
        std::cerr << "digits: " << error.what() << '\n';
        return exit_failure;
    }
}

} // namespace

} // namespace digits

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int const status = digits::run_replica(argc, argv);
    MPI_Finalize();
    return status;
}
