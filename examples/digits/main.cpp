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
#include "training.hpp"

#include <tally/comm/replicas.hpp>

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

template <class Evaluator>
scores evaluate_with(tally::thread_communicator& comm, network<float> const& model, dataset const& samples) {
    constexpr std::size_t rows_at_once = 128;
    range const own = part({0, samples.size()}, comm.size(), comm.rank());
    Evaluator result;
    std::vector<float> logits(rows_at_once * num_classes);
    for (std::size_t begin = own.begin; begin < own.end; begin += rows_at_once) {
        std::size_t const rows = std::min(rows_at_once, own.end - begin);
        std::span const own_logits{logits.data(), rows * num_classes};
        model.forward({samples.pixels.data() + begin * num_pixels, rows * num_pixels}, own_logits);
        result.update(own_logits, {samples.labels.data() + begin, rows});
    }
    return result.combine(comm);
}

/// A collective: every replica evaluates its part of the samples and all get the scores of the whole. The metrics are
/// updated on a device if there is one; the network is computed on the host.
scores evaluate(tally::thread_communicator& comm, network<float> const& model, dataset const& samples) {
    static bool const on_device = !device_name().empty();
    return on_device ? evaluate_with<device_evaluator>(comm, model, samples)
                     : evaluate_with<evaluator>(comm, model, samples);
}

struct trained {
    std::vector<epoch_record> history;
    network<float> model; ///< which all replicas agree on
};

/// Trains on all replicas and prints a row per epoch.
trained train(options const& chosen, split const& samples, terminal out) {
    trained result{{}, network<float>{chosen.seed}};
    tally::replicas{chosen.replicas}.run([&](tally::thread_communicator& comm) {
        using clock = std::chrono::steady_clock;
        bool const main_replica = comm.rank() == 0; // the only one that prints and keeps the history
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
            if (!main_replica) continue;
            std::chrono::duration<double> const elapsed = clock::now() - start;
            result.history.push_back({epoch, held_out, elapsed.count()});
            bar.clear();
            rows.row(epoch_row(result.history.back()));
        }
        if (!same_on_all_replicas(comm, own.model().parameters())) {
            throw std::runtime_error("the replicas ended with different weights");
        }
        if (main_replica) result.model = own.model();
    });
    return result;
}

/// Evaluates once more on 1, 2, 3 and 8 replicas: sums, counts and curves must not depend on who saw which sample.
bool check_replica_counts(network<float> const& model, dataset const& samples, scores const& expected) {
    std::size_t different = 0;
    for (int const count : {1, 2, 3, 8}) {
        auto const each = tally::replicas{count}.run(
            [&](tally::thread_communicator& comm) { return evaluate(comm, model, samples); });
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

int run(options const& chosen) {
    split samples;
    try {
        dataset const all = read_csv(chosen.data);
        if (all.size() < 2) throw dataset_error(chosen.data.string() + ": one sample can't be split, add more");
        samples = hold_out_a_fifth(all, chosen.seed);
        if (chosen.output) prepare_output(*chosen.output);
    } catch (std::exception const& error) {
        std::cerr << "digits: " << error.what() << '\n';
        return exit_bad_input;
    }

    terminal const out = terminal::of(STDOUT_FILENO);
    std::cout << samples.training.size() << " samples to train on, " << samples.held_out.size() << " held out; "
              << chosen.replicas << (chosen.replicas == 1 ? " replica" : " replicas") << ", batches of " << chosen.batch
              << ", seed " << chosen.seed << ".\n";
    if (auto const device = device_name(); !device.empty()) std::cout << "Metrics on " << device << ".\n";
    std::cout << '\n';
    trained const result = train(chosen, samples, out);
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
