// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The concept `sink`: where reports go. A new sink is one header with a class that has `write`, and one test.
#pragma once

#include <tally/sink/report.hpp>

#include <concepts>

namespace tally {

// clang-format off
/// Given `S s` and `report const page`:
///
/// | expression      | returns | meaning                                                                             |
/// |-----------------|---------|-------------------------------------------------------------------------------------|
/// | `s.write(page)` | `void`  | all of the page is handed to the system when it returns, by one write and one flush |
///
/// A sink writes the whole page or nothing: after an exception its file is as it was and the sink can be used again.
/// Errors: `report_error` if a step doesn't increase for a tag, or a tag is used twice once lists are spread out;
/// `sink_error` if the file can't be written. What a format has no place for is said in the file, never left out
/// silently. One sink is used by one thread.
///
/// Models here: `tensorboard::writer`, `json_lines`, `csv`, `prometheus`, `main_replica_only<Sink>`.
template <class S>
concept sink = requires(S& s, report const& page) {
    { s.write(page) } -> std::same_as<void>;
};
// clang-format on

} // namespace tally
