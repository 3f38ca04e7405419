// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// main() of the tests that run under mpirun: every process runs the same cases in the same order. What a process has to
// say is collected and printed by rank 0, its own part in full and that of others where they failed, under their rank.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <tally/comm/mpi.hpp> // brings mpi.h without the C++ bindings of old

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

bool all_cases_ran = false;

// Without this a test case that calls std::exit(0) would pass, and so would all those after it.
void refuse_early_exit() {
    if (!all_cases_ran) {
        std::fputs("a test case ended the process\n", stderr);
        std::_Exit(EXIT_FAILURE);
    }
}

/// The texts of all processes, on rank 0.
std::vector<std::string> gather_texts(std::string const& mine) {
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<std::string> all;
    if (rank != 0) {
        MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        return all;
    }
    all.push_back(mine);
    for (int other = 1; other != size; ++other) {
        MPI_Status status;
        int length = 0;
        MPI_Probe(other, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &length);
        all.emplace_back(static_cast<std::size_t>(length), '\0');
        MPI_Recv(all.back().data(), length, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return all;
}

} // namespace

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    if (std::atexit(refuse_early_exit) != 0 || level < MPI_THREAD_FUNNELED) {
        std::fputs("could not set up the test\n", stderr);
        return EXIT_FAILURE;
    }
    std::ostringstream said;
    doctest::Context context(argc, argv);
    context.setCout(&said);
    int failed = context.run();
    auto const texts = gather_texts(failed != 0 ? said.str() : std::string{});
    if (!texts.empty()) {
        for (std::size_t rank = 1; rank != texts.size(); ++rank) {
            if (!texts[rank].empty()) {
                std::cout << "==== rank " << rank << " ====\n" << texts[rank];
            }
        }
        std::cout << "==== rank 0 of " << texts.size() << " ====\n" << said.str() << std::flush;
    }
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    all_cases_ran = true;
    MPI_Finalize();
    return failed;
}
