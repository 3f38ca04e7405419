// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// class_index: what any element type becomes as a label.
#include <tally/core/class_index.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/core/widen.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace {

using tally::class_index;

template <class T>
std::int32_t label(T x) {
    return tally::widen_to<class_index>(x);
}

template <class T>
using limits = std::numeric_limits<T>;

constexpr std::int32_t invalid = class_index::invalid();

} // namespace

TEST_CASE("class_index: integers of 32 bits keep their value, also negative ones") {
    CHECK(label(7) == 7);
    CHECK(label(-100) == -100);
    CHECK(label(std::int64_t{-100}) == -100);
    CHECK(label(std::int8_t{-1}) == -1);
    CHECK(label(limits<std::int32_t>::max()) == limits<std::int32_t>::max());
    CHECK(label(std::uint8_t{255}) == 255);
    CHECK(label(true) == 1);
}

TEST_CASE("class_index: integers of more than 32 bits are invalid, never cut") {
    CHECK(label(std::int64_t{1} << 32) == invalid);
    CHECK(label(limits<std::int64_t>::min()) == invalid);
    CHECK(label(limits<std::int64_t>::max()) == invalid);
    CHECK(label(limits<std::uint32_t>::max()) == invalid);
    CHECK(label(limits<std::uint64_t>::max()) == invalid);
    CHECK(label(std::int64_t{-4294967296} + 5) == invalid); // its lower half is 5
}

TEST_CASE("class_index: floating-point labels are exact integers or invalid") {
    CHECK(label(3.0F) == 3);
    CHECK(label(-100.0) == -100);
    CHECK(label(-0.0F) == 0);
    CHECK(label(0.5F) == invalid);
    CHECK(label(-0.5F) == invalid);
    CHECK(label(2147483648.0) == invalid);
    CHECK(label(-2147483649.0) == invalid);
    CHECK(label(limits<float>::quiet_NaN()) == invalid);
    CHECK(label(limits<float>::infinity()) == invalid);
    CHECK(label(-limits<double>::infinity()) == invalid);
    CHECK(label(tally::half_bits{0x4200}) == 3);
}

TEST_CASE("class_index: only indices are valid") {
    CHECK(class_index{0}.valid());
    CHECK_FALSE(class_index{-1}.valid());
    CHECK_FALSE(class_index::invalid().valid());
    CHECK_FALSE(class_index{}.valid());
}
