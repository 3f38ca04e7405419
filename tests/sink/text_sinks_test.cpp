// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// json_lines, csv and prometheus: every kind of entry, files of earlier lives, and failures.
#include <tally/sink/csv.hpp>
#include <tally/sink/json_lines.hpp>
#include <tally/sink/prometheus.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "scratch.hpp"

namespace {

using tally::reason;
using tally::report;
using tally_test::content_of;
using tally_test::scratch;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// One entry of each kind, at the time 1.5.
report every_kind(std::int64_t step) {
    report page{step, 1.5};
    page.add("train/loss", 0.1).add("n", std::int64_t{67128463}).add("most", std::numeric_limits<std::uint64_t>::max());
    page.add("none", tally::result<double>(reason::no_samples)).add("inf", -infinity).add("whole", 2.0);
    page.put("recall", report::series{"class_", {0.5, reason::absent_class}});
    page.put("roc", report::grid{"point_", {"x", "y"}, {infinity, 0.0, std::uint64_t{1}, 0.25}});
    page.add("g", std::vector<tally::histogram_row>{{-1, 0, 0}, {0, 0, 3}, {0, 2.5, 4}});
    page.add_text("about \"us\"", "a, \\b\n\"c\"");
    return page;
}

} // namespace

TEST_CASE("json_lines: every kind of entry, doubles and integers exact") {
    scratch const dir;
    tally::json_lines log{dir / "log"};
    log.write(every_kind(3));
    std::string const begin = R"({"step":3,"wall_time":1.5,"tag":)";
    std::string expected;
    for (auto const* const line :
         {R"("train/loss","value":0.1})", R"("n","value":67128463})", R"("most","value":18446744073709551615})",
          R"("none","value":null,"reason":"no samples"})", R"("inf","value":null,"reason":"-infinity"})",
          R"("whole","value":2.0})", R"("recall","label":"class_","values":[0.5,null],"reasons":{"1":"absent class"}})",
          R"("roc","label":"point_","columns":["x","y"],"rows":[[null,0.0],[1,0.25]],)"
          R"("reasons":{"0":"infinity"}})",
          R"("g","histogram":[[-1.0,0.0,0.0],[0.0,0.0,3.0],[0.0,2.5,4.0]]})",
          R"("about \"us\"","text":"a, \\b\n\"c\""})"}) {
        expected += begin + line + "\n";
    }
    CHECK(content_of(dir / "log") == expected);
}

TEST_CASE("csv: every kind of entry, under one header for all reports") {
    scratch const dir;
    tally::csv log{dir / "log"};
    log.write(every_kind(3));
    log.write(report{4, 1.5}.add("other", std::numeric_limits<double>::quiet_NaN()));
    CHECK(content_of(dir / "log") == "step,wall_time,tag,value,left,right,text\n"
                                     "3,1.5,train/loss,0.1,,,\n"
                                     "3,1.5,n,67128463,,,\n"
                                     "3,1.5,most,18446744073709551615,,,\n"
                                     "3,1.5,none,,,,no samples\n"
                                     "3,1.5,inf,-inf,,,\n"
                                     "3,1.5,whole,2.0,,,\n"
                                     "3,1.5,recall/class_0,0.5,,,\n"
                                     "3,1.5,recall/class_1,,,,absent class\n"
                                     "3,1.5,roc/point_0/x,inf,,,\n"
                                     "3,1.5,roc/point_0/y,0.0,,,\n"
                                     "3,1.5,roc/point_1/x,1,,,\n"
                                     "3,1.5,roc/point_1/y,0.25,,,\n"
                                     "3,1.5,g,0.0,-1.0,0.0,\n"
                                     "3,1.5,g,3.0,0.0,0.0,\n"
                                     "3,1.5,g,4.0,0.0,2.5,\n"
                                     "3,1.5,\"about \"\"us\"\"\",,,,\"a, \\\\b\\n\"\"c\"\"\"\n"
                                     "4,1.5,other,nan,,,\n");
}

TEST_CASE("prometheus: every kind of entry") {
    scratch const dir;
    tally::prometheus log{dir / "log.prom"};
    log.write(every_kind(3));
    CHECK(content_of(dir / "log.prom") == "# \"about \\\"us\\\"\" is a text of 9 bytes, which has no place here\n"
                                          "# TYPE tally_g histogram\n"
                                          "tally_g_bucket{tag=\"g\",le=\"-1.0\"} 0.0\n"
                                          "tally_g_bucket{tag=\"g\",le=\"0.0\"} 3.0\n"
                                          "tally_g_bucket{tag=\"g\",le=\"2.5\"} 7.0\n"
                                          "tally_g_bucket{tag=\"g\",le=\"+Inf\"} 7.0\n"
                                          "tally_g_count{tag=\"g\"} 7.0\n"
                                          "# TYPE tally_inf gauge\n"
                                          "tally_inf{tag=\"inf\"} -Inf\n"
                                          "# TYPE tally_most gauge\n"
                                          "tally_most{tag=\"most\"} 18446744073709551615\n"
                                          "# TYPE tally_n gauge\n"
                                          "tally_n{tag=\"n\"} 67128463\n"
                                          "# TYPE tally_none gauge\n"
                                          "# \"none\" has no value: no samples\n"
                                          "tally_none{tag=\"none\"} NaN\n"
                                          "# TYPE tally_recall gauge\n"
                                          "tally_recall{tag=\"recall\",element=\"class_0\"} 0.5\n"
                                          "# \"recall\",element=\"class_1\" has no value: absent class\n"
                                          "tally_recall{tag=\"recall\",element=\"class_1\"} NaN\n"
                                          "# TYPE tally_roc gauge\n"
                                          "tally_roc{tag=\"roc\",row=\"point_0\",column=\"x\"} +Inf\n"
                                          "tally_roc{tag=\"roc\",row=\"point_0\",column=\"y\"} 0.0\n"
                                          "tally_roc{tag=\"roc\",row=\"point_1\",column=\"x\"} 1\n"
                                          "tally_roc{tag=\"roc\",row=\"point_1\",column=\"y\"} 0.25\n"
                                          "# TYPE tally_step gauge\n"
                                          "tally_step 3.0\n"
                                          "# TYPE tally_train_loss gauge\n"
                                          "tally_train_loss{tag=\"train/loss\"} 0.1\n"
                                          "# TYPE tally_wall_time gauge\n"
                                          "tally_wall_time 1.5\n"
                                          "# TYPE tally_whole gauge\n"
                                          "tally_whole{tag=\"whole\"} 2.0\n");
}

TEST_CASE("prometheus: a snapshot of the newest value of each tag, with the names that fall together in one family") {
    scratch const dir;
    tally::prometheus log{dir / "log.prom", {.prefix = "job"}};
    log.write(report{1, 1.5}.add("a/b", 1).add("later", 1));
    log.write(report{2, 2.5}.add("a_b", 2));
    log.write(report{3, 3.5}.add("a/b", 3));
    CHECK(content_of(dir / "log.prom") == "# TYPE job_a_b gauge\n"
                                          "job_a_b{tag=\"a/b\"} 3\n"
                                          "job_a_b{tag=\"a_b\"} 2\n"
                                          "# TYPE job_later gauge\n"
                                          "job_later{tag=\"later\"} 1\n"
                                          "# TYPE job_step gauge\n"
                                          "job_step 3.0\n"
                                          "# TYPE job_wall_time gauge\n"
                                          "job_wall_time 3.5\n");
    CHECK(scratch::names(dir / ".").size() == 1); // nothing aside is left
}

TEST_CASE("prometheus: a name with two meanings is refused and the file stays") {
    scratch const dir;
    tally::prometheus log{dir / "log.prom"};
    std::vector<tally::histogram_row> const rows{{0, 1, 2}};
    log.write(report{1}.add("h", rows));
    auto const before = content_of(dir / "log.prom");
    CHECK_THROWS_AS(log.write(report{2}.add("h_count", 1)), tally::report_error);
    CHECK_THROWS_AS(log.write(report{2}.add("h/", 1).add("h_", rows)), tally::report_error);
    CHECK(content_of(dir / "log.prom") == before);
    log.write(report{2}.add("h", rows));
}

TEST_CASE("prometheus: a full disk or a folder in the way leaves the file as it was, and nothing beside it") {
    scratch const dir;
    tally::prometheus log{dir / "log.prom"};
    log.write(report{1}.add("x", 1));
    auto const before = content_of(dir / "log.prom");
    {
        tally_test::full_disk const full{20};
        CHECK_THROWS_AS(log.write(report{2}.add("x", 2)), tally::sink_error);
    }
    CHECK(content_of(dir / "log.prom") == before);
    CHECK(scratch::names(dir / ".").size() == 1);
    log.write(report{2}.add("x", 3));

    std::filesystem::create_directory(dir / "folder.prom");
    tally::prometheus other{dir / "folder.prom"};
    CHECK_THROWS_AS(other.write(report{1}.add("x", 1)), tally::sink_error);
    CHECK(scratch::names(dir / ".").size() == 2);
}

TEST_CASE_TEMPLATE("text logs: a later life goes on only if it says from where", Sink, tally::json_lines, tally::csv) {
    scratch const dir;
    {
        Sink log{dir / "log"};
        log.write(report{1}.add("x", 1));
    }
    auto const before = content_of(dir / "log");
    CHECK_THROWS_AS(Sink{dir / "log"}, tally::sink_error);
    Sink log{dir / "log", {.first_step = 2}};
    CHECK_THROWS_AS(log.write(report{1}.add("x", 2)), tally::report_error);
    CHECK(content_of(dir / "log") == before);
    log.write(report{2}.add("x", 2));
    log.write(report{3, 1.5}.add("x", 3));
    auto const after = content_of(dir / "log");
    CHECK(after.starts_with(before));
    CHECK(after.find("step", before.size()) ==
          (std::is_same_v<Sink, tally::csv> ? std::string::npos : before.size() + 2));
}

TEST_CASE_TEMPLATE("text logs: a torn last line is removed, whole lines stay", Sink, tally::json_lines, tally::csv) {
    scratch const dir;
    {
        Sink log{dir / "log"};
        log.write(report{1, 1.5}.add("x", 1));
    }
    auto const whole = content_of(dir / "log");
    {
        Sink log{dir / "log", {.first_step = 2}};
        log.write(report{2, 1.5}.add("x", 2));
    }
    auto const longer = content_of(dir / "log");
    for (auto size = whole.size(); size < longer.size(); ++size) {
        tally_test::write_file(dir / "log", longer.substr(0, size));
        Sink log{dir / "log", {.first_step = 2}};
        log.write(report{2, 1.5}.add("x", 2));
        REQUIRE(content_of(dir / "log") == longer);
    }
    // Killed while it wrote its very first line.
    for (std::size_t size = 1; size < 8; ++size) {
        tally_test::write_file(dir / "log", longer.substr(0, size));
        Sink log{dir / "log", {.first_step = 1}};
        log.write(report{1, 1.5}.add("x", 1));
        log.write(report{2, 1.5}.add("x", 2));
        REQUIRE(content_of(dir / "log") == longer);
    }
}

TEST_CASE_TEMPLATE("text logs: a torn line of any length is removed", Sink, tally::json_lines, tally::csv) {
    scratch const dir;
    {
        Sink log{dir / "log", {.first_step = 1}};
        log.write(report{1, 1.5}.add("x", 1));
    }
    auto const whole = content_of(dir / "log");
    for (std::size_t const torn : {65534U, 65535U, 65536U, 65537U, 200'000U}) {
        tally_test::write_file(dir / "log", whole + std::string(torn, '7'));
        Sink const log{dir / "log", {.first_step = 2}};
        CHECK(content_of(dir / "log") == whole);
    }
}

TEST_CASE_TEMPLATE("text logs: a file of something else is not touched", Sink, tally::json_lines, tally::csv) {
    scratch const dir;
    for (std::string const other : {"my thesis", "step;1\nhalf", "{\"steps\": 1}\n"}) {
        tally_test::write_file(dir / "log", other);
        CHECK_THROWS_AS(Sink(dir / "log", {.first_step = 1}), tally::sink_error);
        CHECK_THROWS_AS(Sink{dir / "log"}, tally::sink_error);
        CHECK(content_of(dir / "log") == other);
    }
}

TEST_CASE_TEMPLATE("text logs: a second writer, a full disk, a missing folder, a step back", Sink, tally::json_lines,
                   tally::csv) {
    scratch const dir;
    CHECK_THROWS_AS(Sink{dir / "missing/log"}, tally::sink_error);
    Sink log{dir / "log"};
    CHECK_THROWS_AS(Sink(dir / "log", {.first_step = 1}), tally::sink_error);
    log.write(report{1}.add("x", 1));
    auto const before = content_of(dir / "log");
    {
        tally_test::full_disk const full{before.size() + 10};
        CHECK_THROWS_AS(log.write(report{2}.add("x", 2).add("y", 2)), tally::sink_error);
    }
    CHECK_THROWS_AS(log.write(report{1}.add("x", 2)), tally::report_error);
    CHECK(content_of(dir / "log") == before);
    log.write(report{2}.add("x", 2));
    CHECK(content_of(dir / "log").starts_with(before));
}

TEST_CASE("sinks: a report whose values are on another replica is refused, not written in part") {
    scratch const dir;
    tally::json_lines log{dir / "log"};
    report page{1};
    page.add("x", 1).put_absent("train");
    CHECK_THROWS_WITH_AS(log.write(page),
                         "the report of step 1 lacks the values of \"train\": combine_to must send them to the replica "
                         "that writes, which is replica 0",
                         tally::report_error);
    CHECK(content_of(dir / "log").empty());
}
