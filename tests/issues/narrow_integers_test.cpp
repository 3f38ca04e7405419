// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: sums formed in the type of the input, which overflow.
#include "support/value_of.hpp"

#include <tally/metric/mean.hpp>
#include <tally/metric/total.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

using tally::testing::value_of;

TEST_CASE("integers: sums are formed in 64 bits whatever the type of the values") {
    CHECK(value_of<tally::mean<std::int8_t>>(tally::values(std::vector<std::int8_t>{100, 100, 100})).value() == 100.0);
    std::vector<std::int32_t> const large(3, 2'000'000'000);
    CHECK(value_of<tally::mean<std::int32_t>>(tally::values(large)).value() == 2e9);
    CHECK(value_of<tally::total<std::int32_t>>(tally::values(large)).value() == 6'000'000'000);
    bool const flags[] = {true, true, true, false};
    CHECK(value_of<tally::mean<bool>>(tally::values(flags)).value() == 0.75);
    static_assert(std::is_same_v<tally::default_sum<std::uint8_t>, tally::sum<std::uint64_t>>);
}
