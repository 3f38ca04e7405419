// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// One replica of a run whose number of replicas comes from elsewhere: from mpirun, or from the GPUs that there are.
#pragma once

#include "dataset.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "run_log.hpp"
#include "training_run.hpp"

#include <iostream>
#include <stdexcept>

#include <unistd.h>

namespace digits {

/// A collective: trains and evaluates as chosen. Replica 0 prints and writes what the main example does, for as many
/// replicas as the communicator has. `evaluate(comm, model, samples)` is a collective and gives their metrics.
template <class Communicator, class Evaluate>
void run_as_replica(Communicator& comm, options chosen, Evaluate const& evaluate) {
    bool const main_replica = comm.rank() == 0;
    dataset const all = read_csv(chosen.data);
    if (all.size() < 2) throw dataset_error(chosen.data.string() + ": one sample can't be split, add more");
    if (main_replica && chosen.output) prepare_output(*chosen.output);
    // Where a run is resumed, every replica reads its checkpoint: the folder must be there for all of them.
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
    auto const history = train(comm, chosen, samples, start, out, evaluate).history;
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

} // namespace digits
