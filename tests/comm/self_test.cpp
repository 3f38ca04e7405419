// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `self_communicator`: the laws of communicators at one replica, and its errors.
#include "support/communicator_laws.hpp"

#include <tally/comm/self.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

namespace {

struct self_runner {
    static constexpr bool sees_mismatch = true;
    [[nodiscard]] int size() const { return 1; }

    template <class Function>
    void run(Function function) {
        tally::self_communicator comm;
        function(comm);
    }
};

} // namespace

TEST_CASE("self_communicator: laws of communicators") {
    tally::testing::check_communicator_laws([] { return self_runner{}; });
}

TEST_CASE("self_communicator: wrong sizes and roots are errors") {
    tally::self_communicator comm;
    std::array<std::byte, 4> mine{};
    std::array<std::byte, 8> all{};
    CHECK_THROWS_AS(comm.all_gather(mine, all), tally::shape_error);
    CHECK_THROWS_AS(comm.gather(mine, all, 0), tally::shape_error);
    CHECK_THROWS_AS(comm.gather(mine, mine, 1), tally::configuration_error);
    CHECK_THROWS_AS(comm.reduce_sum({}, -1), tally::configuration_error);
    CHECK_THROWS_AS(comm.reduce_max({}, 1), tally::configuration_error);
}
