// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "report.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace digits {

namespace {

// Shortest digits that read back as the same double, with a point in any locale; nothing for NaN.
std::string exact(double value) {
    if (std::isnan(value)) return "";
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

[[noreturn]] void fail(std::filesystem::path const& file, std::string const& what, int error) {
    std::string const reason = error != 0 ? ": " + std::generic_category().message(error) : "";
    throw std::runtime_error(file.string() + ": " + what + reason);
}

void write_whole_file(std::filesystem::path const& file, std::string const& content) {
    std::filesystem::path part = file;
    part += ".part";
    errno = 0;
    std::ofstream stream{part, std::ios::binary | std::ios::trunc};
    stream << content;
    stream.close();
    int const error = errno;
    std::error_code failure;
    if (stream) {
        std::filesystem::rename(part, file, failure);
        if (!failure) return;
    }
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    fail(file, "can't be written", failure ? failure.value() : error);
}

} // namespace

table epoch_table(std::ostream& out, bool colour) {
    std::vector<column> columns{{"epoch"}};
    // Wide enough for a loss that grows when training goes wrong.
    for (auto const name : score_names) columns.push_back({std::string{name}, name == "loss" ? 8u : 6u});
    columns.push_back({"seconds"});
    return {out, columns, colour};
}

std::vector<std::string> epoch_row(epoch_record const& record) {
    std::vector<std::string> cells{std::to_string(record.epoch)};
    for (double const value : record.held_out.values) cells.push_back(fixed(value, 4));
    cells.push_back(fixed(record.seconds, 3));
    return cells;
}

void print_confusion(std::ostream& out, confusion_counts const& confusion, bool colour) {
    std::vector<column> columns{{"true \\ predicted"}};
    for (std::size_t c = 0; c < num_classes; ++c) columns.push_back({std::to_string(c), 4});
    table rows{out, columns, colour};
    rows.header();
    for (std::size_t c = 0; c < num_classes; ++c) {
        std::vector<std::string> cells{std::to_string(c)};
        // A dot for zero lets the mistakes stand out.
        for (auto const count : confusion[c]) cells.push_back(count == 0 ? "." : std::to_string(count));
        rows.row(cells, c + 1);
    }
}

void print_classes(std::ostream& out, confusion_counts const& confusion, bool colour) {
    table rows{out, {{"class"}, {"precision"}, {"recall"}, {"F1", 6}, {"support"}}, colour};
    rows.header();
    for (std::size_t c = 0; c < num_classes; ++c) {
        class_scores const of = scores_of_class(confusion, c);
        rows.row({std::to_string(c), fixed(of.precision, 4), fixed(of.recall, 4), fixed(of.f1, 4),
                  std::to_string(of.support)});
    }
}

void prepare_output(std::filesystem::path const& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    // create_directories reports no error for a link to a file on some systems
    if (!failure && !std::filesystem::is_directory(folder)) failure = std::make_error_code(std::errc::not_a_directory);
    if (failure) fail(folder, "can't be made a folder", failure.value());
    std::filesystem::path const probe = folder / "epochs.csv.part";
    errno = 0;
    bool const writable = std::ofstream{probe, std::ios::trunc}.is_open();
    if (!writable) fail(folder, "no file can be written there", errno);
    std::filesystem::remove(probe, failure);
}

void write_reports(std::filesystem::path const& folder, std::vector<epoch_record> const& history) {
    std::ostringstream epochs;
    epochs << "epoch";
    for (auto const name : score_names) epochs << ',' << name;
    epochs << ",seconds\n";
    for (auto const& record : history) {
        epochs << record.epoch;
        for (double const value : record.held_out.values) epochs << ',' << exact(value);
        epochs << ',' << exact(record.seconds) << '\n';
    }

    confusion_counts const& confusion = history.back().held_out.confusion;
    std::ostringstream matrix;
    std::ostringstream classes;
    matrix << "true";
    for (std::size_t c = 0; c < num_classes; ++c) matrix << ",predicted " << c;
    matrix << '\n';
    classes << "class,precision,recall,F1,support\n";
    for (std::size_t c = 0; c < num_classes; ++c) {
        matrix << c;
        for (auto const count : confusion[c]) matrix << ',' << count;
        matrix << '\n';
        class_scores const of = scores_of_class(confusion, c);
        classes << c << ',' << exact(of.precision) << ',' << exact(of.recall) << ',' << exact(of.f1) << ','
                << of.support << '\n';
    }
    write_whole_file(folder / "epochs.csv", epochs.str());
    write_whole_file(folder / "confusion.csv", matrix.str());
    write_whole_file(folder / "classes.csv", classes.str());
}

} // namespace digits
