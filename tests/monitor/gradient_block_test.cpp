// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/monitor/detail/gradient_block.hpp>

#include <tally/accumulator/count.hpp>
#include <tally/monitor/gradient_statistics.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace tally;

template <class T>
bool same_bytes(T const* a, T const* b, std::size_t n) {
    return std::memcmp(a, b, n * sizeof(T)) == 0;
}

/// Floats of every kind: all exponents, edges of bins and their neighbours, NaN of either sign, random bits.
std::vector<float> hard_floats() {
    std::vector<float> x{0.0F,           -0.0F,   INFINITY, -INFINITY,   std::nanf(""),
                         -std::nanf(""), FLT_MAX, -FLT_MAX, FLT_TRUE_MIN};
    for (int e = -149; e < 128; ++e) {
        for (float const m : {1.0F, 1.25F, 1.4999F, 1.75F, 1.9999F}) {
            auto const edge = std::ldexp(m, e);
            for (float const each : {edge, std::nextafterf(edge, 0.0F), std::nextafterf(edge, INFINITY)}) {
                x.push_back(each);
                x.push_back(-each);
            }
        }
    }
    std::mt19937 random{11};
    for (int i = 0; i < 20000; ++i) {
        x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    }
    return x;
}

template <class Bins, bool Scaled>
void check_split(std::vector<float> const& x, std::size_t length, float factor) {
    auto const block = std::make_unique<detail::gradient_block>();
    auto const expected = std::make_unique<detail::gradient_block>();
    for (std::size_t first = 0; first + length <= x.size(); first += length) {
        detail::split_block<Bins, Scaled>(x.data() + first, length, factor, *block);
        expected->largest_key = 0;
        for (std::size_t i = 0; i < length; ++i) {
            detail::split_one<Bins>(Scaled ? x[first + i] * factor : x[first + i], i, *expected);
        }
        CHECK(same_bytes(block->finite, expected->finite, length));
        CHECK(same_bytes(block->magnitudes, expected->magnitudes, length));
        CHECK(same_bytes(block->cells, expected->cells, length));
        CHECK(block->largest_key == expected->largest_key);
    }
}

TEST_CASE("gradient_block: many elements are split as one by one, whatever the length and the bins") {
    auto const x = hard_floats();
    for (std::size_t const length : {1U, 15U, 16U, 77U, 1024U}) {
        CAPTURE(length);
        check_split<gradient_bins, false>(x, length, 1.0F);
        check_split<gradient_bins, true>(x, length, 1.0F / 3.0F);
        check_split<logarithmic_bins<0>, false>(x, length, 1.0F);
        check_split<logarithmic_bins<7, -3, 5>, true>(x, length, 0x1p-20F);
    }
}

template <class Bits>
void check_widening() {
    std::vector<Bits> all;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        all.push_back({static_cast<std::uint16_t>(bits)});
    }
    std::vector<float> expected;
    for (auto const each : all) {
        expected.push_back(widen_bits(each));
    }
    std::vector<float> got(all.size());
    for (std::size_t const length : {1000U, 7U}) {
        for (std::size_t first = 0; first < all.size(); first += length) {
            auto const n = std::min<std::size_t>(length, all.size() - first);
            detail::widen_block<Bits>(reinterpret_cast<std::byte const*>(all.data() + first), n, got.data() + first);
        }
        CHECK(same_bytes(got.data(), expected.data(), got.size()));
    }
}

TEST_CASE("gradient_block: all half and bfloat16 numbers widen as widen_bits does") {
    check_widening<half_bits>();
    check_widening<bfloat16_bits>();
}

/// The sums of a view one element after the other.
template <class Bins, class T>
void check_observed(std::vector<T> const& x, float factor) {
    layer_sums<partitioned> sums;
    std::vector<count> cells(Bins::cells);
    detail::observe_gradient<Bins>(gradient_view(x), factor, sums, cells.data());
    std::vector<std::uint64_t> expected(Bins::cells);
    largest_magnitude largest;
    long double total = 0;
    long double magnitudes = 0;
    long double squares = 0;
    for (auto const each : x) {
        auto const g = widen_to<float>(each) * factor;
        ++expected[Bins::index(g)];
        largest.deposit(g);
        if (std::isfinite(g)) {
            total += static_cast<long double>(g);
            magnitudes += std::abs(static_cast<long double>(g));
            squares += static_cast<long double>(g) * static_cast<long double>(g);
        }
    }
    for (std::size_t k = 0; k < Bins::cells; ++k) {
        CHECK(cells[k].value() == expected[k]);
    }
    CHECK(sums.largest_value().as_double() == largest.value().as_double());
    // Recursive summation: at most n 2^-53 times the sum of magnitudes.
    auto const bound = static_cast<double>(x.size()) * 0x1p-53;
    CHECK(std::abs(sums.value_sum() - static_cast<double>(total)) <= bound * static_cast<double>(magnitudes));
    CHECK(std::abs(sums.magnitude_sum() - static_cast<double>(magnitudes)) <= bound * static_cast<double>(magnitudes));
    CHECK(std::abs(sums.square_sum() - static_cast<double>(squares)) <= bound * static_cast<double>(squares));
}

TEST_CASE("gradient_block: a whole gradient is observed as element by element, short and long, of any type") {
    std::mt19937 random{13};
    std::normal_distribution<float> normal{0.0F, 0.01F};
    for (std::size_t const n : {1U, 1000U, 2047U, 2048U, 30000U}) {
        CAPTURE(n);
        std::vector<float> x(n);
        std::vector<half_bits> halves(n);
        std::vector<bfloat16_bits> short_ones(n);
        for (std::size_t i = 0; i < n; ++i) {
            x[i] = i % 97 == 5 ? (i % 2 != 0 ? NAN : -INFINITY) : i % 11 == 0 ? 0.0F : normal(random);
            halves[i] = narrow_to<half_bits>(x[i]);
            short_ones[i] = narrow_to<bfloat16_bits>(x[i]);
        }
        check_observed<gradient_bins>(x, 1.0F);
        check_observed<gradient_bins>(x, 1.0F / 1024.0F);
        check_observed<logarithmic_bins<5>>(x, 1.0F); // too many cells for private counters
        check_observed<gradient_bins>(halves, 1.0F);
        check_observed<gradient_bins>(short_ones, 0.7F);
    }
}

TEST_CASE("gradient_view: the element type is found, also of foreign 16-bit types") {
    struct foreign_half {
        std::uint16_t bits;
        explicit operator float() const { return widen_bits(half_bits{bits}); }
    };
    struct foreign_bfloat16 {
        std::uint16_t bits;
        explicit operator float() const { return widen_bits(bfloat16_bits{bits}); }
    };
    CHECK(gradient_type_of<float>() == gradient_type::float32);
    CHECK(gradient_type_of<half_bits>() == gradient_type::float16);
    CHECK(gradient_type_of<foreign_half>() == gradient_type::float16);
    CHECK(gradient_type_of<bfloat16_bits>() == gradient_type::bfloat16);
    CHECK(gradient_type_of<foreign_bfloat16>() == gradient_type::bfloat16);
    static_assert(!gradient_element<double> && !gradient_element<int> && !gradient_element<std::int16_t>);
    std::vector<float> const x(3);
    CHECK(gradient_view(x).size == 3);
    CHECK(gradient_view(x.data(), 2).size == 2);
    CHECK(gradient_view{}.missing());
    CHECK_THROWS_AS(gradient_view(x.data(), -1), shape_error);
}

} // namespace
