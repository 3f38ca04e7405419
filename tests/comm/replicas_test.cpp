// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `replicas`: results in rank order, and the first cause of a failure, whatever the others threw because of it.
#include <tally/comm/replicas.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

void sum_once(tally::thread_communicator& comm) {
    std::vector<std::uint64_t> data{1, 2, 3};
    comm.all_reduce_sum(data);
}

} // namespace

TEST_CASE("replicas: values come back in rank order") {
    tally::replicas const workers{5};
    CHECK(workers.count() == 5);
    CHECK(workers.run([](tally::thread_communicator& comm) { return 10 * comm.rank(); }) ==
          std::vector{0, 10, 20, 30, 40});
    CHECK(workers.run([](auto& comm) { return comm.rank() % 2 == 1; }) == std::vector{false, true, false, true, false});
    auto const owners = workers.run([](auto& comm) { return std::make_unique<int>(comm.rank()); });
    CHECK(*owners[4] == 4);
    static_assert(std::is_void_v<decltype(workers.run(sum_once))>);
    workers.run(sum_once);
}

TEST_CASE("replicas: the exception of one replica arrives as itself, and the others don't hang") {
    std::atomic<int> lost = 0;
    auto const attempt = [&] {
        tally::replicas{4, 60s}.run([&](tally::thread_communicator& comm) {
            sum_once(comm);
            if (comm.rank() == 2) {
                throw std::invalid_argument("bad batch");
            }
            try {
                sum_once(comm);
            } catch (tally::replica_lost const& error) {
                ++lost;
                CHECK(error.what() == std::string{"replica 2 aborted: bad batch"});
                throw;
            }
        });
    };
    CHECK_THROWS_WITH_AS(attempt(), "bad batch", std::invalid_argument);
    CHECK(lost == 3);
    CHECK_THROWS_WITH_AS(attempt(), "bad batch", std::invalid_argument); // nothing left over from the first run
    tally::replicas{4, 60s}.run(sum_once);
}

TEST_CASE("replicas: of several causes the one of the lowest rank is rethrown") {
    CHECK_THROWS_WITH_AS(tally::replicas{4}.run([](auto& comm) {
        sum_once(comm);
        if (comm.rank() != 0) {
            throw std::runtime_error("cause " + std::to_string(comm.rank()));
        }
        sum_once(comm);
    }),
                         "cause 1", std::runtime_error);
}

TEST_CASE("replicas: what isn't a std::exception is passed on too") {
    CHECK_THROWS_AS(tally::replicas{3}.run([](auto& comm) {
        if (comm.rank() == 1) {
            throw 42;
        }
        sum_once(comm);
    }),
                    int);
}

TEST_CASE("replicas: a replica that returns too early is named, without waiting for the deadline") {
    CHECK_THROWS_WITH_AS(tally::replicas{3}.run([](auto& comm) {
        sum_once(comm);
        if (comm.rank() != 1) {
            sum_once(comm);
        }
    }),
                         "replica 1 left its group before taking part in all_reduce_sum of 24 bytes",
                         tally::replica_lost);
}

TEST_CASE("replicas: a deadline is a cause, an exception in a part of a split reaches the caller") {
    CHECK_THROWS_AS((tally::replicas{2, 30ms}.run([](auto& comm) {
                        if (comm.rank() == 0) {
                            sum_once(comm);
                        }
                        std::this_thread::sleep_for(1s);
                    })),
                    tally::deadline_exceeded);
    CHECK_THROWS_WITH_AS(tally::replicas{4}.run([](auto& comm) {
        auto part = comm.split(comm.rank() / 2);
        if (comm.rank() == 3) {
            throw std::out_of_range("in the part");
        }
        sum_once(part);
        sum_once(comm);
    }),
                         "in the part", std::out_of_range);
}

TEST_CASE("replicas: a communicator that was moved away doesn't keep an exception from ending the others") {
    std::atomic<int> lost = 0;
    CHECK_THROWS_WITH_AS((tally::replicas{3, 60s}.run([&](tally::thread_communicator& comm) {
                             auto mine = std::move(comm);
                             if (mine.rank() == 0) {
                                 throw std::runtime_error("after the move");
                             }
                             try {
                                 sum_once(mine);
                             } catch (tally::replica_lost const&) {
                                 ++lost;
                                 throw;
                             }
                         })),
                         "after the move", std::runtime_error);
    CHECK(lost == 2);

    // Moved to where it outlives the replica: nobody leaves, so only the exception can end the wait.
    std::vector<tally::thread_communicator> kept;
    CHECK_THROWS_WITH_AS((tally::replicas{2, 60s}.run([&](tally::thread_communicator& comm) {
                             if (comm.rank() == 0) {
                                 kept.push_back(std::move(comm));
                                 throw std::runtime_error("kept");
                             }
                             try {
                                 sum_once(comm);
                             } catch (tally::replica_lost const& error) {
                                 CHECK(error.what() == std::string{"replica 0 aborted: kept"});
                             }
                         })),
                         "kept", std::runtime_error);
    CHECK_THROWS_AS(sum_once(kept.front()), tally::replica_lost);
}

TEST_CASE("replicas: an exception ends the first group and the one that was assigned over its communicator") {
    CHECK_THROWS_WITH_AS((tally::replicas{4, 60s}.run([](tally::thread_communicator& comm) {
                             auto const rank = comm.rank();
                             auto part = comm.split(rank / 2);
                             if (rank == 3) {
                                 comm = std::move(part);
                                 throw std::runtime_error("in the part");
                             }
                             try {
                                 sum_once(rank == 2 ? part : comm);
                             } catch (tally::replica_lost const& error) {
                                 std::string const text = error.what();
                                 CHECK((rank != 2 || text == "replica 1 aborted: in the part"));
                             }
                         })),
                         "in the part", std::runtime_error);
}

TEST_CASE("replicas: a communicator may be moved into the result") {
    auto own = tally::replicas{2}.run([](tally::thread_communicator& comm) { return std::move(comm); });
    CHECK(own[0].rank() == 0);
    CHECK(own[1].rank() == 1);
    CHECK(own[1].size() == 2);
}

TEST_CASE("replicas: refuses impossible settings") {
    CHECK_THROWS_AS(tally::replicas{0}, tally::configuration_error);
    CHECK_THROWS_AS((tally::replicas{2, -1ms}), tally::configuration_error);
}

// Replicas drop out at a random collective while others read what they sent: the sanitizers judge the memory.
TEST_CASE("replicas: a replica that throws at any point ends every run with its exception") {
    std::mt19937 random{2026};
    for (int repeat = 0; repeat != 100; ++repeat) {
        auto const count = 2 + static_cast<int>(random() % 5);
        auto const victim = static_cast<int>(random() % static_cast<unsigned>(count));
        auto const last = static_cast<int>(random() % 6);
        CHECK_THROWS_WITH_AS(tally::replicas(count, 60s).run([&](tally::thread_communicator& comm) {
            for (int step = 0;; ++step) {
                if (comm.rank() == victim && step == last) {
                    throw std::domain_error("dropped out");
                }
                std::vector<std::uint64_t> data(static_cast<std::size_t>(1 + step * 50), 1);
                std::vector<std::uint64_t> all(data.size() * static_cast<std::size_t>(count));
                comm.all_reduce_sum(data);
                comm.gather(std::as_bytes(std::span{data}), std::as_writable_bytes(std::span{all}), step % count);
            }
        }),
                             "dropped out", std::domain_error);
    }
}
