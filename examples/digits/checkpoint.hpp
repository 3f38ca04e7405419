// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a later process needs to go on with a run: settings, weights, momentum, what was reported, and tally's snapshot of
// the metrics that cover the whole run. Taken at the end of an epoch, when all other metrics are at their start.
#pragma once

#include "report.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace digits {

/// The file can't be used; what() says why in one sentence that begins with the file.
class checkpoint_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct checkpoint {
    std::uint64_t samples = 0; ///< checksum of the data set: a run goes on with the same data only
    std::uint64_t seed = 0;
    std::uint64_t batch = 0;
    float learning_rate = 0;
    std::vector<float> weights;
    std::vector<float> velocity;
    std::vector<std::byte> whole_run;  ///< made by tally::snapshot
    std::vector<epoch_record> history; ///< one record for each complete epoch
};

/// Replaces the file at once, so that a process that is killed leaves the old one or the new one.
/// Throws tally::snapshot_error with the reason.
void write_checkpoint(std::filesystem::path const& file, checkpoint const& from);

/// Throws checkpoint_error, or tally::snapshot_error if there is no such file. Same byte order only.
checkpoint read_checkpoint(std::filesystem::path const& file);

} // namespace digits
