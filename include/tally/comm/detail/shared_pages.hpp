// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `shared_pages`: memory that processes of one machine map together. It has no name in any file system and ends with the
// last process that maps it, however that ends. Linux alone; elsewhere there is none.
#pragma once

#include <tally/core/type_name.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>
#endif

namespace tally::detail {

/// Where another process finds the pages. Plain data, to be sent to it.
struct shared_pages_address {
    std::uint64_t bytes = 0; // 0: nowhere
    std::uint64_t machine = 0;
    std::int64_t process = 0;
    std::int64_t descriptor = 0;
    std::uint64_t token = 0; // the first word of the pages
};

#if defined(__linux__)

/// Pages that start as zeros but for the first word, which belongs to this class. Memory is taken as it is touched.
class shared_pages {
public:
    shared_pages() = default;
    shared_pages(shared_pages&& other) noexcept { swap(other); }
    shared_pages& operator=(shared_pages other) noexcept {
        swap(other);
        return *this;
    }
    ~shared_pages() {
        if (data_ != nullptr) {
            munmap(data_, address_.bytes);
        }
        stop_sharing();
    }

    /// No pages (`data` is null) where the system has none for us.
    static shared_pages create(std::size_t bytes) {
        shared_pages pages;
        pages.descriptor_ = memfd_create("tally", MFD_CLOEXEC);
        if (pages.descriptor_ >= 0 && ftruncate(pages.descriptor_, static_cast<off_t>(bytes)) == 0) {
            pages.map(pages.descriptor_, bytes);
        }
        if (pages.data_ != nullptr) {
            auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
            hasher token;
            token.add(static_cast<std::uint64_t>(now)).add(std::uint64_t{std::random_device{}()});
            pages.address_ = {bytes, this_machine(), getpid(), pages.descriptor_, token.value()};
            *static_cast<std::uint64_t*>(pages.data_) = token.value();
        }
        return pages;
    }

    /// The pages of another process; none if they can't be reached from here, such as from another machine.
    static shared_pages open(shared_pages_address const& address) {
        shared_pages pages;
        if (address.bytes == 0 || address.machine != this_machine()) {
            return pages;
        }
        auto const path = "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
        auto const descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC); // NOLINT(cppcoreguidelines-pro-type-vararg)
        struct stat found = {};
        if (descriptor >= 0 && fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
            static_cast<std::uint64_t>(found.st_size) == address.bytes) {
            pages.map(descriptor, address.bytes);
        }
        if (descriptor >= 0) {
            close(descriptor);
        }
        if (pages.data_ != nullptr && *static_cast<std::uint64_t*>(pages.data_) != address.token) {
            pages = shared_pages{};
        }
        return pages;
    }

    [[nodiscard]] shared_pages_address const& address() const noexcept { return address_; }

    /// Starts at a page boundary.
    [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

    /// Others can't open the pages any more; those who have keep them.
    void stop_sharing() noexcept {
        if (descriptor_ >= 0) {
            close(std::exchange(descriptor_, -1));
        }
    }

private:
    void swap(shared_pages& other) noexcept {
        std::swap(address_, other.address_);
        std::swap(data_, other.data_);
        std::swap(descriptor_, other.descriptor_);
    }

    void map(int descriptor, std::size_t bytes) {
        auto* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (mapped != MAP_FAILED) { // NOLINT(performance-no-int-to-ptr)
            data_ = mapped;
            address_.bytes = bytes;
        }
    }

    /// The same for two processes only if a process number means the same to them: one boot of one machine, and one
    /// name space of processes.
    static std::uint64_t this_machine() {
        char boot[64] = {};
        if (auto* const file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
            if (std::fread(boot, 1, sizeof(boot) - 1, file) == 0) {
                boot[0] = '\0';
            }
            std::fclose(file);
        }
        struct stat processes = {};
        if (boot[0] == '\0' || stat("/proc/self/ns/pid", &processes) != 0) {
            return static_cast<std::uint64_t>(getpid()) + std::random_device{}(); // nobody's but its own
        }
        hasher hash;
        return hash.add(boot).add(std::uint64_t{processes.st_ino}).value();
    }

    shared_pages_address address_;
    void* data_ = nullptr;
    int descriptor_ = -1;
};

#else

class shared_pages {
public:
    static shared_pages create(std::size_t) { return {}; }
    static shared_pages open(shared_pages_address const&) { return {}; }
    [[nodiscard]] shared_pages_address address() const noexcept { return {}; }
    [[nodiscard]] std::byte* data() const noexcept { return nullptr; }
    void stop_sharing() noexcept {}
};

#endif

} // namespace tally::detail
