// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A user's own execution policy: each part is called once, the parts cover the samples, and errors come before any part.
#include <tally/host/tracker.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/total.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

/// Notes the parts and runs them in the opposite order.
struct backwards {
    std::size_t parts;
    std::vector<std::size_t>* calls;

    [[nodiscard]] std::size_t concurrency() const { return parts; }
    template <class F>
    void for_each_part(std::size_t count, F&& f) const {
        calls->push_back(count);
        for (std::size_t part = count; part-- > 0;) {
            f(part);
        }
    }
};

/// A thread for each part: what a simple pool of the user's does.
struct one_thread_each {
    [[nodiscard]] static std::size_t concurrency() { return 4; }
    template <class F>
    static void for_each_part(std::size_t count, F&& f) {
        std::vector<std::thread> threads;
        for (std::size_t part = 0; part < count; ++part) {
            threads.emplace_back([&f, part] { f(part); });
        }
        for (auto& each : threads) {
            each.join();
        }
    }
};

/// Says that it has no thread at all.
struct idle {
    [[nodiscard]] static std::size_t concurrency() { return 0; }
    template <class F>
    static void for_each_part(std::size_t, F&&) {}
};

static_assert(tally::host::execution<backwards> && tally::host::execution<one_thread_each>);
static_assert(!tally::host::execution<int> && !tally::host::execution<tally::num_classes>);

/// Integer states only: the bits don't depend on the order.
using counters = tally::collection<tally::named<"sum", tally::total<std::int64_t>>,
                                   tally::named<"largest", tally::largest_at<std::int64_t>>,
                                   tally::named<"confusion", tally::confusion_matrix<>>>;

struct sample_data {
    std::vector<std::int64_t> x;
    std::vector<int> guess;
    std::vector<int> truth;
    std::vector<int> mask;

    explicit sample_data(std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            x.push_back(static_cast<std::int64_t>(i * 7919 % 1009) - 500);
            guess.push_back(static_cast<int>(i % 5));
            truth.push_back(static_cast<int>(i * 3 % 6) - 1);
            mask.push_back(i % 10 != 3);
        }
    }
};

template <class Tracker>
void update(Tracker& tracker, sample_data const& d) {
    tracker.update(tally::values(d.x), tally::positions(1000), tally::predictions(d.guess), tally::targets(d.truth),
                   tally::mask(d.mask));
}

template <class Tracker>
std::vector<std::byte> bytes_of(Tracker const& tracker) {
    return tally::snapshot(tracker.finalize());
}

} // namespace

TEST_CASE("execution: any cut into parts gives the bits of one thread") {
    for (std::size_t const n : {0U, 1U, 1023U, 1024U, 2048U, 5000U, 10'007U}) {
        sample_data const d{n};
        tally::host::tracker<counters> serial{tally::num_classes{4}};
        update(serial, d);
        update(serial, d);
        for (std::size_t const parts : {1U, 2U, 3U, 7U, 64U}) {
            std::vector<std::size_t> calls;
            tally::host::tracker<counters, backwards> tracker{backwards{parts, &calls}, tally::num_classes{4}};
            update(tracker, d);
            update(tracker, d);
            CHECK(bytes_of(tracker) == bytes_of(serial));
            for (auto const count : calls) {
                CHECK(count <= parts);
                CHECK(n / count >= 1024); // a part is worth a thread
            }
        }
    }
}

TEST_CASE("execution: small updates stay on the calling thread, large ones use all parts") {
    std::vector<std::size_t> calls;
    tally::host::tracker<counters, backwards> tracker{backwards{6, &calls}, tally::num_classes{4}};
    update(tracker, sample_data{1500});
    CHECK(calls.empty());
    update(tracker, sample_data{2048});
    CHECK(calls == std::vector<std::size_t>{2});
    update(tracker, sample_data{100'000});
    CHECK(calls == std::vector<std::size_t>{2, 6});
}

TEST_CASE("execution: threads of the user's own") {
    sample_data const d{9999};
    tally::host::tracker<counters> serial{tally::num_classes{4}};
    tally::host::tracker<counters, one_thread_each> threads{tally::num_classes{4}};
    for (int i = 0; i < 3; ++i) {
        update(serial, d);
        update(threads, d);
    }
    CHECK(bytes_of(threads) == bytes_of(serial));
}

TEST_CASE("execution: floating-point states are repeatable for the same number of parts") {
    std::vector<float> x;
    for (int i = 0; i < 20'000; ++i) {
        x.push_back(1.0F / static_cast<float>(i % 977 + 1));
    }
    auto const run = [&] {
        tally::host::tracker<tally::mean<>, one_thread_each> tracker;
        tracker.update(tally::values(x));
        return bytes_of(tracker);
    };
    auto const first = run();
    CHECK(run() == first);
    CHECK(run() == first);
}

TEST_CASE("execution: a wrong call throws before any part is run") {
    std::vector<std::size_t> calls;
    tally::host::tracker<counters, backwards> tracker{backwards{4, &calls}, tally::num_classes{4}};
    sample_data d{5000};
    update(tracker, d);
    calls.clear();
    auto const before = bytes_of(tracker);
    d.mask.pop_back();
    CHECK_THROWS_AS(update(tracker, d), tally::shape_error);
    CHECK(calls.empty());
    CHECK(bytes_of(tracker) == before);
}

TEST_CASE("execution: reset, restore and assign reach the states of all parts") {
    std::vector<std::size_t> calls;
    tally::host::tracker<counters, backwards> tracker{backwards{3, &calls}, tally::num_classes{4}};
    auto const fresh = bytes_of(tracker);
    update(tracker, sample_data{6000});
    auto const saved = bytes_of(tracker);
    tracker.reset();
    CHECK(bytes_of(tracker) == fresh);
    update(tracker, sample_data{7000});
    tracker.restore(saved);
    CHECK(bytes_of(tracker) == saved);
}

TEST_CASE("execution: a policy without threads is the calling thread") {
    tally::host::tracker<counters, idle> tracker{tally::num_classes{4}};
    sample_data const d{5000};
    update(tracker, d);
    tally::host::tracker<counters> serial{tally::num_classes{4}};
    update(serial, d);
    CHECK(bytes_of(tracker) == bytes_of(serial));
}
