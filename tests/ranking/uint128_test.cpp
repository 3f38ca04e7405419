// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Against the compiler's own 128-bit integers.
#include <tally/ranking/detail/uint128.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using tally::detail::uint128;
__extension__ using wide = unsigned __int128;
__extension__ using signed_wide = __int128;

wide as_wide(uint128 x) { return static_cast<wide>(x.high) << 64 | x.low; }

/// Numbers with long runs of zeros and ones, where carries go far.
std::vector<uint128> numbers() {
    std::vector<std::uint64_t> const words{0,
                                           1,
                                           2,
                                           0x7fff'ffff'ffff'ffffU,
                                           0x8000'0000'0000'0000U,
                                           0xffff'ffff'ffff'ffffU,
                                           0xffff'ffffU,
                                           0x1'0000'0000U,
                                           0x20'0000'0000'0001U,
                                           0x9e37'79b9'7f4a'7c15U};
    std::vector<uint128> all;
    for (auto const low : words) {
        for (auto const high : words) {
            all.push_back({low, high});
        }
    }
    return all;
}

TEST_CASE("uint128: sums, differences and products") {
    for (auto const a : numbers()) {
        for (auto const b : numbers()) {
            CHECK(as_wide(a + b) == as_wide(a) + as_wide(b));
            CHECK(as_wide(a - b) == as_wide(a) - as_wide(b));
            CHECK((a == b) == (as_wide(a) == as_wide(b)));
        }
        CHECK(as_wide(uint128::product(a.low, a.high)) == static_cast<wide>(a.low) * a.high);
        auto const x = static_cast<std::int64_t>(a.low);
        auto const y = static_cast<std::int64_t>(a.high);
        CHECK(as_wide(uint128::signed_product(x, y)) == static_cast<wide>(static_cast<signed_wide>(x) * y));
        CHECK(a.is_zero() == (as_wide(a) == 0));
    }
}

TEST_CASE("uint128: shifts both ways") {
    for (auto const a : numbers()) {
        for (int by = 0; by < 128; ++by) {
            CHECK(as_wide(a.shifted(by)) == as_wide(a) << by);
            CHECK(as_wide(a.shifted(-by)) == as_wide(a) >> by);
        }
        for (int const far : {128, 129, 1000, -128, -129, -1000}) {
            CHECK(a.shifted(far).is_zero());
        }
    }
}

TEST_CASE("uint128: conversions to double round once, from double cut off") {
    for (auto const a : numbers()) {
        for (int by = 0; by < 128; by += 7) {
            auto const x = a.shifted(-by);
            CHECK(x.to_double() == static_cast<double>(as_wide(x)));
            CHECK(x.to_double(-96) == std::ldexp(static_cast<double>(as_wide(x)), -96));
            CHECK(x.signed_to_double() == static_cast<double>(static_cast<signed_wide>(as_wide(x))));
            if (x.to_double() < 0x1p127) {
                CHECK(as_wide(uint128::from(x.to_double())) == static_cast<wide>(x.to_double()));
            }
            auto const fraction = std::ldexp(static_cast<double>(as_wide(x)), -60);
            if (fraction < 0x1p60) {
                CHECK(as_wide(uint128::from(fraction)) == static_cast<wide>(fraction));
            }
        }
    }
}

} // namespace
