// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// tensorboard::writer: what stands in its files, and what happens to them when something goes wrong.
#include <tally/sink/report_metrics.hpp>
#include <tally/sink/tensorboard.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "event_reader.hpp"
#include "scratch.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using tally::report;
using tally::tensorboard::writer;
using tally_test::content_of;
using tally_test::log_of;
using tally_test::scratch;

tally_test::log read(writer const& from) { return log_of(content_of(from.path())); }

std::vector<tally::histogram_row> many_rows() {
    std::vector<tally::histogram_row> rows;
    for (int i = 0; i < 512; ++i) {
        rows.push_back({i * 0.5, (i + 1) * 0.5, 1.0 + i});
    }
    return rows;
}

} // namespace

TEST_CASE("tensorboard writer: a scalar comes back with its tag, steps and values, metadata on the first value only") {
    scratch const dir;
    writer log{dir / "run"};
    for (int epoch = 0; epoch < 3; ++epoch) {
        log.write(report{epoch, 1e9 + epoch}.add("train/loss", 1.0 / (epoch + 1)).add("n", 67128463));
    }
    auto const file = read(log);
    CHECK(file.start_step == 0);
    CHECK(file.events == 3);
    auto const loss = file.of("train/loss");
    REQUIRE(loss.size() == 3);
    for (int epoch = 0; epoch < 3; ++epoch) {
        auto const& value = loss[static_cast<std::size_t>(epoch)];
        CHECK(value.step == epoch);
        CHECK(value.numbers == std::vector<double>{static_cast<double>(1.0F / static_cast<float>(epoch + 1))});
        CHECK(value.plugin == (epoch == 0 ? "scalars" : ""));
    }
    CHECK(file.of("n")[0].numbers[0] == 67128464.0); // float32, as everybody sees it there
}

TEST_CASE("tensorboard writer: times never go back, whatever the clock of the reports says") {
    scratch const dir;
    writer log{dir / "run"};
    log.write(report{1, 4e9}.add("x", 1));
    log.write(report{2, 3e9}.add("x", 1));
    log.write(report{3, 5e9}.add("x", 1));
    auto const x = read(log).of("x");
    CHECK(read(log).begun < 4e9);
    CHECK(x[0].wall_time == 4e9);
    CHECK(x[1].wall_time == 4e9);
    CHECK(x[2].wall_time == 5e9);
}

TEST_CASE("tensorboard writer: TensorFlow 1 scalars by option") {
    scratch const dir;
    writer log{dir / "run", {.scalars = tally::tensorboard::scalar_form::simple_value}};
    log.write(report{1}.add("x", 0.5));
    auto const x = read(log).of("x");
    REQUIRE(x.size() == 1);
    CHECK(x[0].simple);
    CHECK(x[0].numbers[0] == 0.5);
}

TEST_CASE("tensorboard writer: histograms keep inner empty rows and lose those at the ends") {
    scratch const dir;
    writer log{dir / "run"};
    std::vector<tally::histogram_row> const rows{{-4, -3, 0}, {-3, -1, 7}, {-1, 1, 0},
                                                 {1, 1, 2},   {1, 9, 0},   {10, 11, 0}};
    log.write(report{3}.add("g", rows));
    auto const g = read(log).of("g");
    REQUIRE(g.size() == 1);
    CHECK(g[0].plugin == "histograms");
    CHECK(g[0].numbers == std::vector<double>{-3, -1, 7, -1, 1, 0, 1, 1, 2});
}

TEST_CASE("tensorboard writer: a histogram without values is written as one, not refused") {
    scratch const dir;
    writer log{dir / "run"};
    log.write(report{0}.add("none", std::vector<tally::histogram_row>{}).add("zeros", many_rows()));
    log.write(report{1}.add("none", std::vector<tally::histogram_row>{{0, 1, 0}}));
    CHECK(read(log).of("none").size() == 2);
    CHECK(read(log).of("none")[1].numbers.empty());
    CHECK(read(log).of("zeros")[0].numbers.size() == 3 * 512);
}

TEST_CASE("tensorboard writer: texts and tables are markdown") {
    scratch const dir;
    writer log{dir / "run"};
    report page{0};
    page.add_text("about", "# Titel mit \xc3\x9c\n");
    page.put("matrix", report::grid{"true_", {"a", "b"}, {1, std::uint64_t{2}, 0.5, tally::reason::absent_class}});
    log.write(page);
    auto const file = read(log);
    CHECK(file.of("about")[0].text == "# Titel mit \xc3\x9c\n");
    CHECK(file.of("about")[0].plugin == "text");
    CHECK(file.of("matrix")[0].text == "| | a | b |\n|---|---:|---:|\n| true_0 | 1 | 2 |\n| true_1 | 0.5 | - |\n");
}

TEST_CASE("tensorboard writer: what can't be shown as it is gets a note") {
    scratch const dir;
    writer log{dir / "run", {.limits = {.series = 2, .cells = 3}}};
    report page{0};
    page.add("none", tally::result<double>(tally::reason::no_samples));
    page.add("huge", -1e300).add("tiny", 1e-300).add("inf", std::numeric_limits<double>::infinity());
    page.put("long", report::series{"class_", {0.0, 1.0, tally::reason::absent_class, 1.0}});
    page.put("short", report::series{"class_", {0.25, std::uint64_t{2}}});
    page.put("table", report::grid{"row_", {"a", "b"}, {1.0, 2.0, 3.0, 4.0}});
    log.write(page);
    auto const file = read(log);
    CHECK(std::isnan(file.of("none")[0].numbers[0]));
    CHECK(file.of("huge")[0].numbers[0] == -std::numeric_limits<double>::infinity());
    CHECK(file.of("inf")[0].numbers[0] == std::numeric_limits<double>::infinity());
    CHECK(file.of("short/class_0")[0].numbers[0] == 0.25);
    CHECK(file.of("short/class_1")[0].numbers[0] == 2);
    CHECK(file.of("table").empty());

    auto const rows = file.of("long")[0].numbers;
    REQUIRE(rows.size() == 3 * 30);
    double count = 0;
    for (std::size_t i = 0; i < rows.size(); i += 3) {
        count += rows[i + 2];
        CHECK(rows[i] <= rows[i + 1]);
        CHECK((i == 0 || rows[i] == rows[i - 2]));
    }
    CHECK(count == 3);
    CHECK(rows[0] == 0);
    CHECK(rows[2] == 1);
    CHECK(rows[88] == 1);
    CHECK(rows[89] == 2);

    CHECK(file.of("tally/notes")[0].text == "- `none` has no value: no samples\n"
                                            "- `huge` is -1e+300, which is beyond the range of float32\n"
                                            "- `tiny` is 1e-300, which is beyond the range of float32\n"
                                            "- `long` lacks 1 of 4 elements, which have no finite value\n"
                                            "- `table` is a table of 4 cells, too large to be shown here\n");
}

TEST_CASE("tensorboard writer: a report becomes one event, and one write") {
    scratch const dir;
    writer log{dir / "run"};
    report page{1};
    for (int layer = 0; layer < 20; ++layer) {
        page.add("layer" + std::to_string(layer), many_rows());
    }
    log.write(page);
    CHECK(read(log).events == 1);
    CHECK(read(log).values.size() == 20);
    log.write(report{2}); // nothing to write
    CHECK(read(log).events == 1);
}

TEST_CASE("tensorboard writer: steps of a tag must increase, those of different tags need not") {
    scratch const dir;
    writer log{dir / "run"};
    log.write(report{5}.add("a", 1));
    log.write(report{5}.add("b", 1));
    auto const before = content_of(log.path());
    CHECK_THROWS_WITH_AS(log.write(report{5}.add("c", 1).add("a", 2)),
                         "the tag \"a\" was written at step 5 and can't be written at step 5: the steps of a tag must "
                         "increase",
                         tally::report_error);
    CHECK_THROWS_AS(log.write(report{4}.add("a", 2)), tally::report_error);
    CHECK(content_of(log.path()) == before);
    log.write(report{6}.add("a", 2).add("c", 1)); // c was not taken by the report that was refused
    CHECK(read(log).of("c").front().plugin == "scalars");
}

TEST_CASE("tensorboard writer: a later life goes on in a file of its own, from the step it says") {
    scratch const dir;
    std::string first_path;
    {
        writer log{dir / "run"};
        first_path = log.path();
        for (int epoch = 1; epoch <= 3; ++epoch) {
            log.write(report{epoch}.add("x", epoch));
        }
    }
    auto const first_file = content_of(first_path);
    CHECK_THROWS_AS(writer(dir / "run"), tally::sink_error); // would hide what is there
    CHECK_THROWS_AS(writer(dir / "run", {.first_step = -1}), tally::report_error);
    CHECK(scratch::names(dir / "run").size() == 1);

    writer log{dir / "run", {.first_step = 2}};
    CHECK_THROWS_WITH_AS(log.write(report{1}.add("x", 1)),
                         "a report has the step 1, but this log was opened to go on at step 2", tally::report_error);
    log.write(report{2}.add("x", 20));
    CHECK(content_of(first_path) == first_file);
    auto const second = read(log);
    CHECK(second.start_step == 2);
    CHECK(second.of("x")[0].plugin == "scalars"); // again, for this file
    auto const names = scratch::names(dir / "run");
    REQUIRE(names.size() == 2);
    CHECK(fs::path(log.path()).filename() == names.back()); // read last, though both were made in one second
}

TEST_CASE("tensorboard writer: files sort in the order of the lives even where the clock was set back") {
    scratch const dir;
    fs::create_directory(dir / "run");
    tally_test::write_file((dir / "run") + "/events.out.tfevents.9000000000.other.77.0", "");
    writer const log{dir / "run", {.first_step = 0}};
    CHECK(fs::path(log.path()).filename() == scratch::names(dir / "run").back());
}

TEST_CASE("tensorboard writer: a second writer in the folder is refused while the first one lives") {
    scratch const dir;
    std::optional<writer> first{dir / "run"};
    CHECK_THROWS_AS(writer(dir / "run", {.first_step = 0}), tally::sink_error);
    CHECK(scratch::names(dir / "run").size() == 1);

    // Another process as well.
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        try {
            writer const second{dir / "run", {.first_step = 0}};
        } catch (tally::sink_error const&) {
            ::_exit(7);
        }
        ::_exit(1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);

    auto moved = std::move(*first); // the lock moves with the writer
    first.reset();
    moved.write(report{0}.add("x", 1));
    CHECK_THROWS_AS(writer(dir / "run", {.first_step = 0}), tally::sink_error);
}

TEST_CASE("tensorboard writer: a folder that can't be made or written is refused with its name and the reason") {
    scratch const dir;
    tally_test::write_file(dir / "file", "x");
    for (auto const& path : {dir / "file", (dir / "file") + "/run"}) {
        try {
            writer const log{path};
            FAIL("no exception");
        } catch (tally::sink_error const& refused) {
            CHECK(std::string(refused.what()) == "cannot make the folder \"" + path + "\": Not a directory");
        }
    }
    CHECK(content_of(dir / "file") == "x");
    if (::geteuid() != 0) { // root may write everywhere
        fs::create_directory(dir / "locked");
        fs::permissions(dir / "locked", fs::perms::owner_read | fs::perms::owner_exec);
        CHECK_THROWS_AS(writer(dir / "locked"), tally::sink_error);
        fs::permissions(dir / "locked", fs::perms::owner_all);
    }
}

TEST_CASE("tensorboard writer: a full disk is an error, leaves whole records only, and writing goes on later") {
    scratch const dir;
    writer log{dir / "run"};
    log.write(report{1}.add("x", 1));
    auto const before = content_of(log.path());
    {
        tally_test::full_disk const full{before.size() + 1000};
        try {
            log.write(report{2}.add("x", 2).add("g", many_rows()));
            FAIL("no exception");
        } catch (tally::sink_error const& refused) {
            CHECK(std::string(refused.what()) == "cannot write to \"" + log.path() + "\": File too large");
        }
    }
    CHECK(content_of(log.path()) == before);
    log.write(report{2}.add("x", 3).add("g", many_rows())); // the same step: nothing of it was there
    auto const file = read(log);
    CHECK(file.of("x")[1].numbers[0] == 3);
    CHECK(file.of("g")[0].plugin == "histograms");
}

TEST_CASE("tensorboard writer: no room for the first record leaves no file") {
    scratch const dir;
    {
        tally_test::full_disk const full{10};
        CHECK_THROWS_AS(writer(dir / "run"), tally::sink_error);
    }
    CHECK(scratch::names(dir / "run").empty());
    writer const log{dir / "run"}; // and no lock
    CHECK(read(log).events == 0);
}

TEST_CASE("tensorboard writer: kill -9 in mid-epoch leaves every report that was written") {
    scratch const dir;
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        writer log{dir / "run"};
        for (int epoch = 0; epoch < 4; ++epoch) {
            log.write(report{epoch}.add("x", epoch).add("g", many_rows()));
        }
        report next{4};
        next.add("x", 4);
        ::kill(::getpid(), SIGKILL);
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    auto const names = scratch::names(dir / "run");
    REQUIRE(names.size() == 1);
    auto const file = log_of(content_of((dir / "run") + "/" + names[0]));
    CHECK(file.of("x").size() == 4);
    CHECK(file.of("g").size() == 4);
    writer const next{dir / "run", {.first_step = 4}}; // the lock went with the process
    CHECK(read(next).start_step == 4);
}

TEST_CASE("tensorboard writer: kill -9 at any moment leaves whole reports, and at most a torn last one") {
    for (int life = 0; life < 8; ++life) {
        scratch const dir;
        pid_t const child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            writer log{dir / "run"};
            for (int epoch = 0; epoch < 500; ++epoch) {
                log.write(report{epoch}.add("x", epoch).add("g", many_rows()).add("h", many_rows()));
            }
            for (;;) {
                ::pause();
            }
        }
        auto const written = [&] {
            std::uintmax_t bytes = 0;
            if (fs::exists(dir / "run")) {
                for (auto const& each : fs::directory_iterator(dir / "run")) {
                    bytes += each.file_size();
                }
            }
            return bytes;
        };
        while (written() < 100'000) {
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
        REQUIRE(::kill(child, SIGKILL) == 0);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status)); // and did not end by itself
        auto const names = scratch::names(dir / "run");
        REQUIRE(names.size() == 1);
        std::size_t torn = 0;
        auto const file = log_of(content_of((dir / "run") + "/" + names[0]), &torn);
        auto const x = file.of("x");
        CHECK(x.size() >= 4);
        CHECK(file.of("h").size() == x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            CHECK(x[i].step == static_cast<std::int64_t>(i));
        }
    }
}

TEST_CASE("tensorboard writer: a torn tail of an earlier life is never appended to") {
    scratch const dir;
    std::string path;
    {
        writer log{dir / "run"};
        path = log.path();
        log.write(report{0}.add("x", 1));
        log.write(report{1}.add("x", 2).add("g", many_rows()));
    }
    fs::resize_file(path, fs::file_size(path) - 100);
    auto const torn = content_of(path);
    writer log{dir / "run", {.first_step = 1}};
    log.write(report{1}.add("x", 3));
    CHECK(content_of(path) == torn);
    std::size_t rest = 0;
    CHECK(log_of(torn, &rest).of("x").size() == 1);
    CHECK(rest > 0);
    CHECK(read(log).of("x")[0].numbers[0] == 3);
}

TEST_CASE("tensorboard writer: sync by option writes the same") {
    scratch const dir;
    writer log{dir / "run", {.sync = true}};
    log.write(report{0, 4e9}.add("x", 1));
    CHECK(read(log).of("x").size() == 1);
}
