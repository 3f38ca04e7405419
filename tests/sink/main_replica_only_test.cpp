// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// main_replica_only: all replicas run the same lines, one of them writes.
#include <tally/sink/json_lines.hpp>
#include <tally/sink/main_replica_only.hpp>
#include <tally/sink/report_metrics.hpp>
#include <tally/sink/tensorboard.hpp>
#include <tally/tally.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "event_reader.hpp"
#include "scratch.hpp"

namespace {

using tally::report;
using tally_test::scratch;

static_assert(tally::sink<tally::main_replica_only<tally::json_lines>>);

} // namespace

TEST_CASE("main replica only: the same code on all replicas gives one log with the values of all") {
    for (int const count : {1, 2, 3, 8}) {
        scratch const dir;
        auto const writers = tally::replicas{count}.run([&](tally::thread_communicator& comm) {
            auto log = tally::open_on_main<tally::tensorboard::writer>(comm, dir / "run");
            tally::host::tracker<tally::mean<>> loss;
            for (int epoch = 1; epoch <= 2; ++epoch) {
                std::vector<float> const x(static_cast<std::size_t>(comm.rank()), static_cast<float>(comm.rank()));
                loss.update(tally::values(x));
                report page{epoch};
                page.add("loss", loss.combine(comm)).add("to_main", loss.combine_to(comm, 0));
                log.write(page);
            }
            return log.is_main() ? 1 : 0;
        });
        CHECK(writers[0] == 1);
        CHECK(std::vector<int>(writers.begin() + 1, writers.end()) == std::vector<int>(writers.size() - 1, 0));
        auto const names = scratch::names(dir / "run");
        REQUIRE(names.size() == 1);
        auto const file = tally_test::log_of(tally_test::content_of((dir / "run") + "/" + names[0]));
        double samples = 0;
        double total = 0;
        for (int rank = 0; rank < count; ++rank) {
            samples += rank;
            total += rank * rank;
        }
        REQUIRE(file.of("loss").size() == 2);
        CHECK(file.of("loss/samples/taken")[1].numbers[0] == 2 * samples);
        if (count > 1) {
            CHECK(file.of("loss")[1].numbers[0] == static_cast<double>(static_cast<float>(total / samples)));
            CHECK(file.of("to_main")[1].numbers == file.of("loss")[1].numbers);
        }
    }
}

TEST_CASE("main replica only: a sink that can't be opened throws the same error on all replicas, and nobody waits") {
    scratch const dir;
    tally_test::write_file(dir / "file", "");
    auto const texts = tally::replicas{3}.run([&](tally::thread_communicator& comm) {
        try {
            auto log = tally::open_on_main<tally::tensorboard::writer>(comm, dir / "file");
            return std::string{};
        } catch (tally::sink_error const& refused) {
            return std::string{refused.what()};
        }
    });
    CHECK(texts[0] == "cannot make the folder \"" + (dir / "file") + "\": Not a directory");
    CHECK(texts[1] == texts[0]);
    CHECK(texts[2] == texts[0]);
}

TEST_CASE("main replica only: values sent to another replica are not lost in silence") {
    scratch const dir;
    CHECK_THROWS_AS(tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        auto log = tally::open_on_main<tally::json_lines>(comm, dir / "log");
        tally::host::tracker<tally::mean<>> loss;
        log.write(report{1}.add("loss", loss.combine_to(comm, 1)));
    }),
                    tally::report_error);
}
