// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A log of lines that later processes may go on with: shared by json_lines and csv. A last line that a killed process
// left unfinished is removed before anything is appended, so that every line of the file can be read.
#pragma once

#include <tally/sink/detail/output_file.hpp>
#include <tally/sink/detail/step_guard.hpp>
#include <tally/sink/detail/system_files.hpp>
#include <tally/sink/errors.hpp>
#include <tally/sink/report.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tally {

/// Options of sinks that write lines of text.
struct line_options {
    /// The step of the first report of this process. A file that holds a log already is refused without it. Lines that
    /// the log has at this step or later stay; the last line of a step and tag is the one that counts.
    std::optional<std::int64_t> first_step = std::nullopt;
    /// Wait for the disk after each report: it then survives a loss of power, not only the end of the process.
    bool sync = false;
};

namespace detail {

class text_log {
public:
    /// `begin` is what every log of this format begins with; `header` is written to a new one.
    text_log(std::string const& path, line_options const& with, std::string_view begin, std::string_view header)
        : sync_{with.sync}, steps_{with.first_step.value_or(0)}, file_{path, "ab"}, lock_{path} {
        std::error_code special;
        auto const size = std::filesystem::file_size(path, special);
        if (special || size == 0) {
            file_.write(header, sync_);
            return;
        }
        if (!with.first_step) {
            throw sink_error("\"" + path +
                             "\" holds a log already: take another file, or set first_step to the step "
                             "from which this process goes on with it");
        }
        file_.shorten(whole_lines(path, size, begin));
        if (file_.size() == 0) {
            file_.write(header, sync_);
        }
    }

    /// Writes `lines`, which hold the page under these tags, all or nothing.
    void write(report const& page, std::vector<std::string_view> const& tags, std::string_view lines) {
        file_.write(lines, sync_);
        steps_.commit(page, tags);
    }
    void check(report const& page, std::vector<std::string_view> const& tags) const { steps_.check(page, tags); }

private:
    /// Bytes up to and with the last end of a line. A file of something else is not touched.
    static std::uintmax_t whole_lines(std::string const& path, std::uintmax_t size, std::string_view begin) {
        std::ifstream in{path, std::ios::binary};
        std::string head(begin.size(), '\0');
        in.read(head.data(), static_cast<std::streamsize>(head.size()));
        head.resize(static_cast<std::size_t>(in.gcount()));
        if (in.bad() || !begin.starts_with(head)) { // a short head: killed while it wrote the first line
            throw sink_error("\"" + path + "\" was not written by this sink, so nothing is appended to it");
        }
        in.clear();
        std::string block; // backwards, since the torn line may be the histogram of a large layer
        for (auto end = size; end > 0; end -= block.size()) {
            block.resize(static_cast<std::size_t>(std::min<std::uintmax_t>(end, 65536)));
            in.seekg(static_cast<std::streamoff>(end - block.size()));
            if (!in.read(block.data(), static_cast<std::streamsize>(block.size()))) {
                throw_sink_error("cannot read", path, EIO);
            }
            if (auto const last = block.rfind('\n'); last != std::string::npos) {
                return end - block.size() + last + 1;
            }
        }
        return 0;
    }

    bool sync_;
    step_guard steps_;
    output_file file_;
    writer_lock lock_;
};

} // namespace detail
} // namespace tally
