// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// tensorboard::writer: a sink that writes TensorBoard's event files. One folder is one run, with one writer at a time;
// every process makes a file of its own there; every report is one record of it, written at once.
#pragma once

#include <tally/sink/detail/output_file.hpp>
#include <tally/sink/detail/step_guard.hpp>
#include <tally/sink/detail/system_files.hpp>
#include <tally/sink/errors.hpp>
#include <tally/sink/report.hpp>
#include <tally/sink/sink.hpp>
#include <tally/sink/tensorboard/event.hpp>
#include <tally/sink/tensorboard/summary.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tally::tensorboard {

struct options {
    /// The step of the first report of this process. A folder that holds a log already is refused without it. What the
    /// log has at this step or later (the run was killed after its last snapshot) disappears from the page.
    std::optional<std::int64_t> first_step = std::nullopt;
    /// Wait for the disk after each report: it then survives a loss of power, not only the end of the process.
    bool sync = false;
    scalar_form scalars = scalar_form::tensor;
    display_limits limits{};
    /// Part of the file's name, where others put the name of the machine.
    std::string host = "tally";
};

/// A sink. TensorBoard keeps scalars as float32 (67128463 is shown as 67128464): for all digits write a json_lines too.
/// A report becomes one record, one write and one flush, so a process that is killed leaves whole reports. Cost: about
/// the bytes written, twice in memory for the time of a write; 12 KB for a histogram of 512 rows.
class writer {
public:
    /// Makes the folder and a new event file in it. Throws sink_error if that can't be done, if another writer is open
    /// in the folder, or if it holds a log and options::first_step is not set.
    explicit writer(std::filesystem::path const& folder, options const& with = {})
        : options_{with}, steps_{with.first_step.value_or(0)}, lock_{locked(folder)}, file_{new_file(folder, with)} {
        std::string begin;
        newest_ = tally::detail::wall_clock();
        append_record(begin, file_version_event(newest_));
        append_record(begin, session_start_event(newest_, steps_.first_step()));
        try {
            file_.write(begin, options_.sync);
        } catch (...) {
            std::error_code ignored;
            std::filesystem::remove(file_.path(), ignored);
            throw;
        }
        if (options_.sync) {
            tally::detail::entry_reaches_disk(folder.string());
        }
    }

    /// Writes the report. Throws report_error or sink_error, with nothing written.
    void write(report const& page) {
        summary_plan const plan{page, options_.limits};
        auto const tags = plan.tags();
        steps_.check(page, tags);
        // Loaders expect times that don't go back, though the system's clock may.
        auto const now = std::max(newest_, page.wall_time());

        records_.clear();
        summary_.clear();
        auto const finish = [&] {
            append_summary_record(records_, now, page.step(), summary_);
            summary_.clear();
        };
        plan.encode(
            options_.scalars, [&](std::string_view tag) { return !steps_.knows(tag); },
            [&](message const& value) {
                if (!summary_.bytes().empty() && summary_.bytes().size() + value.bytes().size() > largest_summary) {
                    finish();
                }
                summary_.nested(1, value);
            });
        if (!summary_.bytes().empty()) {
            finish();
        }
        file_.write(records_, options_.sync);
        newest_ = now;
        steps_.commit(page, tags);
    }

    /// The event file of this process.
    [[nodiscard]] std::string const& path() const { return file_.path(); }

private:
    // Protobuf's readers take up to 2 GB in one message.
    static constexpr std::size_t largest_summary = std::size_t{64} << 20U;

    static tally::detail::writer_lock locked(std::filesystem::path const& folder) {
        std::error_code failed;
        std::filesystem::create_directories(folder, failed);
        if (!failed && !std::filesystem::is_directory(folder, failed)) {
            failed = std::make_error_code(std::errc::not_a_directory);
        }
        if (failed) {
            tally::detail::throw_sink_error("cannot make the folder", folder.string(), failed.value());
        }
        return tally::detail::writer_lock{folder.string()};
    }

    static tally::detail::output_file new_file(std::filesystem::path const& folder, options const& with) {
        constexpr std::string_view prefix = "events.out.tfevents.";
        bool holds_log = false;
        auto seconds = static_cast<std::int64_t>(tally::detail::wall_clock());
        std::error_code failed;
        for (std::filesystem::directory_iterator each{folder, failed}, end; !failed && each != end;
             each.increment(failed)) {
            auto const name = each->path().filename().string();
            holds_log = holds_log || name.find("tfevents") != std::string::npos;
            std::int64_t other = 0;
            if (name.starts_with(prefix) &&
                std::from_chars(name.data() + prefix.size(), name.data() + name.size(), other).ec == std::errc{}) {
                // Files are read in the order of their names, and this one must come last, whatever the clock says.
                seconds = std::max(seconds, other + 1);
            }
        }
        if (failed) {
            tally::detail::throw_sink_error("cannot read the folder", folder.string(), failed.value());
        }
        if (holds_log && !with.first_step) {
            throw sink_error("\"" + folder.string() +
                             "\" holds a log already: take another folder, or set first_step "
                             "to the step from which this process goes on with it");
        }
        auto digits = std::to_string(seconds);
        digits.insert(0, digits.size() < 10 ? 10 - digits.size() : 0, '0');
        auto const name = std::string{prefix} + digits + "." + with.host + "." +
                          std::to_string(tally::detail::process_id()) + ".0.v2";
        return {(folder / name).string(), "wbx"};
    }

    options options_;
    tally::detail::step_guard steps_;
    tally::detail::writer_lock lock_; // taken before the file is made
    tally::detail::output_file file_;
    double newest_ = 0;
    message summary_; // kept for its memory, as are the records
    std::string records_;
};

static_assert(sink<writer>);

} // namespace tally::tensorboard
