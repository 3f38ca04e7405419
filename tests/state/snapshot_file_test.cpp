// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshot files: the old file or the new one, never half of one.
#include <tally/state/snapshot_file.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <sys/resource.h>

namespace {

namespace fs = std::filesystem;
using bytes = std::vector<std::byte>;

/// A directory of its own for a test case, removed with it.
class scratch {
public:
    scratch() {
        std::string name = (fs::temp_directory_path() / "tally_snapshot_XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    scratch(scratch const&) = delete;
    scratch& operator=(scratch const&) = delete;
    ~scratch() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string file(char const* name) const { return (path_ / name).string(); }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator{}));
    }

private:
    fs::path path_;
};

bytes filled(std::size_t n, int value) { return bytes(n, static_cast<std::byte>(value)); }

} // namespace

TEST_CASE("snapshot file: comes back byte by byte, of any length") {
    scratch const dir;
    for (std::size_t const n : {0U, 1U, 4095U, 4096U, 4097U, 100'000U}) {
        bytes content(n);
        for (std::size_t i = 0; i < n; ++i) {
            content[i] = static_cast<std::byte>(i * 31 % 256);
        }
        tally::write_snapshot_file(dir.file("s"), content);
        CHECK(tally::read_snapshot_file(dir.file("s")) == content);
    }
    CHECK(dir.files() == 1);
}

TEST_CASE("snapshot file: a stale .partial of a killed writer is overwritten") {
    scratch const dir;
    std::ofstream(dir.file("s.partial")) << "half of something longer than the new file";
    tally::write_snapshot_file(dir.file("s"), filled(8, 3));
    CHECK(tally::read_snapshot_file(dir.file("s")) == filled(8, 3));
    CHECK(dir.files() == 1);
}

TEST_CASE("snapshot file: where nothing can be written, the old file stays and no .partial is left") {
    scratch const dir;
    auto const path = dir.file("s");
    tally::write_snapshot_file(path, filled(100, 1));

    SUBCASE("the .partial can't be opened") {
        fs::create_directory(path + ".partial"); // holds for root too, unlike permissions
        CHECK_THROWS_AS(tally::write_snapshot_file(path, filled(200, 2)), tally::snapshot_error);
        fs::remove(path + ".partial");
    }
    SUBCASE("the disk is full") {
        // A limit on the size of files stands for the full disk: write fails in the same way.
        struct rlimit old {};
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
        auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
        struct rlimit const small{1000, old.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
        std::string reason;
        try {
            tally::write_snapshot_file(path, filled(50'000, 2));
        } catch (tally::snapshot_error const& failed) {
            reason = failed.what();
        }
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
        std::signal(SIGXFSZ, handler);
        CHECK(reason.find("cannot write snapshot file") == 0);
        CHECK(reason.find(path) != std::string::npos);
    }
    CHECK(tally::read_snapshot_file(path) == filled(100, 1));
    CHECK(dir.files() == 1);
}

TEST_CASE("snapshot file: a directory in its place is refused, no .partial is left") {
    scratch const dir;
    fs::create_directories(dir.file("s/inner"));
    CHECK_THROWS_AS(tally::write_snapshot_file(dir.file("s"), filled(10, 1)), tally::snapshot_error);
    CHECK(dir.files() == 1);
    CHECK_THROWS_AS((void)tally::read_snapshot_file(dir.file("s")), tally::snapshot_error);
}

TEST_CASE("snapshot file: a missing file or directory is named with the system's reason") {
    scratch const dir;
    auto const missing = dir.file("none");
    CHECK_THROWS_WITH_AS((void)tally::read_snapshot_file(missing),
                         ("cannot read snapshot file \"" + missing + "\": No such file or directory").c_str(),
                         tally::snapshot_error);
    auto const nowhere = dir.file("none/s");
    CHECK_THROWS_WITH_AS(tally::write_snapshot_file(nowhere, filled(1, 1)),
                         ("cannot write snapshot file \"" + nowhere + ".partial\": No such file or directory").c_str(),
                         tally::snapshot_error);
}
