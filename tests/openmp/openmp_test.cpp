// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// host::openmp: the same values as one thread, and the same bits in every run.
#include <tally/comm/replicas.hpp>
#include <tally/host/openmp.hpp>
#include <tally/host/tracker.hpp>
#include <tally/metric/accuracy.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/total.hpp>
#include <tally/metric/variance.hpp>

#include <doctest/doctest.h>

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

// LLVM's OpenMP run time keeps what it allocated for its threads until the process ends, which LeakSanitizer reports.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is the sanitizer's
extern "C" char const* __lsan_default_suppressions() { return "leak:libomp.so"; }

namespace {

using tally::host::openmp;

using counters = tally::collection<tally::named<"sum", tally::total<std::int64_t>>,
                                   tally::named<"largest", tally::largest_at<std::int64_t>>,
                                   tally::named<"confusion", tally::confusion_matrix<7>>>;

struct sample_data {
    std::vector<std::int64_t> x;
    std::vector<int> guess;
    std::vector<int> truth;

    explicit sample_data(std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            x.push_back(static_cast<std::int64_t>(i * 7919 % 1009) - 500);
            guess.push_back(static_cast<int>(i % 7));
            truth.push_back(static_cast<int>(i * 3 % 8));
        }
    }
};

template <class Tracker>
void update(Tracker& tracker, sample_data const& d) {
    tracker.update(tally::values(d.x), tally::positions(0), tally::predictions(d.guess), tally::targets(d.truth));
}

template <class Tracker>
std::vector<std::byte> bytes_of(Tracker const& tracker) {
    return tally::snapshot(tracker.finalize());
}

} // namespace

TEST_CASE("openmp: calls each part once, also more parts than threads and fewer") {
    for (std::size_t const threads : {1U, 2U, 3U, 16U}) {
        openmp const policy{threads};
        CHECK(policy.concurrency() == threads);
        for (std::size_t const parts : {0U, 1U, 2U, 5U, 40U}) {
            std::vector<std::atomic<int>> calls(parts);
            policy.for_each_part(parts, [&](std::size_t part) { ++calls[part]; });
            CHECK(std::all_of(calls.begin(), calls.end(), [](auto const& n) { return n == 1; }));
        }
    }
}

TEST_CASE("openmp: runs parts at the same time") {
    // Every part waits until all have begun: one thread alone would never get there.
    openmp const policy{3};
    std::atomic<int> begun = 0;
    std::atomic<int> together = 0;
    policy.for_each_part(3, [&](std::size_t) {
        ++begun;
        auto const end = omp_get_wtime() + 20;
        while (begun != 3 && omp_get_wtime() < end) {
        }
        together += begun == 3 ? 1 : 0;
    });
    CHECK(together == 3);
}

TEST_CASE("openmp: no threads is a mistake") { CHECK_THROWS_AS(openmp{0}, tally::configuration_error); }

TEST_CASE("openmp: integer states have the bits of one thread") {
    for (std::size_t const n : {0U, 5U, 1024U, 2048U, 30'011U}) {
        sample_data const d{n};
        tally::host::tracker<counters> serial;
        update(serial, d);
        update(serial, d);
        for (std::size_t const threads : {1U, 2U, 5U, 64U}) {
            tally::host::tracker<counters, openmp> tracker{openmp{threads}};
            update(tracker, d);
            update(tracker, d);
            CHECK(bytes_of(tracker) == bytes_of(serial));
        }
    }
}

TEST_CASE("openmp: rows of scores that have to be converted, each thread with its own memory") {
    constexpr std::size_t rows = 6000;
    constexpr std::size_t columns = 10;
    std::vector<std::int16_t> scores;
    std::vector<int> labels;
    for (std::size_t i = 0; i < rows * columns; ++i) {
        scores.push_back(static_cast<std::int16_t>(i * 31 % 17));
    }
    for (std::size_t i = 0; i < rows; ++i) {
        labels.push_back(static_cast<int>(i % columns));
    }
    using classes = tally::collection<tally::named<"top1", tally::accuracy<>>,
                                      tally::named<"top3", tally::accuracy<tally::top_k<3>>>,
                                      tally::named<"confusion", tally::confusion_matrix<columns>>>;
    tally::host::tracker<classes> serial;
    tally::host::tracker<classes, openmp> tracker{openmp{4}};
    for (int i = 0; i < 2; ++i) {
        serial.update(tally::scores(scores, columns), tally::targets(labels));
        tracker.update(tally::scores(scores, columns), tally::targets(labels));
    }
    CHECK(bytes_of(tracker) == bytes_of(serial));
}

TEST_CASE("openmp: floating-point states have the same bits in every run, and the value of one thread") {
    std::vector<float> x;
    for (int i = 0; i < 50'000; ++i) {
        x.push_back(1.0F / static_cast<float>(i % 977 + 1));
    }
    using statistics =
        tally::collection<tally::named<"mean", tally::mean<>>, tally::named<"variance", tally::variance<>>>;
    auto const run = [&](std::size_t threads) {
        tally::host::tracker<statistics, openmp> tracker{openmp{threads}};
        tracker.update(tally::values(x));
        tracker.update(tally::values(x.data(), 33'333));
        return tracker;
    };
    auto const first = bytes_of(run(4));
    for (int repeat = 0; repeat < 20; ++repeat) {
        CHECK(bytes_of(run(4)) == first);
    }
    tally::host::tracker<statistics> serial;
    serial.update(tally::values(x));
    serial.update(tally::values(x.data(), 33'333));
    using namespace tally::literals;
    auto const expected = serial.finalize();
    for (std::size_t const threads : {1U, 2U, 3U, 8U}) {
        auto const result = run(threads).finalize();
        CHECK(result["mean"_metric].value() == doctest::Approx(expected["mean"_metric].value()).epsilon(1e-14));
        CHECK(result["variance"_metric].value() == doctest::Approx(expected["variance"_metric].value()).epsilon(1e-13));
    }
}

TEST_CASE("openmp: wrong sizes throw in the calling thread, and leave the state") {
    tally::host::tracker<counters, openmp> tracker{openmp{4}};
    sample_data d{9000};
    update(tracker, d);
    auto const before = bytes_of(tracker);
    d.truth.pop_back();
    CHECK_THROWS_AS(update(tracker, d), tally::shape_error);
    CHECK(bytes_of(tracker) == before);
}

TEST_CASE("openmp: replicas that are threads themselves") {
    sample_data const d{8000};
    tally::host::tracker<counters> serial;
    update(serial, d);
    update(serial, d);
    tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        tally::host::tracker<counters, openmp> tracker{openmp{2}};
        update(tracker, d);
        CHECK(tally::snapshot(static_cast<tally::results<counters> const&>(tracker.combine(comm))) == bytes_of(serial));
    });
}
