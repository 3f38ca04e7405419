// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/monitor/detail/gradient_block.hpp>

#include <tally/accumulator/count.hpp>
#include <tally/monitor/gradient_statistics.hpp>

#include "support/gradient_reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace {

using namespace tally;
using tally::testing::from_bits;
using tally::testing::gradient_reference;

template <class T>
bool same_bytes(T const* a, T const* b, std::size_t n) {
    return std::memcmp(a, b, n * sizeof(T)) == 0;
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

/// A view against the reference, element by element.
template <class Bins, class T>
void check_observed(std::vector<T> const& x, float factor) {
    layer_sums<partitioned> sums;
    std::vector<count> cells(Bins::cells);
    detail::table_for<Bins> table;
    std::vector<std::uint64_t> expected(Bins::cells);
    gradient_reference reference;
    for (auto const each : x) {
        auto const g = widen_to<float>(each) * factor;
        ++expected[Bins::index(g)];
        reference.take(g);
    }
    for (std::uint64_t times = 1; times <= 2; ++times) { // the second time, the table has been used
        detail::observe_gradient<Bins>(gradient_view(x), factor, sums, cells.data(), table);
        bool same = true;
        for (std::size_t k = 0; k < Bins::cells; ++k) {
            same = same && cells[k].value() == times * expected[k];
        }
        CHECK(same);
        auto const n = static_cast<double>(times);
        CHECK(sums.value_sum() == n * reference.value_sum());
        CHECK(sums.magnitude_sum() == n * reference.magnitude_sum());
        CHECK(sums.square_sum() == n * reference.square_sum());
        CHECK(sums.largest_value().value_or(-1.0F) == static_cast<float>(reference.largest));
    }
}

TEST_CASE("gradient_block: any floats of any number: every cell, and the exact sums rounded once") {
    for (std::size_t const n : {1U, 3U, 33U, 1000U, 1025U, 5000U}) {
        CAPTURE(n);
        for (auto const& set : tally::testing::hard_gradients(n, static_cast<unsigned>(n))) {
            CAPTURE(set.first);
            auto const& x = set.second;
            check_observed<gradient_bins>(x, 1.0F);
            check_observed<gradient_bins>(x, 1.0F / 3.0F);
            check_observed<logarithmic_bins<0>>(x, 1.0F);
            check_observed<logarithmic_bins<3, -3, 5>>(x, 0x1p-20F);
            check_observed<logarithmic_bins<5>>(x, 1.0F); // too many cells for the table
        }
    }
}

TEST_CASE("gradient_block: longer than what the table takes at once; one cell takes all of it") {
    std::mt19937 random{13};
    std::normal_distribution<float> normal{0.0F, 0.01F};
    std::vector<float> x(200000);
    std::generate(x.begin(), x.end(), [&] { return normal(random); });
    check_observed<gradient_bins>(x, 1.0F);
    std::fill(x.begin(), x.end(), -std::nextafterf(2.0F, 0.0F));
    check_observed<gradient_bins>(x, 1.0F);
    std::fill(x.begin(), x.end(), from_bits<float>(0x801f'ffffU)); // subnormal, in the cell of -0
    check_observed<gradient_bins>(x, 1.0F);
}

TEST_CASE("gradient_block: 16-bit elements, each of them and times a factor") {
    for (std::size_t const n : {5U, 4000U}) {
        std::vector<half_bits> halves(n);
        std::vector<bfloat16_bits> short_ones(n);
        std::mt19937 random{17};
        for (std::size_t i = 0; i < n; ++i) {
            halves[i] = {static_cast<std::uint16_t>(random())};
            short_ones[i] = {static_cast<std::uint16_t>(random())};
        }
        check_observed<gradient_bins>(halves, 1.0F);
        check_observed<gradient_bins>(short_ones, 1.0F);
        check_observed<gradient_bins>(halves, 0.7F);
        check_observed<gradient_bins>(short_ones, 0.7F);
    }
}

TEST_CASE("gradient_block: squares of updates and weights are exact; NaN and infinities stay visible") {
    for (std::size_t const n : {1U, 7U, 1024U, 3000U}) {
        for (auto const& set : tally::testing::hard_gradients(n, 5)) {
            CAPTURE(n);
            CAPTURE(set.first);
            auto const& x = set.second;
            gradient_reference reference;
            reference.take(x);
            monitor_sums::squares squares;
            detail::observe_squares(gradient_view(x), squares);
            if (reference.nans != 0) {
                CHECK(std::isnan(squares.value()));
            } else if (reference.positive + reference.negative != 0) {
                CHECK(squares.value() == INFINITY);
            } else {
                CHECK(squares.value() == reference.square_sum());
            }
            CHECK(squares.infinities() == reference.positive + reference.negative);
            CHECK(squares.nans() == reference.nans);
        }
    }
}

TEST_CASE("gradient_block: no bit of a small square is lost beside large ones, however far they are apart") {
    std::mt19937 random{19};
    std::uniform_real_distribution<float> uniform{1.0F, 2.0F};
    for (int octaves = 10; octaves < 60; ++octaves) {
        CAPTURE(octaves);
        std::vector<float> x(1024);
        std::generate(x.begin(), x.end(), [&] { return uniform(random); });
        auto const small = std::ldexp(0x1.000002p0F, -octaves);
        x[700] = small;
        monitor_sums::squares squares;
        detail::observe_squares(gradient_view(x), squares);
        for (auto const each : x) {
            squares.deposit(each, each == small ? 0.0F : -each);
        }
        CHECK(squares.value() == static_cast<double>(small) * static_cast<double>(small));
    }
}

#if defined(__SSE2__)
TEST_CASE(
    "gradient_block: a thread that flushes subnormal numbers and rounds up finds the same, and goes on as before") {
    std::vector<float> x(3000, FLT_TRUE_MIN);
    x[7] = 0x1p-126F;
    std::vector<float> const weights(3000, 0x1.234p-130F);
    layer_sums<partitioned> expected;
    std::vector<count> cells(gradient_bins::cells);
    detail::table_for<gradient_bins> table;
    auto const observe = [&](layer_sums<partitioned>& sums) {
        detail::observe_gradient<gradient_bins>(gradient_view(x), 0.3F, sums, cells.data(), table);
        detail::observe_squares(gradient_view(weights), sums.weights());
    };
    observe(expected);
    unsigned const before = __builtin_ia32_stmxcsr();
    unsigned const odd = 0x1f80U | 0x8040U | 0x4000U; // flush to zero, subnormals are zero, upwards
    __builtin_ia32_ldmxcsr(odd);
    layer_sums<partitioned> sums;
    observe(sums);
    auto const after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    CHECK((after & ~0x3fU) == odd);
    CHECK(sums == expected);
    CHECK(expected.square_sum() > 0.0);
}
#endif

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
