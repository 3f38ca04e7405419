// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// The main example with processes as replicas: everything but this file is that of examples/digits, and so are the
// numbers that it prints. Start it with mpirun -n 4, which is where the number of replicas comes from.

#include "digits/dataset.hpp"
#include "digits/evaluation.hpp"
#include "digits/options.hpp"
#include "digits/progress.hpp"
#include "digits/report.hpp"
#include "digits/run_log.hpp"
#include "digits/training_run.hpp"

#include <tally/mpi.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <variant>

#include <unistd.h>

namespace digits {

namespace {

void run(tally::mpi_communicator& comm, options chosen) {
    bool const main_replica = comm.rank() == 0;
    dataset const all = read_csv(chosen.data);
    if (all.size() < 2) throw dataset_error(chosen.data.string() + ": one sample can't be split, add more");
    if (main_replica && chosen.output) prepare_output(*chosen.output);
    // Where a run is resumed, every process reads its checkpoint: the folder must be there for all of them.
    run_start const start = start_run(chosen, all, main_replica);
    split const samples = hold_out_a_fifth(all, chosen.seed);
    terminal const out = terminal::of(STDOUT_FILENO);
    if (main_replica) {
        std::cout << samples.training.size() << " samples to train on, " << samples.held_out.size() << " held out; "
                  << comm.size() << (comm.size() == 1 ? " replica" : " replicas") << ", batches of " << chosen.batch
                  << ", seed " << chosen.seed << ".\n";
        if (start.from) std::cout << "Goes on after epoch " << start.first_epoch() - 1 << ".\n";
        std::cout << '\n';
    }
    auto const history =
        train(comm, chosen, samples, start, out, evaluate_with<evaluator, tally::mpi_communicator>).history;
    if (!main_replica) return;
    scores const& last = history.back().held_out;
    std::cout << "\nHeld-out samples after the last epoch:\n\n";
    print_confusion(std::cout, last.confusion, out.colour);
    std::cout << '\n';
    print_classes(std::cout, last.confusion, out.colour);
    std::cout << "\nThe weights are the same bits on every replica.\n";
    if (chosen.output) {
        write_reports(*chosen.output, history);
        std::cout << "Wrote epochs.csv, confusion.csv and classes.csv to " << chosen.output->string() << ".\n";
    }
    if (start.folder) print_log_place(std::cout, *start.folder);
    if (!std::cout.flush()) throw std::runtime_error("standard output can't be written");
}

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
        run(comm, std::get<options>(parsed));
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
