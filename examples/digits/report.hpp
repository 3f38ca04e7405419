// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the example shows: a row per epoch, the confusion matrix, the scores of each class; and the same as CSV files.
#pragma once

#include "scores.hpp"
#include "table.hpp"

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace digits {

struct epoch_record {
    int epoch; ///< from 1
    scores held_out;
    double seconds; ///< of training and evaluation
};

/// Columns: epoch, the scores, seconds.
table epoch_table(std::ostream& out, bool colour);
std::vector<std::string> epoch_row(epoch_record const& record);

void print_confusion(std::ostream& out, confusion_counts const& confusion, bool colour);
void print_classes(std::ostream& out, confusion_counts const& confusion, bool colour);

/// Makes the folder and checks that files can be created in it. Throws std::runtime_error with the reason.
void prepare_output(std::filesystem::path const& folder);

/// Writes epochs.csv, confusion.csv and classes.csv, replacing older ones: each is written beside its place and moved
/// there when complete, so a file is either whole or absent. Throws std::runtime_error with the reason.
void write_reports(std::filesystem::path const& folder, std::vector<epoch_record> const& history);

} // namespace digits
