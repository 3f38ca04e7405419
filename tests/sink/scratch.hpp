// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Help for tests that write files: a folder of their own, whole files as strings, and a disk that is full.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <sys/resource.h>
#include <cstdlib>

namespace tally_test {

/// A folder, removed at the end.
class scratch {
public:
    scratch() {
        std::string name = (std::filesystem::temp_directory_path() / "tally_sink_XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    scratch(scratch const&) = delete;
    scratch& operator=(scratch const&) = delete;
    ~scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string operator/(char const* name) const { return (path_ / name).string(); }
    /// Names of what is in a folder, sorted as readers of logs sort them.
    [[nodiscard]] static std::vector<std::string> names(std::string const& folder) {
        std::vector<std::string> found;
        for (auto const& each : std::filesystem::directory_iterator(folder)) {
            found.push_back(each.path().filename().string());
        }
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    std::filesystem::path path_;
};

inline std::string content_of(std::string const& path) {
    std::ifstream in{path, std::ios::binary};
    REQUIRE(in.is_open());
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(std::string const& path, std::string const& content) {
    std::ofstream out{path, std::ios::binary};
    out << content;
    REQUIRE(out.flush());
}

/// While it lives no file of this process can grow beyond `bytes`: writing fails in the middle, as on a full disk.
class full_disk {
public:
    explicit full_disk(rlim_t bytes) {
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_) == 0);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit = old_;
        limit.rlim_cur = bytes;
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    full_disk(full_disk const&) = delete;
    full_disk& operator=(full_disk const&) = delete;
    ~full_disk() {
        (void)::setrlimit(RLIMIT_FSIZE, &old_);
        (void)std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit old_{};
    void (*handler_)(int) = nullptr;
};

} // namespace tally_test
