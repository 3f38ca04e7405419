// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the standard library does not offer for files: locks that end with the process, and waiting for the disk. Where
// the system has neither, both do nothing and say so by their result.
#pragma once

#include <tally/sink/errors.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#if __has_include(<sys/file.h>) && __has_include(<unistd.h>)
#include <sys/file.h> // flock
#include <fcntl.h>    // open
#include <unistd.h>   // fsync, getpid
#endif

namespace tally::detail {

/// Holds a file or folder against other writers of tally, in this process too, until destroyed. The system releases it
/// when the process ends, however it ends. File systems without such locks (some network ones) are taken as free.
class writer_lock {
public:
    writer_lock() = default;
    writer_lock(writer_lock const&) = delete;
    writer_lock& operator=(writer_lock const&) = delete;
    writer_lock(writer_lock&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
    writer_lock& operator=(writer_lock&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
#if __has_include(<sys/file.h>) && __has_include(<unistd.h>)
    explicit writer_lock(std::string const& path) : descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {
        if (descriptor_ < 0) {
            throw_sink_error("cannot open", path, errno);
        }
        if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            ::close(descriptor_);
            throw sink_error("another writer has \"" + path +
                             "\" open: one log has one writer; give each its own path, and let the main replica write");
        }
    }
    ~writer_lock() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
    }
#else
    explicit writer_lock(std::string const&) {}
    ~writer_lock() = default;
#endif

private:
    int descriptor_ = -1;
};

/// Waits until what was written to `file` is on the disk. True where the system can't tell.
inline bool reach_disk([[maybe_unused]] std::FILE* file) {
#if __has_include(<sys/file.h>) && __has_include(<unistd.h>)
    return ::fsync(::fileno(file)) == 0;
#else
    return true;
#endif
}

/// Cuts an open file off behind `size` bytes and goes on there; false if that fails.
inline bool cut_off(std::FILE* file, [[maybe_unused]] std::string const& path, std::uintmax_t size) {
    std::clearerr(file);
#if __has_include(<sys/file.h>) && __has_include(<unistd.h>)
    bool const cut = ::ftruncate(::fileno(file), static_cast<off_t>(size)) == 0; // by name it might be another file now
#else
    std::error_code failed;
    std::filesystem::resize_file(path, size, failed);
    bool const cut = !failed;
#endif
    return std::fseek(file, 0, SEEK_END) == 0 && cut;
}

/// Waits for the entry of a new file in its folder. Some file systems refuse it, which harms nobody.
inline void entry_reaches_disk([[maybe_unused]] std::string const& folder) {
#if __has_include(<sys/file.h>) && __has_include(<unistd.h>)
    int const descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)::fsync(descriptor);
        ::close(descriptor);
    }
#endif
}

inline long process_id() {
#if __has_include(<sys/file.h>) && __has_include(<unistd.h>)
    return static_cast<long>(::getpid());
#else
    return 0;
#endif
}

} // namespace tally::detail
