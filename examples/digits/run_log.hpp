// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a run is logged: a folder with TensorBoard's event files, the same values with all their digits in
// metrics.jsonl, and the checkpoint from which a later process goes on with the run and its log.
#pragma once

#include "checkpoint.hpp"
#include "dataset.hpp"
#include "options.hpp"

#include <tally/sinks.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>

namespace digits {

/// Every replica writes to it and the main one alone has files: tally::open_on_main sees to that.
class run_log {
public:
    /// A collective. Throws tally::sink_error on all replicas if the files can't be opened.
    template <class Communicator>
    run_log(Communicator& comm, std::filesystem::path const& folder, int first_epoch)
        : board_{tally::open_on_main<tally::tensorboard::writer>(
              comm, folder, tally::tensorboard::options{.first_step = first_epoch})},
          exact_{tally::open_on_main<tally::json_lines>(comm, (folder / "metrics.jsonl").string(),
                                                        tally::json_lines::options{.first_step = first_epoch})} {}

    void write(tally::report const& page) {
        board_.write(page);
        exact_.write(page);
    }

private:
    tally::main_replica_only<tally::tensorboard::writer> board_;
    tally::main_replica_only<tally::json_lines> exact_;
};

/// How a run begins.
struct run_start {
    std::optional<std::filesystem::path> folder; ///< of the log, if there is to be one
    std::optional<checkpoint> from;              ///< of the run that goes on
    std::uint64_t samples = 0;                   ///< checksum of all samples

    int first_epoch() const { return from ? from->history.back().epoch + 1 : 1; }
    std::filesystem::path checkpoint_file() const { return *folder / "checkpoint"; }
};

/// Makes the folder for a new run, on the main replica alone: run-1, run-2, ... in the one chosen for logs. Or takes the
/// settings of the run that is to go on. Throws std::runtime_error with the reason, of a
/// checkpoint also checkpoint_error and tally::snapshot_error.
run_start start_run(options& chosen, dataset const& samples, bool main_replica);

/// Two lines: where the log is, and how to look at it.
void print_log_place(std::ostream& out, std::filesystem::path const& folder);

} // namespace digits
