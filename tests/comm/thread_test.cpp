// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `thread_group` and `thread_communicator`: the laws of communicators, what replicas see that call different things,
// and what remains when a replica is late, gone, or has given up.
#include "support/communicator_laws.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/comm/thread.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

using words = std::vector<std::uint64_t>;

struct thread_runner {
    static constexpr bool sees_mismatch = true;
    int replicas;
    [[nodiscard]] int size() const { return replicas; }

    template <class Function>
    void run(Function function) {
        tally::replicas{replicas, 60s}.run(function);
    }
};

/// The text of the `Exception` that `function` throws; anything else fails the test.
template <class Exception, class Function>
std::string text_of(Function function) {
    try {
        function();
    } catch (Exception const& caught) {
        return caught.what();
    } catch (std::exception const& caught) {
        return std::string{"another exception: "} + caught.what();
    }
    return "no exception";
}

/// Whether the group of `comm` works: a sum over all replicas.
bool works(tally::thread_communicator& comm) {
    words ones{1};
    comm.all_reduce_sum(ones);
    return ones[0] == static_cast<std::uint64_t>(comm.size());
}

} // namespace

static_assert(!std::is_copy_constructible_v<tally::thread_communicator>);
static_assert(!std::is_copy_assignable_v<tally::thread_communicator>);
static_assert(std::is_nothrow_move_constructible_v<tally::thread_communicator>);
static_assert(std::is_nothrow_move_assignable_v<tally::thread_communicator>);

TEST_CASE("thread_communicator: laws of communicators") {
    for (int const count : {1, 2, 3, 8}) {
        CAPTURE(count);
        tally::testing::check_communicator_laws([&] { return thread_runner{count}; });
    }
}

TEST_CASE("thread_communicator: different calls throw the same layout_mismatch on all replicas, then the group works") {
    using comm = tally::thread_communicator;
    using call = std::function<void(comm&)>;
    auto const to_all = [](auto reduction, std::size_t size) -> call {
        return [=](comm& replica) {
            words data(size);
            (replica.*reduction)(data);
        };
    };
    auto const to_root = [](auto reduction, std::size_t size, int root) -> call {
        return [=](comm& replica) {
            words data(size);
            (replica.*reduction)(data, root);
        };
    };
    auto const gather = [](std::size_t size) -> call {
        return [=](comm& replica) {
            std::vector<std::byte> const mine(size);
            std::vector<std::byte> all(size * static_cast<std::size_t>(replica.size()));
            replica.all_gather(mine, all);
        };
    };
    struct {
        call of_others;
        call of_replica_2;
        std::string text;
    } const cases[] = {
        {to_all(&comm::all_reduce_sum, 12), gather(16),
         "replica 0 called all_reduce_sum of 96 bytes, replica 2 called all_gather of 16 bytes"},
        {to_all(&comm::all_reduce_sum, 12), to_all(&comm::all_reduce_max, 12),
         "replica 0 called all_reduce_sum of 96 bytes, replica 2 called all_reduce_max of 96 bytes"},
        {to_root(&comm::reduce_max, 2, 0), to_root(&comm::reduce_max, 2, 3),
         "replica 0 called reduce_max of 16 bytes to root 0, replica 2 called reduce_max of 16 bytes to root 3"},
        {to_root(&comm::reduce_sum, 2, 1), to_root(&comm::reduce_sum, 2, -1),
         "replica 0 called reduce_sum of 16 bytes to root 1, replica 2 called reduce_sum of 16 bytes to root -1"},
        {gather(0), to_all(&comm::all_reduce_sum, 1),
         "replica 0 called all_gather of 0 bytes, replica 2 called all_reduce_sum of 8 bytes"},
    };
    tally::replicas{4, 60s}.run([&](comm& replica) {
        for (auto const& each : cases) {
            auto const& issue = replica.rank() == 2 ? each.of_replica_2 : each.of_others;
            CHECK(text_of<tally::layout_mismatch>([&] { issue(replica); }) == each.text);
            CHECK(works(replica));
        }
    });
}

TEST_CASE("thread_communicator: wrong buffers and roots throw on all replicas and change no data") {
    tally::replicas{3, 60s}.run([](tally::thread_communicator& comm) {
        std::array<std::byte, 2> const mine{};
        std::vector<std::byte> all(comm.rank() == 1 ? 5 : 6, std::byte{9});
        auto const before = all;
        CHECK(text_of<tally::shape_error>([&] { comm.all_gather(mine, all); }) ==
              "replica 1 called all_gather of 2 bytes with a receiving buffer that isn't 3 times as long as what each "
              "replica sends");
        CHECK(all == before);
        CHECK_THROWS_AS(comm.gather(mine, all, 1), tally::shape_error);
        CHECK_NOTHROW(comm.gather(mine, all, 2));
        for (int const root : {-1, 3}) {
            words data{7};
            CHECK_THROWS_AS(comm.reduce_sum(data, root), tally::configuration_error);
            CHECK_THROWS_AS(comm.reduce_max(data, root), tally::configuration_error);
            CHECK_THROWS_AS(comm.gather(mine, all, root), tally::configuration_error);
            CHECK(data == words{7});
        }
        CHECK(works(comm));
    });
}

TEST_CASE("thread_communicator: gathering in place of a buffer's own part is allowed") {
    tally::replicas{3, 60s}.run([](tally::thread_communicator& comm) {
        std::vector<std::byte> all(3);
        all[0] = static_cast<std::byte>(comm.rank() + 1);
        comm.all_gather(std::span{all}.first(1), all);
        CHECK(all == std::vector{std::byte{1}, std::byte{2}, std::byte{3}});
    });
}

// A replica that never enters must not block the others beyond their deadline, and must not cost them their state.
TEST_CASE("thread_communicator: a replica that never enters costs the others the deadline, not their state") {
    constexpr auto deadline = 150ms;
    tally::thread_group const group{3, deadline};
    std::latch others_gave_up{2};
    std::array<words, 3> states{words{1, 2}, words{10, 20}, words{100, 200}};
    auto const before = states;
    std::array<std::string, 3> errors;
    std::array<std::chrono::steady_clock::duration, 3> waited{};
    std::atomic<int> gave_up_first = 0;

    std::vector<std::thread> threads;
    for (int rank = 0; rank != 3; ++rank) {
        threads.emplace_back([&, rank, comm = group.communicator(rank)]() mutable {
            auto const place = static_cast<std::size_t>(rank);
            if (rank == 2) {
                others_gave_up.wait(); // alive all the time, busy with something else
            }
            auto const start = std::chrono::steady_clock::now();
            try {
                comm.all_reduce_sum(states[place]);
            } catch (tally::deadline_exceeded const& error) {
                ++gave_up_first;
                errors[place] = error.what();
            } catch (tally::replica_lost const& error) {
                errors[place] = error.what();
            }
            waited[place] = std::chrono::steady_clock::now() - start;
            if (rank != 2) {
                others_gave_up.count_down();
            }
            // Failed for good: no second wait.
            CHECK(text_of<tally::replica_lost>([&] { comm.all_gather({}, {}); }) == errors[place]);
        });
    }
    for (auto& each : threads) {
        each.join();
    }

    CHECK(gave_up_first == 1);
    CHECK(errors[0] == errors[1]);
    CHECK(errors[0] == errors[2]);
    auto const patient = [](char const* rank) {
        return std::string{"replica "} + rank +
               " waited longer than 150 ms in all_reduce_sum of 16 bytes; missing: replica 2";
    };
    CHECK((errors[0] == patient("0") || errors[0] == patient("1")));
    CHECK(std::max(waited[0], waited[1]) >= deadline);
    CHECK(std::max(waited[0], waited[1]) < deadline + 10s); // generous: the machine may be busy
    CHECK(states == before);

    states[0][0] += 1; // local work goes on, and so does a new group of those that remain
    tally::replicas{2, 60s}.run(
        [&](tally::thread_communicator& comm) { comm.all_reduce_sum(states[static_cast<std::size_t>(comm.rank())]); });
    CHECK(states[0] == words{12, 22});
    CHECK(states[1] == words{12, 22});
}

TEST_CASE("thread_communicator: every missing replica is named") {
    tally::thread_group const group{4, 20ms};
    auto comm = group.communicator(1);
    auto const others = std::array{group.communicator(0), group.communicator(2), group.communicator(3)};
    CHECK(text_of<tally::deadline_exceeded>([&] { comm.all_gather({}, {}); }) ==
          "replica 1 waited longer than 20 ms in all_gather of 0 bytes; missing: replica 0, replica 2, replica 3");
    CHECK(others[0].rank() == 0);
}

TEST_CASE("thread_communicator: abort ends the wait of the others with its reason") {
    constexpr auto reason = "replica 1 aborted: disk full";
    tally::replicas{3, 60s}.run([&](tally::thread_communicator& comm) {
        CHECK(works(comm));
        if (comm.rank() == 1) {
            comm.abort("disk full");
            comm.abort("a second reason doesn't replace the first");
        }
        words data{5};
        CHECK(text_of<tally::replica_lost>([&] { comm.all_reduce_max(data); }) == reason);
        CHECK(text_of<tally::replica_lost>([&] { comm.all_gather({}, {}); }) == reason);
        CHECK(data == words{5});
    });
}

TEST_CASE("thread_communicator: a destroyed communicator has left, before and while others wait") {
    tally::thread_group const group{2, 60s};
    std::optional<tally::thread_communicator> leaver{group.communicator(0)};
    auto waiter = group.communicator(1);
    std::thread waits{[&] {
        CHECK(text_of<tally::replica_lost>([&] { waiter.all_gather({}, {}); }) ==
              "replica 0 left its group before taking part in all_gather of 0 bytes");
    }};
    std::this_thread::sleep_for(20ms);
    leaver.reset();
    waits.join();
}

// Replica 1 gives up, then calls again all the same, while replica 0 still copies what it sent before.
TEST_CASE("thread_communicator: a replica that gave up doesn't overwrite what others still read") {
    constexpr std::size_t bytes = std::size_t{16} << 20; // takes milliseconds to copy
    tally::replicas{2, 60s}.run([&](tally::thread_communicator& comm) {
        std::vector<std::byte> mine(bytes, std::byte{1});
        if (comm.rank() == 0) {
            std::vector<std::byte> all(2 * bytes);
            comm.gather(mine, all, 0);
            CHECK(std::count(all.begin(), all.end(), std::byte{1}) == static_cast<std::ptrdiff_t>(all.size()));
            CHECK_THROWS_AS(comm.all_gather({}, {}), tally::replica_lost);
        } else {
            comm.gather(mine, {}, 0);
            comm.abort("changed its mind");
            CHECK_THROWS_AS(comm.all_gather({}, {}), tally::replica_lost);
            std::fill(mine.begin(), mine.end(), std::byte{2});
            CHECK_THROWS_AS(comm.gather(mine, {}, 0), tally::replica_lost);
        }
    });
}

TEST_CASE("thread_communicator: leaving after the last collective takes nothing from slower replicas") {
    for (int repeat = 0; repeat != 50; ++repeat) {
        tally::replicas{4, 60s}.run([](tally::thread_communicator& comm) { CHECK(works(comm)); });
    }
}

TEST_CASE("thread_communicator: outlives its group, moves, and leaves its old group when assigned") {
    auto pair = [] {
        tally::thread_group const group{2, 60s};
        return std::pair{group.communicator(0), group.communicator(1)};
    }();
    std::thread other{[comm = std::move(pair.second)]() mutable {
        CHECK(works(comm));
        CHECK_THROWS_AS(comm.all_gather({}, {}), tally::replica_lost);
    }};
    auto moved = std::move(pair.first);
    CHECK(works(moved));
    moved = tally::thread_group{1}.communicator(0);
    CHECK(moved.size() == 1);
    CHECK(works(moved));
    other.join();
}

TEST_CASE("thread_communicator: one that was moved from belongs to no group and may be assigned to") {
    tally::thread_group const group{2, 60s};
    auto from = group.communicator(1);
    auto const to = std::move(from);
    CHECK(to.rank() == 1);
    words data{7};
    auto const text = "this thread_communicator was moved from: it belongs to no group";
    CHECK(text_of<tally::configuration_error>([&] { (void)from.rank(); }) == text);
    CHECK(text_of<tally::configuration_error>([&] { (void)from.size(); }) == text);
    CHECK(text_of<tally::configuration_error>([&] { from.all_reduce_sum(data); }) == text);
    CHECK(text_of<tally::configuration_error>([&] { from.reduce_max(data, 1); }) == text);
    CHECK(text_of<tally::configuration_error>([&] { from.all_gather({}, {}); }) == text);
    CHECK(text_of<tally::configuration_error>([&] { from.gather({}, {}, 0); }) == text);
    CHECK(text_of<tally::configuration_error>([&] { (void)from.split(0); }) == text);
    CHECK(data == words{7});
    from.abort("no group to give up for");
    CHECK(to.size() == 2);
    from = tally::thread_group{1}.communicator(0);
    CHECK(works(from));
}

TEST_CASE("thread_group: refuses impossible settings and a rank taken twice") {
    CHECK_THROWS_AS(tally::thread_group{0}, tally::configuration_error);
    CHECK_THROWS_AS(tally::thread_group{-1}, tally::configuration_error);
    CHECK_THROWS_AS((tally::thread_group{1, -1ms}), tally::configuration_error);
    tally::thread_group const group{2};
    CHECK(group.size() == 2);
    CHECK_THROWS_AS((void)group.communicator(2), tally::configuration_error);
    CHECK_THROWS_AS((void)group.communicator(-1), tally::configuration_error);
    auto const comm = group.communicator(1);
    CHECK(comm.deadline() == 5min);
    CHECK_THROWS_AS((void)group.communicator(1), tally::configuration_error);
}

TEST_CASE("thread_communicator: deadlines of zero and of the largest number are usable") {
    auto alone = tally::thread_group{1, 0ms}.communicator(0);
    CHECK(works(alone));
    tally::replicas{2, std::chrono::milliseconds::max()}.run([](auto& comm) { CHECK(works(comm)); });
}

TEST_CASE("thread_communicator: 64 replicas") {
    tally::replicas{64, 120s}.run([](tally::thread_communicator& comm) {
        auto const rank = static_cast<std::uint64_t>(comm.rank());
        for (std::uint64_t repeat = 0; repeat != 20; ++repeat) {
            words sum(100, rank + repeat);
            comm.all_reduce_sum(sum);
            CHECK(sum == words(100, 64 * 63 / 2 + 64 * repeat));
            words all(64);
            words const mine{rank * repeat};
            comm.all_gather(std::as_bytes(std::span{mine}), std::as_writable_bytes(std::span{all}));
            CHECK(all[63] == 63 * repeat);
        }
    });
}

TEST_CASE("thread_communicator: split makes independent groups ranked by key") {
    tally::replicas{5, 60s}.run([](tally::thread_communicator& comm) {
        for (int repeat = 0; repeat != 3; ++repeat) {
            auto part = comm.split(comm.rank() % 2, -comm.rank()); // {4, 2, 0} and {3, 1}
            CHECK(part.size() == (comm.rank() % 2 == 0 ? 3 : 2));
            CHECK(part.rank() == (comm.rank() % 2 == 0 ? (4 - comm.rank()) / 2 : (3 - comm.rank()) / 2));
            CHECK(part.deadline() == comm.deadline());
            words sum{static_cast<std::uint64_t>(comm.rank())};
            part.all_reduce_sum(sum);
            CHECK(sum[0] == (comm.rank() % 2 == 0 ? 6 : 4));
            if (comm.rank() == 3) {
                part.abort("only the odd ones");
            }
            if (comm.rank() % 2 == 0) {
                CHECK(works(part));
            } else {
                CHECK_THROWS_AS(part.all_gather({}, {}), tally::replica_lost);
            }
            CHECK(works(comm));
        }
        auto same_order = comm.split(0);
        CHECK(same_order.rank() == comm.rank());
        auto alone = comm.split(comm.rank());
        CHECK(alone.size() == 1);
        CHECK(works(alone));
    });
}
