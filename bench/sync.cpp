// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What does combining a collection cost, next to one bare reduction of the same bytes and to other ways to do it?
//
//   bare          one reduction of the same bytes with what the transport offers: MPI_Allreduce in place, or the
//                 communicator's all_reduce_sum over threads
//   combine       tracker.combine(comm): the whole collection in one group of collectives
//   gather        the packed state of all replicas by one all_gather, added up on each of them
//   per state     one reduction for each piece of state, as is common elsewhere; the bytes are the same
//
// Over threads:  sync [replicas]
// Over MPI:      compile with -DBENCH_MPI and the compiler wrapper of an MPI, and start it with mpirun -n R
//
// Over MPI the first is through shared memory where that can be, then all again by messages. The plans take turns, call
// by call. Microseconds.
#include "sync.hpp"
#if defined(BENCH_MPI)
#include <tally/mpi.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace tally;

/// `bare` reduces words over all replicas in place.
template <std::size_t Classes, class Communicator, class Bare>
void rows(Communicator& comm, Bare bare) {
    host::tracker<bench::evaluation<Classes>> tracker;
    auto const size = bench::message_size::of(tracker.merged());
    std::vector<std::uint64_t> words(size.words);
    std::vector<std::uint64_t> all(words.size() * static_cast<std::size_t>(comm.size()));
    auto const gather = [&] {
        comm.all_gather(std::as_bytes(std::span(words)), std::as_writable_bytes(std::span(all)));
        std::fill(words.begin(), words.end(), 0);
        for (auto part = all.begin(); part != all.end(); part += static_cast<std::ptrdiff_t>(words.size())) {
            std::transform(words.begin(), words.end(), part, words.begin(), [](auto x, auto y) { return x + y; });
        }
    };
    auto const per_state = [&] {
        std::span rest{words};
        for (auto const piece : size.pieces) {
            bare(rest.first(piece));
            rest = rest.subspan(piece);
        }
    };
    bench::compare(comm, words.size() * sizeof(std::uint64_t),
                   {{"bare", [&] { bare(std::span(words)); }},
                    {"combine", [&] { (void)tracker.combine(comm); }},
                    {"gather", gather},
                    {"per state, " + std::to_string(size.pieces.size()), per_state}});
}

template <class Communicator, class Bare>
void all_rows(Communicator& comm, Bare bare) {
    rows<10>(comm, bare);
    rows<30>(comm, bare);
    rows<100>(comm, bare);
    rows<300>(comm, bare);
}

} // namespace

#if defined(BENCH_MPI)
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (auto const way : {transport::automatic, transport::messages}) {
        mpi_communicator comm{MPI_COMM_WORLD, std::chrono::minutes{5}, way};
        if (comm.rank() == 0) {
            std::printf("%s\n", comm.shares_memory() ? "through shared memory" : "by messages");
        }
        all_rows(comm, [](std::span<std::uint64_t> words) {
            MPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_UINT64_T, MPI_SUM,
                          MPI_COMM_WORLD);
        });
    }
    MPI_Finalize();
}
#else
int main(int argc, char** argv) {
    auto const count = argc > 1 ? std::atoi(argv[1]) : 4;
    replicas{count}.run([](thread_communicator& comm) {
        all_rows(comm, [&](std::span<std::uint64_t> words) { comm.all_reduce_sum(words); });
    });
}
#endif
