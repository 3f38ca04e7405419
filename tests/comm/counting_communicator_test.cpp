// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The counting communicator is a communicator, and it counts right: promises about messages rest on it.
#include "support/communicator_laws.hpp"
#include "support/counting_communicator.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/comm/self.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

using tally::testing::counting_communicator;
using tally::testing::traffic;

namespace {

struct counting_runner {
    static constexpr bool sees_mismatch = true;
    [[nodiscard]] int size() const { return 3; }

    template <class Function>
    void run(Function function) {
        tally::replicas{size()}.run([&](tally::thread_communicator& inner) {
            counting_communicator comm{inner};
            function(comm);
        });
    }
};

} // namespace

TEST_CASE("counting_communicator: laws of communicators") {
    tally::testing::check_communicator_laws([] { return counting_runner{}; });
}

TEST_CASE("counting_communicator: calls and bytes by kind") {
    tally::self_communicator inner;
    counting_communicator comm{inner};
    std::array<std::byte, 5> mine{};
    std::array<std::byte, 5> all{};
    std::array<std::uint64_t, 3> words{};

    CHECK(comm.counted().total() == traffic{});
    comm.all_gather(mine, all);
    comm.gather(mine, all, 0);
    comm.gather({}, {}, 0);
    comm.grouped([&] {
        comm.all_reduce_sum(words);
        comm.all_reduce_max(words);
        comm.all_reduce_max(words);
    });
    comm.reduce_sum(words, 0);
    comm.reduce_max({}, 0);

    CHECK(comm.counted().all_gather == traffic{1, 5});
    CHECK(comm.counted().gather == traffic{2, 5});
    CHECK(comm.counted().all_reduce_sum == traffic{1, 24});
    CHECK(comm.counted().all_reduce_max == traffic{2, 48});
    CHECK(comm.counted().reduce_sum == traffic{1, 24});
    CHECK(comm.counted().reduce_max == traffic{1, 0});
    CHECK(comm.counted().groups == 1);
    CHECK(comm.counted().total() == traffic{8, 106});

    comm.forget();
    CHECK(comm.counted().total() == traffic{});
    CHECK(comm.counted().groups == 0);
}
