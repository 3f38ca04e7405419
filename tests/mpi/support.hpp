// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of MPI share. Every process runs every case; `world_rank` tells the parts apart.
#pragma once

#include <tally/comm/mpi.hpp>
#include <tally/core/errors.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tally::testing {

inline int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

inline int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// The tests run twice: with TEST_TRANSPORT=messages and without, where data goes through shared memory.
inline transport tested_transport() {
    auto const* const wish = std::getenv("TEST_TRANSPORT");
    return wish != nullptr && std::string_view(wish) == "messages" ? transport::messages : transport::automatic;
}

/// A communicator over all processes.
inline mpi_communicator world(std::chrono::milliseconds deadline = std::chrono::seconds{60}) {
    return mpi_communicator{MPI_COMM_WORLD, deadline, tested_transport()};
}

/// All processes, by the means of MPI alone; sleeps instead of spinning, since there may be more processes than cores.
inline void meet() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
}

/// A runner for check_communicator_laws.
struct mpi_runner {
    static constexpr bool sees_mismatch = true;

    [[nodiscard]] int size() const { return world_size(); }

    template <class Function>
    void run(Function function) {
        auto comm = world();
        function(comm);
    }
};

/// The text of the `Exception` that `function` throws; anything else is a text that fails the test.
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

/// Whether all replicas of `comm` can still talk: a sum over all of them.
template <class Communicator>
bool works(Communicator& comm) {
    std::vector<std::uint64_t> ones{1};
    comm.all_reduce_sum(ones);
    return ones[0] == static_cast<std::uint64_t>(comm.size());
}

/// How long a call took.
class stopwatch {
public:
    [[nodiscard]] std::chrono::milliseconds elapsed() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin_);
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace tally::testing
