// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// The main example with processes as replicas: everything but this file is that of examples/digits, and so are the
// numbers that it prints. Start it with mpirun -n 4, which is where the number of replicas comes from.

#include "digits/dataset.hpp"
#include "digits/evaluation.hpp"
#include "digits/options.hpp"
#include "digits/progress.hpp"
#include "digits/report.hpp"
#include "digits/training.hpp"

#include <tally/mpi.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <unistd.h>

namespace digits {

namespace {

/// A collective: every replica evaluates its part of the samples and all get the scores of the whole.
scores evaluate(tally::mpi_communicator& comm, network<float> const& model, dataset const& samples) {
    constexpr std::size_t rows_at_once = 128;
    range const own = part({0, samples.size()}, comm.size(), comm.rank());
    evaluator result;
    std::vector<float> logits(rows_at_once * num_classes);
    for (std::size_t begin = own.begin; begin < own.end; begin += rows_at_once) {
        std::size_t const rows = std::min(rows_at_once, own.end - begin);
        std::span const own_logits{logits.data(), rows * num_classes};
        model.forward({samples.pixels.data() + begin * num_pixels, rows * num_pixels}, own_logits);
        result.update(own_logits, {samples.labels.data() + begin, rows});
    }
    return result.combine(comm);
}

/// Trains on all replicas; the first one prints a row per epoch.
std::vector<epoch_record> train(tally::mpi_communicator& comm, options const& chosen, split const& samples,
                                terminal out) {
    using clock = std::chrono::steady_clock;
    bool const main_replica = comm.rank() == 0;
    std::vector<epoch_record> history;
    trainer own{samples.training, chosen.batch, chosen.learning_rate, chosen.seed};
    progress bar{chosen.epochs, own.batches()};
    table rows = epoch_table(std::cout, out.colour);
    if (main_replica) rows.header();
    for (int epoch = 1; epoch <= chosen.epochs; ++epoch) {
        auto const start = clock::now();
        own.epoch(comm, epoch, [&](std::size_t batch) {
            if (main_replica) bar.show(epoch, batch);
        });
        scores const held_out = evaluate(comm, own.model(), samples.held_out);
        std::chrono::duration<double> const elapsed = clock::now() - start;
        history.push_back({epoch, held_out, elapsed.count()});
        bar.clear();
        if (main_replica) rows.row(epoch_row(history.back()));
    }
    if (!same_on_all_replicas(comm, own.model().parameters())) {
        throw std::runtime_error("the replicas ended with different weights");
    }
    return history;
}

void run(tally::mpi_communicator& comm, options const& chosen) {
    bool const main_replica = comm.rank() == 0;
    dataset const all = read_csv(chosen.data);
    if (all.size() < 2) throw dataset_error(chosen.data.string() + ": one sample can't be split, add more");
    split const samples = hold_out_a_fifth(all, chosen.seed);
    terminal const out = terminal::of(STDOUT_FILENO);
    if (main_replica) {
        if (chosen.output) prepare_output(*chosen.output);
        std::cout << samples.training.size() << " samples to train on, " << samples.held_out.size() << " held out; "
                  << comm.size() << (comm.size() == 1 ? " replica" : " replicas") << ", batches of " << chosen.batch
                  << ", seed " << chosen.seed << ".\n\n";
    }
    auto const history = train(comm, chosen, samples, out);
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
