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
// The first is through shared memory where that can be, then all again by messages.
// A row is the median over many calls, each begun together, of the slowest replica; microseconds.
#include <tally/tally.hpp>
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

/// Thirty scalars with their counts, three tables of one number for each of 1,000 classes, and a confusion matrix.
template <std::size_t Classes>
using evaluation = collection<
    named<"s00", mean<>>, named<"s01", mean<>>, named<"s02", mean<>>, named<"s03", mean<>>, named<"s04", mean<>>,
    named<"top-1", accuracy<>>, named<"top-2", accuracy<top_k<2>>>, named<"top-3", accuracy<top_k<3>>>,
    named<"top-4", accuracy<top_k<4>>>, named<"top-5", accuracy<top_k<5>>>, named<"top-6", accuracy<top_k<6>>>,
    named<"top-7", accuracy<top_k<7>>>, named<"top-8", accuracy<top_k<8>>>, named<"top-9", accuracy<top_k<9>>>,
    named<"loss", log_loss<>>, named<"F1", f1<classes<10 * Classes>>>, named<"confusion", confusion_matrix<Classes>>>;

using microseconds = std::chrono::duration<double, std::micro>;

/// Median time of `call` over the slowest replicas, on every replica.
template <class Communicator, class Call>
double median(Communicator& comm, Call call) {
    constexpr std::size_t warm_up = 30;
    std::size_t calls = 300;
    std::vector<std::uint64_t> nanoseconds;
    for (std::size_t i = 0; i < warm_up + calls; ++i) {
        comm.all_gather({}, {}); // together
        auto const begin = std::chrono::steady_clock::now();
        call();
        auto const taken = std::chrono::steady_clock::now() - begin;
        if (i >= warm_up) {
            nanoseconds.push_back(
                static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count()));
        }
    }
    comm.all_reduce_max(nanoseconds);
    std::nth_element(nanoseconds.begin(), nanoseconds.begin() + static_cast<std::ptrdiff_t>(calls / 2),
                     nanoseconds.end());
    return static_cast<double>(nanoseconds[calls / 2]) / 1000;
}

template <class Communicator>
void row(Communicator& comm, char const* plan, std::size_t bytes, double time, double bare) {
    if (comm.rank() == 0) {
        std::printf("%-10s %9zu bytes %3d replicas %10.1f us %6.2f x bare\n", plan, bytes, comm.size(), time,
                    time / bare);
        std::fflush(stdout);
    }
}

/// `bare` reduces words over all replicas in place.
template <std::size_t Classes, class Communicator, class Bare>
void rows(Communicator& comm, Bare bare) {
    host::tracker<evaluation<Classes>> tracker;
    auto const states = tracker.merged();
    auto const lanes = tally::detail::lanes_of_states(states);
    std::vector<std::uint64_t> words(lanes.sums + lanes.maxes + lanes.bytes / sizeof(std::uint64_t));
    std::vector<std::size_t> pieces;
    states.visit([&](auto const& field) {
        auto const piece = tally::detail::lanes_of_field(field);
        pieces.push_back(piece.sums + piece.maxes + piece.bytes / sizeof(std::uint64_t));
    });
    auto const bytes = words.size() * sizeof(std::uint64_t);

    auto const floor = median(comm, [&] { bare(std::span(words)); });
    row(comm, "bare", bytes, floor, floor);
    row(comm, "combine", bytes, median(comm, [&] { (void)tracker.combine(comm); }), floor);
    std::vector<std::uint64_t> all(words.size() * static_cast<std::size_t>(comm.size()));
    auto const gather = median(comm, [&] {
        comm.all_gather(std::as_bytes(std::span(words)), std::as_writable_bytes(std::span(all)));
        std::fill(words.begin(), words.end(), 0);
        for (auto part = all.begin(); part != all.end(); part += static_cast<std::ptrdiff_t>(words.size())) {
            std::transform(words.begin(), words.end(), part, words.begin(), [](auto x, auto y) { return x + y; });
        }
    });
    row(comm, "gather", bytes, gather, floor);
    auto const per_state = median(comm, [&] {
        std::span rest{words};
        for (auto const piece : pieces) {
            bare(rest.first(piece));
            rest = rest.subspan(piece);
        }
    });
    row(comm, ("per state, " + std::to_string(pieces.size())).c_str(), bytes, per_state, floor);
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
