// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole run, the same for replicas that are threads and replicas that are processes: train, evaluate, print a row, log,
// and keep a checkpoint, epoch by epoch. All replicas run all of it; only the main one prints and has files.
#pragma once

#include "checkpoint.hpp"
#include "evaluation.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "run_log.hpp"
#include "training.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

namespace digits {

struct trained {
    std::vector<epoch_record> history;
    network<float> model; ///< which all replicas agree on
};

/// The metrics that go on from epoch to epoch.
using whole_run = tally::collection<tally::named<"best top-1", tally::largest_at<double>>>;

/// A collective: every replica evaluates its part of the samples, and all get the metrics of the whole. The network is
/// computed on the host; the scores go to the Evaluator, wherever that keeps its metrics.
template <class Evaluator, class Communicator>
tally::combined<evaluation> evaluate_with(Communicator& comm, network<float> const& model, dataset const& samples) {
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

/// A collective. `evaluate(comm, model, samples)` gives the metrics over all replicas.
template <class Communicator, class Evaluate>
trained train(Communicator& comm, options const& chosen, split const& samples, run_start const& start, terminal out,
              Evaluate const& evaluate) {
    using namespace tally::literals;
    using clock = std::chrono::steady_clock;
    bool const main_replica = comm.rank() == 0;
    trainer own{samples.training, chosen.batch, chosen.learning_rate, chosen.seed};
    tally::host::tracker<whole_run> run;
    std::vector<epoch_record> history;
    if (start.from) {
        own.go_on(start.from->weights, start.from->velocity);
        run.restore(comm, start.from->whole_run);
        history = start.from->history;
    }
    std::optional<run_log> log;
    if (start.folder) log.emplace(comm, *start.folder, start.first_epoch());

    progress bar{chosen.epochs, own.batches()};
    table rows = epoch_table(std::cout, out.colour);
    if (main_replica) rows.header();
    for (int epoch = start.first_epoch(); epoch <= chosen.epochs; ++epoch) {
        auto const begin = clock::now();
        own.epoch(comm, epoch, [&](std::size_t batch) {
            if (main_replica) bar.show(epoch, batch);
        });
        auto const held_out = evaluate(comm, own.model(), samples.held_out);
        std::chrono::duration<double> const elapsed = clock::now() - begin;
        history.push_back({epoch, scores_of(held_out), elapsed.count()});

        // All know the value; one replica takes it, as a sample must be.
        double const top_1 = held_out["top-1"_metric];
        std::size_t const taken = main_replica ? 1 : 0;
        run.update(tally::values(&top_1, taken), tally::positions(epoch));
        auto const run_so_far = run.combine(comm);

        tally::report page{epoch};
        page.add("evaluation", held_out).add("run", run_so_far).add("gradients_averaged", own.end_epoch(comm));
        if (log) log->write(page);
        if (main_replica && start.folder) {
            auto const weights = own.model().parameters();
            auto const velocity = own.velocity();
            write_checkpoint(start.checkpoint_file(), {start.samples,
                                                       chosen.seed,
                                                       chosen.batch,
                                                       chosen.learning_rate,
                                                       {weights.begin(), weights.end()},
                                                       {velocity.begin(), velocity.end()},
                                                       tally::snapshot(run_so_far),
                                                       history});
        }
        bar.clear();
        if (main_replica) rows.row(epoch_row(history.back()));
    }
    if (!same_on_all_replicas(comm, own.model().parameters())) {
        throw std::runtime_error("the replicas ended with different weights");
    }
    return {history, own.model()};
}

} // namespace digits
