// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "run_log.hpp"

#include "checksum.hpp"

#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

namespace digits {

namespace {

std::filesystem::path new_run_folder(std::filesystem::path const& log) {
    std::error_code failure;
    std::filesystem::create_directories(log, failure);
    // Only one of several processes makes the folder of a number; the others go on to the next.
    for (int number = 1; !failure; ++number) {
        auto folder = log / ("run-" + std::to_string(number));
        if (std::filesystem::create_directory(folder, failure)) return folder;
    }
    throw std::runtime_error(log.string() + ": no folder for the log can be made there: " + failure.message());
}

} // namespace

run_start start_run(options& chosen, dataset const& samples, bool main_replica) {
    run_start result;
    result.samples = checksum(std::as_bytes(std::span{samples.pixels}));
    result.samples = checksum(std::as_bytes(std::span{samples.labels}), result.samples);
    if (chosen.resume) {
        result.folder = *chosen.resume;
        result.from = read_checkpoint(result.checkpoint_file());
        auto const file = result.checkpoint_file().string();
        if (result.from->samples != result.samples) {
            throw checkpoint_error(file + " is of a run with other samples: give the same --data");
        }
        if (result.first_epoch() > chosen.epochs) {
            throw checkpoint_error(file + " has " + std::to_string(result.first_epoch() - 1) +
                                   " epochs already: ask for more with --epochs");
        }
        chosen.seed = result.from->seed;
        chosen.batch = static_cast<std::size_t>(result.from->batch);
        chosen.learning_rate = result.from->learning_rate;
    } else if (chosen.log) {
        result.folder = main_replica ? new_run_folder(*chosen.log) : *chosen.log;
    }
    return result;
}

void print_log_place(std::ostream& out, std::filesystem::path const& folder) {
    out << "The log is in " << folder.string() << ": for TensorBoard, and with all digits in metrics.jsonl.\n"
        << "To look at it: python3 -m venv tb && tb/bin/pip install tensorboard && tb/bin/tensorboard --logdir "
        << folder.parent_path().string() << '\n';
}

} // namespace digits
