// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// A program of its own, since a process is lost in it: while all replicas combine over and over, the last one is killed
// ("loss kill") or stops for longer than the deadline ("loss stop"). Every survivor must get replica_lost, or a type
// derived from it, within the deadline; keep its state; destroy its communicator without waiting; and go on with the
// others. Only then does the first of them print "N survivors are well". A replica that had only stopped is told.
//
// A launcher that ends all processes when one dies must be told not to: "loss kill" is for those that can be. After it
// the processes end without MPI_Finalize, since what that does with a dead process depends on the MPI.
#include <tally/tally.hpp>

#include <tally/mpi.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace std::chrono_literals;
using namespace tally::literals;

namespace {

using clock_type = std::chrono::steady_clock;
using evaluation = tally::collection<tally::named<"top-1", tally::accuracy<>>,
                                     tally::named<"confusion", tally::confusion_matrix<100>>>;
constexpr auto deadline = 2s;
constexpr auto slack = 1500ms; // a roll call of half a second, and more processes than cores

void say(int rank, std::string const& outcome) {
    std::printf("replica %d: %s\n", rank, outcome.c_str());
    std::fflush(stdout);
}

/// A communicator of the first `count` processes.
MPI_Comm first_of_world(int count) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group rest = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &count, &rest);
    if (MPI_Comm_create_group(MPI_COMM_WORLD, rest, 0, &comm) != MPI_SUCCESS) {
        throw tally::error("this MPI makes no communicator out of the survivors");
    }
    return comm;
}

/// Combines until a replica is lost; throws anything but that.
void combine_until_loss(tally::host::tracker<evaluation> const& tracker, tally::mpi_communicator& comm) {
    for (;;) {
        auto const begin = clock_type::now();
        try {
            (void)tracker.combine(comm);
        } catch (tally::replica_lost const&) {
            if (clock_type::now() - begin > deadline + slack && comm.rank() != comm.size() - 1) {
                throw tally::error("noticed the loss too late");
            }
            return;
        }
    }
}

void lose_this_process(int how) {
    std::thread{[how] {
        std::this_thread::sleep_for(200ms);
        kill(getpid(), how);
    }}.detach();
}

} // namespace

int main(int argc, char** argv) {
    auto const given = [&](int place, char const* word) { return argc > place && std::strcmp(argv[place], word) == 0; };
    bool const stop = given(1, "stop");
    auto const way = given(2, "messages") ? tally::transport::messages : tally::transport::automatic;
    if (!stop && !given(1, "kill")) {
        std::fputs("usage: loss kill|stop [messages]\n", stderr);
        return EXIT_FAILURE;
    }
    MPI_Init(&argc, &argv);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int lost = getpid();
    MPI_Bcast(&lost, 1, MPI_INT, size - 1, MPI_COMM_WORLD);

    tally::host::tracker<evaluation> tracker;
    std::vector<int> const labels{1, 2, 3};
    tracker.update(tally::predictions(labels), tally::targets(labels));
    tally::self_communicator self;
    auto const before = tracker.snapshot(self);
    try {
        std::optional<tally::mpi_communicator> comm{std::in_place, MPI_COMM_WORLD, deadline, way};
        if (rank == size - 1) {
            lose_this_process(stop ? SIGSTOP : SIGKILL);
        }
        combine_until_loss(tracker, *comm);
        if (tracker.snapshot(self) != before) {
            throw tally::error("lost its state");
        }
        auto const begin = clock_type::now();
        comm.reset();
        if (clock_type::now() - begin > 500ms) {
            throw tally::error("waited in the destructor");
        }
        if (rank == size - 1) {
            say(rank, "was told");
        } else {
            tally::mpi_communicator survivors{first_of_world(size - 1), 10s, way};
            if (tracker.combine(survivors)["confusion"_metric].total() != 3 * static_cast<std::uint64_t>(size - 1)) {
                throw tally::error("the survivors' samples are not all there");
            }
            if (rank == 0) {
                say(rank, std::to_string(size - 1) + " survivors are well");
                kill(lost, SIGCONT);
            }
        }
    } catch (std::exception const& failure) {
        say(rank, failure.what());
        std::_Exit(EXIT_FAILURE);
    }
    if (!stop) {
        std::_Exit(EXIT_SUCCESS);
    }
    MPI_Finalize();
}
