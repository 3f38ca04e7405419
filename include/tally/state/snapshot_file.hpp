// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots in files: written aside and renamed, so that a reader sees the old file or the new one, never half of one.
#pragma once

#include <tally/core/errors.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#if __has_include(<unistd.h>)
#include <unistd.h> // fsync
#endif

namespace tally {

namespace detail {

struct close_file {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, close_file>;

[[noreturn]] inline void throw_file_error(std::string const& what, std::string const& path) {
    throw snapshot_error(what + " \"" + path + "\": " + std::strerror(errno));
}

} // namespace detail

/// Writes `bytes` to `path` by way of `path`.partial; on failure the old file stays as it was. Throws snapshot_error.
inline void write_snapshot_file(std::string const& path, std::span<std::byte const> bytes) {
    auto const aside = path + ".partial";
    {
        detail::file_handle file{std::fopen(aside.c_str(), "wb")};
        if (!file) {
            detail::throw_file_error("cannot write snapshot file", aside);
        }
        bool written = bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
        written = std::fflush(file.get()) == 0 && written;
#if __has_include(<unistd.h>)
        written = written && ::fsync(::fileno(file.get())) == 0;
#endif
        if (!written) {
            auto const reason = errno;
            file.reset();
            std::remove(aside.c_str());
            errno = reason;
            detail::throw_file_error("cannot write snapshot file", aside);
        }
    }
    if (std::rename(aside.c_str(), path.c_str()) != 0) {
        auto const reason = errno;
        std::remove(aside.c_str());
        errno = reason;
        detail::throw_file_error("cannot rename snapshot file to", path);
    }
}

/// The bytes of a file; what they mean is checked by restore. Throws snapshot_error.
inline std::vector<std::byte> read_snapshot_file(std::string const& path) {
    detail::file_handle const file{std::fopen(path.c_str(), "rb")};
    if (!file) {
        detail::throw_file_error("cannot read snapshot file", path);
    }
    std::vector<std::byte> bytes;
    std::byte chunk[4096];
    for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof(chunk), file.get())) > 0;) {
        bytes.insert(bytes.end(), chunk, chunk + n);
    }
    if (std::ferror(file.get()) != 0) {
        detail::throw_file_error("cannot read snapshot file", path);
    }
    return bytes;
}

} // namespace tally
