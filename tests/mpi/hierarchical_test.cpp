// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `hierarchical_communicator` with threads in each process and MPI between processes: the laws of communicators, also
// where processes have different numbers of threads, and what happens when a replica on either level is lost.
#include "mpi/support.hpp"
#include "support/communicator_laws.hpp"

#include <tally/comm/hierarchical.hpp>
#include <tally/comm/mpi.hpp>
#include <tally/comm/thread.hpp>
#include <tally/tally.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace tally::testing;

namespace {

using comm_type = tally::hierarchical_communicator<tally::thread_communicator, tally::mpi_communicator>;

/// `threads(rank of the process)` replicas in each process. The leader is the main thread, as MPI_THREAD_FUNNELED asks.
struct hierarchical_runner {
    static constexpr bool sees_mismatch = true;
    std::function<int(int)> threads;

    [[nodiscard]] int size() const {
        int all = 0;
        for (int process = 0; process != world_size(); ++process) {
            all += threads(process);
        }
        return all;
    }

    template <class Function>
    void run(Function function) {
        auto const count = threads(world_rank());
        tally::thread_group const group{count, 60s};
        auto processes = world();
        std::vector<std::thread> others;
        std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
        auto const replica = [&](int rank, tally::mpi_communicator* outer) {
            try {
                auto inner = group.communicator(rank);
                comm_type comm{inner, outer};
                function(comm);
            } catch (...) {
                failures[static_cast<std::size_t>(rank)] = std::current_exception();
            }
        };
        for (int rank = 1; rank != count; ++rank) {
            others.emplace_back(replica, rank, nullptr);
        }
        replica(0, &processes);
        for (auto& each : others) {
            each.join();
        }
        for (auto const& each : failures) {
            if (each) {
                std::rethrow_exception(each);
            }
        }
    }
};

auto two_each() {
    return hierarchical_runner{[](int) { return 2; }};
}
auto uneven() {
    return hierarchical_runner{[](int process) { return 1 + process % 3; }};
}

using evaluation = tally::collection<tally::named<"top-1", tally::accuracy<>>, tally::named<"mean", tally::mean<>>,
                                     tally::named<"confusion", tally::confusion_matrix<4>>>;

} // namespace

TEST_CASE("hierarchical_communicator: laws of communicators with two threads in each process") {
    check_communicator_laws(two_each);
}

TEST_CASE("hierarchical_communicator: laws of communicators with different numbers of threads") {
    check_communicator_laws(uneven);
}

TEST_CASE("hierarchical_communicator: ranks count through the processes") {
    uneven().run([](comm_type& comm) {
        int first = 0;
        for (int process = 0; process != world_rank(); ++process) {
            first += 1 + process % 3;
        }
        CHECK(comm.rank() >= first);
        CHECK(comm.rank() < first + 1 + world_rank() % 3);
    });
}

TEST_CASE("hierarchical_communicator: different calls are named on all replicas, then the group works") {
    two_each().run([](comm_type& comm) {
        auto const last = comm.size() - 1;
        std::vector<std::uint64_t> data(comm.rank() == last ? 5 : 4);
        CHECK(text_of<tally::layout_mismatch>([&] { comm.all_reduce_sum(data); }) ==
              "replica 0 called all_reduce_sum of 32 bytes, replica " + std::to_string(last) +
                  " called all_reduce_sum of 40 bytes");
        CHECK(works(comm));
        CHECK(text_of<tally::configuration_error>([&] { comm.reduce_max(data, comm.size()); }).find("layout") ==
              std::string::npos); // the sizes differ still, which comes first
        data.resize(4);
        CHECK(text_of<tally::configuration_error>([&] {
                  comm.reduce_max(data, comm.size());
              }).find("the root of reduce_max of 32 bytes") == 0);
        std::vector<std::byte> const mine(3);
        std::vector<std::byte> all(comm.rank() == 1 ? 1 : 3 * static_cast<std::size_t>(comm.size()));
        CHECK(text_of<tally::shape_error>([&] {
                  comm.all_gather(mine, all);
              }).find("replica 1 called all_gather of 3 bytes with a receiving buffer") == 0);
        CHECK(works(comm));
    });
}

TEST_CASE("hierarchical_communicator: combine gives every replica the samples of all") {
    two_each().run([](comm_type& comm) {
        tally::host::tracker<evaluation> tracker;
        std::vector<int> const labels(static_cast<std::size_t>(comm.rank()), comm.rank() % 4);
        std::vector<float> const values(labels.size(), 0.5F);
        tracker.update(tally::predictions(labels), tally::targets(labels), tally::values(values));
        using namespace tally::literals;
        auto const all = tracker.combine(comm);
        CHECK(all["confusion"_metric].total() == static_cast<std::uint64_t>(comm.size() * (comm.size() - 1) / 2));
        auto const root = comm.size() - 1; // not a leader
        CHECK(tracker.combine_to(comm, root).has_value() == (comm.rank() == root));
    });
}

TEST_CASE("hierarchical_communicator: a thread that throws ends all processes, long before the deadline") {
    if (world_size() == 1) {
        return;
    }
    stopwatch watch;
    auto const text = text_of<std::runtime_error>([] {
        two_each().run([](comm_type& comm) {
            if (comm.rank() == comm.size() - 1) {
                throw std::runtime_error("no more");
            }
            CHECK_THROWS_AS((void)works(comm), tally::replica_lost);
            throw std::runtime_error("told");
        });
    });
    CHECK(text == "told"); // of the leader
    CHECK(watch.elapsed() < 2s);
    meet();
}

TEST_CASE("hierarchical_communicator: a process that doesn't come ends all threads of the others at the deadline") {
    if (world_size() == 1) {
        return;
    }
    two_each().run([](comm_type& comm) {
        CHECK(works(comm));
        comm.set_deadline(300ms);
        if (world_rank() != world_size() - 1) {
            stopwatch watch;
            auto const text = text_of<tally::replica_lost>([&] { (void)works(comm); });
            CHECK(text.find("missing: replica " + std::to_string(world_size() - 1)) != std::string::npos);
            CHECK(watch.elapsed() < 2s);
        }
        if (comm.rank() == 2 * world_rank()) {
            meet(); // the last process keeps its communicators until the others have given up
        }
    });
}

TEST_CASE("hierarchical_communicator: the communicator between groups belongs to the leader") {
    tally::thread_group const group{1};
    auto inner = group.communicator(0);
    CHECK_THROWS_AS((comm_type{inner, nullptr}), tally::configuration_error);
}
