// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/core/widen.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace {

/// Two bytes that convert to float, as __half and __nv_bfloat16 do.
class device_half {
public:
    explicit device_half(std::uint16_t bits) : bits_{bits} {}
    explicit operator float() const { return tally::widen_bits(tally::half_bits{bits_}); }

private:
    std::uint16_t bits_;
};

/// An 8-bit user type: sign and a power of two.
struct tiny {
    std::uint8_t bits;
};

/// Larger than 16 bits: converts to float, but nobody knows whether that keeps its value.
struct wide_number {
    double value;
    explicit operator float() const { return static_cast<float>(value); }
};

} // namespace

template <>
struct tally::widening<tiny> {
    static constexpr float widen(tiny x) {
        return ((x.bits & 0x80U) != 0 ? -1.0F : 1.0F) * static_cast<float>(1U << (x.bits & 0x7fU));
    }
};

namespace {

template <class To, class From>
constexpr bool fits = tally::widens_to<To, From>;

using tally::half_bits;

// Floating point: as many digits and exponents.
static_assert(fits<float, float> && fits<double, float> && fits<double, double> && !fits<float, double>);
static_assert(fits<float, half_bits> && fits<float, tally::bfloat16_bits> && fits<double, half_bits>);
static_assert(fits<float, device_half> && fits<double, device_half> && fits<float, tiny>);
static_assert(!tally::element<wide_number> && !tally::element<std::string> && !tally::element<int*>);

// Integers into floating point: as many digits.
static_assert(fits<float, std::int8_t> && fits<float, std::int16_t> && fits<float, std::uint16_t>);
static_assert(!fits<float, std::int32_t> && !fits<float, std::uint32_t> && fits<double, std::uint32_t>);
static_assert(fits<double, std::int32_t> && !fits<double, std::int64_t> && !fits<double, std::uint64_t>);

// Integers into integers: every value, the sign included.
static_assert(fits<std::int64_t, std::uint32_t> && !fits<std::int64_t, std::uint64_t>);
static_assert(!fits<std::uint64_t, std::int8_t> && fits<std::uint64_t, std::uint64_t>);
static_assert(!fits<std::int32_t, std::int64_t> && fits<std::int32_t, std::int16_t>);
static_assert(fits<std::int16_t, std::uint8_t> && !fits<std::int8_t, std::uint8_t>);

// Floating point into integers never; bool into everything, nothing into bool but bool.
static_assert(!fits<std::int64_t, float> && !fits<std::int64_t, half_bits>);
static_assert(fits<float, bool> && fits<std::uint8_t, bool> && fits<bool, bool> && !fits<bool, std::uint8_t>);

// Labels: anything, checked value by value.
static_assert(fits<tally::class_index, float> && fits<tally::class_index, std::uint64_t>);
static_assert(fits<tally::class_index, bool> && fits<tally::class_index, half_bits>);
static_assert(fits<tally::class_index, tally::class_index> && !fits<tally::class_index, std::string>);

} // namespace

TEST_CASE("widen_to: values stay") {
    CHECK(tally::widen_to<double>(0.1F) == static_cast<double>(0.1F));
    CHECK(tally::widen_to<double>(std::int32_t{-7}) == -7.0);
    CHECK(tally::widen_to<float>(half_bits{0xc000}) == -2.0F);
    CHECK(tally::widen_to<double>(device_half{0x3800}) == 0.5);
    CHECK(tally::widen_to<float>(tiny{0x83}) == -8.0F);
    CHECK(tally::widen_to<float>(true) == 1.0F);
    CHECK(tally::widen_to<std::int64_t>(std::uint32_t{4'294'967'295U}) == 4'294'967'295);
    CHECK(tally::widen_to<tally::class_index>(tiny{3}).value == 8);
    CHECK(tally::widen_to<tally::class_index>(device_half{0x3800}).valid() == false); // 0.5
    CHECK(tally::widen_to<tally::class_index>(tally::class_index{-100}).value == -100);
}
