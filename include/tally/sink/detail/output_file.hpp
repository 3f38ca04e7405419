// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A file that grows by whole blocks. A block that can't be written to its end (a full disk) is cut off again, so that
// nothing is ever written behind a torn tail; where even that fails, the file takes nothing more.
#pragma once

#include <tally/sink/detail/system_files.hpp>
#include <tally/sink/errors.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tally::detail {

struct close_output {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

class output_file {
public:
    /// Makes a new file ("wbx": fails with EEXIST where there is one) or opens one to go on at its end ("ab"). Throws
    /// sink_error.
    output_file(std::string path, char const* mode) : path_{std::move(path)}, file_{std::fopen(path_.c_str(), mode)} {
        if (!file_) {
            throw_sink_error("cannot write to", path_, errno);
        }
        // Without a buffer in between a block is one write of the system, and nothing is left to be lost in a crash.
        std::setvbuf(file_.get(), nullptr, _IONBF, 0);
        std::error_code unknown;
        size_ = std::filesystem::file_size(path_, unknown);
        regular_ = !unknown;
        size_ = regular_ ? size_ : 0; // a device: nothing there to go back to
    }

    /// All of `block` or nothing. `sync`: also waits for the disk. Throws sink_error.
    void write(std::string_view block, bool sync) {
        if (torn_) {
            throw sink_error("\"" + path_ +
                             "\" ends in the middle of a record that could not be removed, so nothing "
                             "more is written to it: open a new log");
        }
        if (block.empty()) {
            return;
        }
        errno = 0;
        bool written = std::fwrite(block.data(), 1, block.size(), file_.get()) == block.size();
        written = written && (!sync || reach_disk(file_.get()));
        if (!written) {
            auto const reason = errno;
            torn_ = regular_ && !cut_off(file_.get(), path_, size_);
            throw_sink_error("cannot write to", path_, reason);
        }
        size_ += block.size();
    }

    /// Cuts the file off behind its first `size` bytes. Throws sink_error.
    void shorten(std::uintmax_t size) {
        if (size == size_) {
            return;
        }
        if (!cut_off(file_.get(), path_, size)) {
            throw_sink_error("cannot remove the unfinished end of", path_, errno);
        }
        size_ = size;
    }

    [[nodiscard]] std::string const& path() const { return path_; }
    [[nodiscard]] std::uintmax_t size() const { return size_; }

private:
    std::string path_;
    std::unique_ptr<std::FILE, close_output> file_;
    std::uintmax_t size_ = 0;
    bool regular_ = false;
    bool torn_ = false;
};

} // namespace tally::detail
