// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// detail::output_file: whole blocks or nothing.
#include <tally/sink/detail/output_file.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "scratch.hpp"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>
#endif

namespace {

using tally::detail::output_file;
using tally_test::content_of;
using tally_test::full_disk;
using tally_test::scratch;

std::string const block(3000, 'x');

} // namespace

TEST_CASE("output file: a block that does not fit is cut off, and the next one stands behind the last whole one") {
    scratch const dir;
    for (char const* const mode : {"wbx", "ab"}) {
        std::filesystem::remove(dir / "file");
        output_file file{dir / "file", mode};
        file.write("begin", false);
        {
            full_disk const full{1000};
            CHECK_THROWS_AS(file.write(block, false), tally::sink_error);
            CHECK(content_of(dir / "file") == "begin");
            file.write(" small", true);
        }
        file.write(" end", false);
        CHECK(content_of(dir / "file") == "begin small end");
        CHECK(file.size() == 15);
    }
}

TEST_CASE("output file: after a rename it is its own file that is cut off, not another of that name") {
    scratch const dir;
    output_file file{dir / "file", "wbx"};
    std::filesystem::rename(dir / "file", dir / "moved");
    tally_test::write_file(dir / "file", "somebody else's");
    full_disk const full{1000};
    CHECK_THROWS_AS(file.write(block, false), tally::sink_error);
    CHECK(content_of(dir / "file") == "somebody else's");
    CHECK(content_of(dir / "moved").empty());
}

TEST_CASE("output file: a new file is never one that is there") {
    scratch const dir;
    tally_test::write_file(dir / "file", "old");
    CHECK_THROWS_AS(output_file(dir / "file", "wbx"), tally::sink_error);
    CHECK(content_of(dir / "file") == "old");
}

TEST_CASE("output file: a device that takes nothing is an error each time, with the reason") {
    if (!std::filesystem::exists("/dev/full")) {
        MESSAGE("skipped: no /dev/full here");
        return;
    }
    output_file file{"/dev/full", "ab"};
    for (int i = 0; i < 2; ++i) {
        CHECK_THROWS_WITH_AS(file.write("x", false), "cannot write to \"/dev/full\": No space left on device",
                             tally::sink_error);
    }
}

#ifdef MFD_ALLOW_SEALING
TEST_CASE("output file: a torn end that can't be removed is never written behind") {
    int const memory = ::memfd_create("tally", MFD_ALLOW_SEALING);
    REQUIRE(memory >= 0);
    REQUIRE(::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0); // can grow, can't be cut
    auto const path = "/proc/self/fd/" + std::to_string(memory);
    output_file file{path, "ab"};
    file.write("begin", false);
    {
        full_disk const full{1000};
        CHECK_THROWS_AS(file.write(block, false), tally::sink_error);
    }
    REQUIRE(content_of(path).size() == 1000);
    CHECK_THROWS_AS(file.write("more", false), tally::sink_error);
    CHECK(content_of(path).size() == 1000);
    ::close(memory);
}
#endif
