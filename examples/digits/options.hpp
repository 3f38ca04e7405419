// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The command line of the example. Every bad input is one sentence on standard error and exit status 2, before anything
// is computed or written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <variant>

namespace digits {

inline constexpr int exit_failure = 1;   ///< something went wrong while running
inline constexpr int exit_bad_input = 2; ///< an option or a file can't be used

struct options {
    int replicas = 4;
    int epochs = 15;
    std::uint64_t seed = 1;
    std::size_t batch = 64; ///< samples of one step, all replicas together
    float learning_rate = 0.1F;
    std::optional<std::filesystem::path> output; ///< folder for the results as files; none are written without it
    std::optional<std::filesystem::path> log;    ///< folder for the logs of runs; none is written without it
    std::optional<std::filesystem::path> resume; ///< folder of the run to go on with
    std::filesystem::path data;
};

/// The options, or the exit status to end with: 0 after --help, `exit_bad_input` after a message about what is wrong.
std::variant<options, int> parse_options(int argc, char const* const* argv);

} // namespace digits
