// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// A program of its own, since MPI starts once: what mpi_communicator says before MPI_Init and after MPI_Finalize, that
// one which outlives MPI does no harm, and that any thread may use it where MPI allows that.
#include <tally/comm/mpi.hpp>
#include <tally/core/errors.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

int failures = 0;

void expect(char const* what, std::string const& found, std::string const& expected) {
    if (found.find(expected) == std::string::npos) {
        std::printf("%s\n    found:    %s\n    expected: %s\n", what, found.c_str(), expected.c_str());
        ++failures;
    }
}

template <class Function>
std::string text_of(Function function) {
    try {
        function();
    } catch (tally::configuration_error const& caught) {
        return caught.what();
    } catch (std::exception const& caught) {
        return std::string{"another exception: "} + caught.what();
    }
    return "no exception";
}

void sum(tally::mpi_communicator& comm) {
    std::vector<std::uint64_t> ones{1};
    comm.all_reduce_sum(ones);
    if (ones[0] != static_cast<std::uint64_t>(comm.size())) {
        throw tally::error("a wrong sum");
    }
}

} // namespace

int main(int argc, char** argv) {
    expect("before MPI_Init", text_of([] { tally::mpi_communicator{MPI_COMM_WORLD}; }),
           "MPI is not initialised: call ");
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    std::optional<tally::mpi_communicator> comm{std::in_place, MPI_COMM_WORLD, std::chrono::seconds{60}};
    expect("between", text_of([&] { sum(*comm); }), "no exception");
    if (level >= MPI_THREAD_SERIALIZED) {
        std::string text;
        std::thread{[&] { text = text_of([&] { sum(*comm); }); }}.join();
        expect("by another thread", text, "no exception");
    }
    auto const rank = comm->rank();
    MPI_Finalize();
    expect("after MPI_Finalize", text_of([&] { sum(*comm); }), "MPI is finalised");
    expect("made after MPI_Finalize", text_of([] { tally::mpi_communicator{MPI_COMM_WORLD}; }), "MPI is finalised");
    comm->abort("nobody is there any more");
    comm.reset();
    if (rank == 0 && failures == 0) {
        std::puts("lifetime: passed");
    }
    return failures == 0 ? 0 : 1;
}
