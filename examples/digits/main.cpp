// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// The main example: data-parallel training of a small network on handwritten digits. Each replica is a thread with its
// own copy of the network; gradients are added up by tally::all_reduce, and the held-out samples are evaluated by all
// replicas together, each on its part. Run it with --help for the options.

#include "dataset.hpp"
#include "device.hpp"
#include "evaluation.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "run_log.hpp"
#include "training_run.hpp"

#include <tally/comm/replicas.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <variant>

#include <unistd.h>

namespace digits {

namespace {

/// A collective. The metrics are updated on a device if there is one.
tally::combined<evaluation> evaluate(tally::thread_communicator& comm, network<float> const& model,
                                     dataset const& samples) {
    static bool const on_device = !device_name().empty();
    return on_device ? evaluate_with<device_evaluator>(comm, model, samples)
                     : evaluate_with<evaluator>(comm, model, samples);
}

/// Evaluates once more on 1, 2, 3 and 8 replicas: sums, counts and curves must not depend on who saw which sample.
bool check_replica_counts(network<float> const& model, dataset const& samples, scores const& expected) {
    std::size_t different = 0;
    for (int const count : {1, 2, 3, 8}) {
        auto const each = tally::replicas{count}.run(
            [&](tally::thread_communicator& comm) { return scores_of(evaluate(comm, model, samples)); });
        for (scores const& seen : each) different += differences(seen, expected);
    }
    std::cout << "Evaluated again on 1, 2, 3 and 8 replicas: ";
    if (different == 0) {
        std::cout << "all " << num_compared << " values agree bit for bit.\n";
    } else {
        std::cout << different << " values differ.\n";
    }
    return different == 0;
}

int run(options chosen) {
    split samples;
    run_start start;
    try {
        dataset const all = read_csv(chosen.data);
        if (all.size() < 2) throw dataset_error(chosen.data.string() + ": one sample can't be split, add more");
        if (chosen.output) prepare_output(*chosen.output);
        start = start_run(chosen, all, true);
        samples = hold_out_a_fifth(all, chosen.seed);
    } catch (std::exception const& error) {
        std::cerr << "digits: " << error.what() << '\n';
        return exit_bad_input;
    }

    terminal const out = terminal::of(STDOUT_FILENO);
    std::cout << samples.training.size() << " samples to train on, " << samples.held_out.size() << " held out; "
              << chosen.replicas << (chosen.replicas == 1 ? " replica" : " replicas") << ", batches of " << chosen.batch
              << ", seed " << chosen.seed << ".\n";
    if (auto const device = device_name(); !device.empty()) std::cout << "Metrics on " << device << ".\n";
    if (start.from) std::cout << "Goes on after epoch " << start.first_epoch() - 1 << ".\n";
    std::cout << '\n';
    auto const of_each = tally::replicas{chosen.replicas}.run(
        [&](tally::thread_communicator& comm) { return train(comm, chosen, samples, start, out, evaluate); });
    trained const& result = of_each.front();
    scores const& last = result.history.back().held_out;
    std::cout << "\nHeld-out samples after the last epoch:\n\n";
    print_confusion(std::cout, last.confusion, out.colour);
    std::cout << '\n';
    print_classes(std::cout, last.confusion, out.colour);
    std::cout << "\nThe weights are the same bits on every replica.\n";
    bool const agree = check_replica_counts(result.model, samples.held_out, last);
    if (chosen.output) {
        write_reports(*chosen.output, result.history);
        std::cout << "Wrote epochs.csv, confusion.csv and classes.csv to " << chosen.output->string() << ".\n";
    }
    if (start.folder) print_log_place(std::cout, *start.folder);
    if (!std::cout.flush()) throw std::runtime_error("standard output can't be written");
    return agree ? 0 : exit_failure;
}

} // namespace

} // namespace digits

int main(int argc, char** argv) {
    try {
        auto const parsed = digits::parse_options(argc, argv);
        if (int const* const status = std::get_if<int>(&parsed)) return *status;
        return digits::run(std::get<digits::options>(parsed));
    } catch (std::exception const& error) {
        std::cerr << "digits: " << error.what() << '\n';
        return digits::exit_failure;
    }
}
