// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `mpi_communicator`: the laws of communicators, messages in pieces, calls that differ, groups of calls, sub-groups, and
// what it refuses.
#include "mpi/support.hpp"
#include "support/communicator_laws.hpp"

#include <tally/comm/mpi.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tally::testing;

namespace {

using comm_type = tally::mpi_communicator;
using words = std::vector<std::uint64_t>;
using bytes = std::vector<std::byte>;

/// Messages of at most `piece` bytes, so that small data takes many.
struct pieces_runner : mpi_runner {
    std::size_t piece;

    explicit pieces_runner(std::size_t piece_bytes) : piece(piece_bytes) {}

    template <class Function>
    void run(Function function) {
        mpi_runner::run([&](comm_type& comm) {
            comm.set_largest_message(piece);
            function(comm);
        });
    }
};

} // namespace

static_assert(!std::is_copy_constructible_v<comm_type>);
static_assert(!std::is_copy_assignable_v<comm_type>);
static_assert(std::is_nothrow_move_constructible_v<comm_type>);
static_assert(std::is_nothrow_move_assignable_v<comm_type>);

TEST_CASE("mpi_communicator: laws of communicators") {
    check_communicator_laws([] { return mpi_runner{}; });
}

TEST_CASE("mpi_communicator: the same laws where data is sent in pieces") {
    for (auto const piece : std::vector<std::size_t>{64, 72, 1000}) {
        CAPTURE(piece);
        check_communicator_laws([&] { return pieces_runner{piece}; });
    }
}

TEST_CASE("mpi_communicator: different calls throw the same layout_mismatch on all replicas, then the group works") {
    using call = std::function<void(comm_type&)>;
    auto const to_all = [](auto reduction, std::size_t size) -> call {
        return [=](comm_type& replica) {
            words data(size);
            (replica.*reduction)(data);
        };
    };
    auto const to_root = [](auto reduction, std::size_t size, int root) -> call {
        return [=](comm_type& replica) {
            words data(size);
            (replica.*reduction)(data, root);
        };
    };
    auto const gather = [](std::size_t size) -> call {
        return [=](comm_type& replica) {
            bytes const mine(size);
            bytes all(size * static_cast<std::size_t>(replica.size()));
            replica.all_gather(mine, all);
        };
    };
    auto const several = [](int count) -> call {
        return [=](comm_type& replica) {
            words data(3);
            replica.grouped([&] {
                for (int i = 0; i != count; ++i) {
                    replica.all_reduce_sum(data);
                }
            });
        };
    };
    struct {
        call of_others;
        call of_last;
        std::string first;
        std::string last;
    } const cases[] = {
        {to_all(&comm_type::all_reduce_sum, 12), gather(16), "all_reduce_sum of 96 bytes", "all_gather of 16 bytes"},
        {to_all(&comm_type::all_reduce_sum, 12), to_all(&comm_type::all_reduce_max, 12), "all_reduce_sum of 96 bytes",
         "all_reduce_max of 96 bytes"},
        {to_root(&comm_type::reduce_max, 2, 0), to_root(&comm_type::reduce_max, 2, 1),
         "reduce_max of 16 bytes to root 0", "reduce_max of 16 bytes to root 1"},
        {to_root(&comm_type::reduce_sum, 2, 1), to_root(&comm_type::reduce_sum, 2, -1),
         "reduce_sum of 16 bytes to root 1", "reduce_sum of 16 bytes to root -1"},
        {gather(0), to_all(&comm_type::all_reduce_sum, 1), "all_gather of 0 bytes", "all_reduce_sum of 8 bytes"},
        {several(2), several(1), "all_reduce_sum of 24 bytes", "nothing more in this group"},
        {several(1), to_all(&comm_type::all_reduce_sum, 1 << 20), "all_reduce_sum of 24 bytes",
         "all_reduce_sum of 8388608 bytes"},
    };
    auto comm = world();
    auto const last = comm.size() - 1;
    if (last == 0) {
        return; // nobody to differ from
    }
    for (auto const& each : cases) {
        auto const text =
            text_of<tally::layout_mismatch>([&] { (comm.rank() == last ? each.of_last : each.of_others)(comm); });
        CHECK(text == "replica 0 called " + each.first + ", replica " + std::to_string(last) + " called " + each.last);
        CHECK(works(comm));
    }
    // Beyond what the comparison has room for.
    CHECK(text_of<tally::layout_mismatch>([&] { several(comm.rank() == last ? 9 : 10)(comm); }) ==
          "replica 0 made 10 calls in a group, replica " + std::to_string(last) + " made 9");
    comm.set_largest_message(comm.rank() == last ? 64 : 128);
    CHECK(text_of<tally::layout_mismatch>([&] { (void)works(comm); }) ==
          "replica 0 has set a largest message of 128 bytes, replica " + std::to_string(last) +
              " one of 64 bytes: all must set the same");
    comm.set_largest_message(64);
    CHECK(works(comm));
}

TEST_CASE("mpi_communicator: a wrong buffer or root on one replica is an error on all, then the group works") {
    auto comm = world();
    auto const last = comm.size() - 1;
    bytes const mine(5);
    bytes all(mine.size() * static_cast<std::size_t>(comm.size()) + (comm.rank() == last ? 1 : 0));
    CHECK(text_of<tally::shape_error>([&] { comm.all_gather(mine, all); }) ==
          "replica " + std::to_string(last) + " called all_gather of 5 bytes with a receiving buffer that isn't " +
              std::to_string(comm.size()) + " times as long as what each replica sends");
    CHECK(works(comm));
    words data(1);
    for (int const root : {-1, comm.size()}) {
        CHECK(text_of<tally::configuration_error>([&] { comm.reduce_sum(data, root); }) ==
              "the root of reduce_sum of 8 bytes to root " + std::to_string(root) + " is outside a group of " +
                  std::to_string(comm.size()) + " replicas");
        CHECK(works(comm));
    }
}

TEST_CASE("mpi_communicator: nested groups are one group; a group whose function throws is not made") {
    auto comm = world();
    words first{1};
    words second{2};
    auto const size = static_cast<std::uint64_t>(comm.size());
    comm.grouped([&] {
        comm.all_reduce_sum(first);
        comm.grouped([&] { comm.all_reduce_sum(second); });
        CHECK(second[0] == 2); // results come at the end of the outermost group
    });
    CHECK(first[0] == size);
    CHECK(second[0] == 2 * size);

    first = {1};
    CHECK_THROWS_AS(comm.grouped([&] {
        comm.all_reduce_sum(first);
        throw std::runtime_error("before the end");
    }),
                    std::runtime_error);
    CHECK(first[0] == 1);
    CHECK_THROWS_AS(comm.grouped([&] { (void)comm.split(0); }), tally::configuration_error);
    CHECK(works(comm));
}

TEST_CASE("mpi_communicator: split makes groups by color, ranked by key and then by rank") {
    auto comm = world();
    comm.set_largest_message(4096);
    auto const rank = comm.rank();
    auto const size = comm.size();
    comm.agreements().insert(17);
    {
        auto part = comm.split(rank % 2 == 0 ? -3 : 1000, -rank);
        CHECK(part.size() == (rank % 2 == 0 ? (size + 1) / 2 : size / 2));
        CHECK(part.rank() == part.size() - 1 - rank / 2); // keys fall with the rank
        CHECK(part.deadline() == comm.deadline());
        CHECK(part.largest_message() == 4096);
        CHECK_FALSE(part.agreements().contains(17));
        CHECK(works(part));

        auto one = part.split(part.rank());
        CHECK(one.size() == 1);
        CHECK(works(one));
    }
    auto same = comm.split(0);
    CHECK(same.rank() == rank);
    CHECK(same.size() == size);
    CHECK(works(same));
    CHECK(works(comm));
}

TEST_CASE("mpi_communicator: the user's messages and error handler are left alone") {
    int answer = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&answer, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    {
        auto comm = world();
        CHECK(works(comm));
        meet(); // a replica that is still inside the sum when another one gives up may lose it
        auto const text = text_of<tally::replica_lost>([&] {
            if (comm.rank() == 0) {
                comm.abort("enough");
            }
            (void)works(comm);
        });
        CHECK(text == "replica 0 aborted: enough");
    }
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK(done == 0);
    MPI_Errhandler after = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
    CHECK(before == after);
    MPI_Errhandler_free(&before);
    MPI_Errhandler_free(&after);
    auto const next = (world_rank() + 1) % world_size();
    int const mine = 7;
    meet();
    MPI_Send(&mine, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(answer == 7);
}

TEST_CASE("mpi_communicator: refuses what can't work, and what was moved from belongs to no group") {
    CHECK(text_of<tally::configuration_error>([] { comm_type{MPI_COMM_NULL}; }) ==
          "an mpi_communicator needs a communicator inside one group, not MPI_COMM_NULL");
    CHECK_THROWS_AS((comm_type{MPI_COMM_WORLD, -1ms}), tally::configuration_error);

    auto comm = world();
    CHECK_THROWS_AS(comm.set_largest_message(63), tally::configuration_error);
    CHECK_THROWS_AS(comm.set_largest_message((std::size_t{1} << 30) + 1), tally::configuration_error);
    CHECK(comm.largest_message() == std::size_t{64} << 20);

    auto moved = std::move(comm);
    CHECK(works(moved));
    CHECK_THROWS_AS((void)comm.rank(), tally::configuration_error); // NOLINT(bugprone-use-after-move)
    CHECK_THROWS_AS((void)works(comm), tally::configuration_error);
    comm.abort("nobody hears it");
    comm = std::move(moved);
    CHECK(works(comm));

    // MPI_THREAD_FUNNELED, which the tests ask for, means: only the main thread. An MPI may offer more.
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    std::string text;
    std::thread{[&] { text = text_of<tally::configuration_error>([&] { (void)works(comm); }); }}.join();
    if (level == MPI_THREAD_FUNNELED) {
        CHECK(text.find("only the thread that did so may call it") != std::string::npos);
    } else {
        CHECK(text == "no exception");
    }
    CHECK(works(comm));
}

TEST_CASE("mpi_communicator: an intercommunicator is refused") {
    if (world_size() < 2) {
        return;
    }
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm between = MPI_COMM_NULL;
    auto const lower = world_rank() == 0;
    MPI_Comm_split(MPI_COMM_WORLD, lower ? 0 : 1, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, lower ? 1 : 0, 5, &between);
    CHECK(text_of<tally::configuration_error>([&] { comm_type{between}; }) ==
          "an mpi_communicator needs a communicator inside one group, not an intercommunicator");
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

TEST_CASE("mpi_communicator: a destructor does not wait for other replicas") {
    std::optional<tally::mpi_communicator> comm{world(60s)};
    CHECK(works(*comm));
    stopwatch watch;
    if (world_rank() == 0) {
        comm.reset();
        CHECK(watch.elapsed() < 1s);
        std::this_thread::sleep_for(300ms);
    }
    meet(); // the others still have theirs when rank 0's is gone
}

TEST_CASE("mpi_communicator: shares memory on one machine, unless one replica wants messages") {
    CHECK(tally::mpi_communicator{MPI_COMM_WORLD, 60s}.shares_memory() == (world_size() > 1));
    CHECK_FALSE(tally::mpi_communicator{MPI_COMM_WORLD, 60s, tally::transport::messages}.shares_memory());
    for (int const odd_one : {0, world_size() - 1}) {
        auto const way = world_rank() == odd_one ? tally::transport::messages : tally::transport::automatic;
        comm_type comm{MPI_COMM_WORLD, 60s, way};
        CHECK_FALSE(comm.shares_memory());
        CHECK(works(comm));
    }
    auto comm = world();
    auto part = comm.split(0);
    CHECK(part.shares_memory() == comm.shares_memory());
}

TEST_CASE("mpi_communicator: a replica that waits lets MPI take the user's messages") {
    if (world_size() == 1) {
        return;
    }
    auto comm = world();
    std::vector<int> large(1 << 22); // too large to be sent before the receiver takes it
    MPI_Request request = MPI_REQUEST_NULL;
    if (comm.rank() == 1) {
        MPI_Irecv(large.data(), 1 << 22, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    }
    if (comm.rank() == 0) {
        MPI_Send(large.data(), 1 << 22, MPI_INT, 1, 0, MPI_COMM_WORLD); // returns only if replica 1 lets it
    }
    CHECK(works(comm));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

TEST_CASE("mpi_communicator: data larger than a message and than the shared memory") {
    auto comm = world();
    auto const size = static_cast<std::uint64_t>(comm.size());
    words data((5u << 20) / 8 + 3);
    for (std::size_t i = 0; i != data.size(); ++i) {
        data[i] = i * (static_cast<std::uint64_t>(comm.rank()) + 1);
    }
    bytes const mine((3u << 20) + 5, static_cast<std::byte>(comm.rank() + 1));
    bytes all(mine.size() * size);
    comm.grouped([&] {
        comm.all_reduce_sum(data);
        comm.all_gather(mine, all);
    });
    std::size_t wrong = 0;
    for (std::size_t i = 0; i != data.size(); ++i) {
        wrong += data[i] != i * (size * (size + 1) / 2) ? 1 : 0;
    }
    for (std::size_t i = 0; i != all.size(); ++i) {
        wrong += all[i] != static_cast<std::byte>(i / mine.size() + 1) ? 1 : 0;
    }
    CHECK(wrong == 0);
}
