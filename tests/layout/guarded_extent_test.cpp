// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// guarded_extent: a contribution is deposited exactly if both indices are in range.
#include <tally/accumulator/count.hpp>
#include <tally/layout/guarded_extent.hpp>
#include <tally/layout/table.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <tuple>

TEST_CASE("guarded_extent: both indices must be in range, the first selects the cell") {
    using shape = tally::guarded_extent<tally::num_classes>;
    tally::count cells[3]{};
    tally::table<tally::count, shape> table;
    table.bind(shape::from(std::tuple{tally::num_classes{3}}), cells);
    CHECK(table.cells() == 3);
    std::int64_t const candidates[] = {std::numeric_limits<std::int64_t>::min(), -1, 0, 1, 2, 3,
                                       std::numeric_limits<std::int64_t>::max()};
    std::uint64_t outside = 0;
    for (auto const i : candidates) {
        for (auto const j : candidates) {
            table.deposit(tally::at(i, j));
            bool const inside = i >= 0 && i < 3 && j >= 0 && j < 3;
            outside += inside ? 0 : 1;
        }
    }
    CHECK(cells[0].value() == 3);
    CHECK(cells[1].value() == 3);
    CHECK(cells[2].value() == 3);
    CHECK(table.outside() == outside);
    CHECK(table(2, 0).value() == 3);
}

TEST_CASE("guarded_extent: an extent of zero is refused") {
    using shape = tally::guarded_extent<tally::num_classes>;
    CHECK_THROWS_AS((void)shape::from(std::tuple{tally::num_classes{0}}), tally::configuration_error);
}
