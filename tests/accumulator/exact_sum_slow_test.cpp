// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Ten million hard cases of rounding: ties and what lies one unit of the last digit beside them, in every binade.
#include "support/big_integer.hpp"

#include <tally/accumulator/exact_sum.hpp>
#include <tally/core/decomposed.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

using namespace tally;
using namespace tally::testing;

namespace {

template <class T>
bool same_bits(T a, T b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

struct outcomes {
    std::uint64_t cases = 0;
    std::uint64_t wrong = 0;
    std::uint64_t ties = 0;
    std::uint64_t subnormal = 0;
    std::uint64_t infinite = 0;
};

/// Cases for T, as sums of an exact_sum<Source> whose unit is 2^Unit: +-(2 s + 1) 2^(q - 1) for a significand s and a
/// quantum q of T, which is halfway between two Ts, plus -1, 0 or 1 units, or something in between.
template <class T, class Source, int Unit, std::size_t Words>
outcomes try_hard_cases(std::uint64_t n, std::uint64_t seed, int highest_quantum) {
    constexpr int precision = std::numeric_limits<T>::digits;
    constexpr int lowest_quantum = std::numeric_limits<T>::min_exponent - precision;
    std::mt19937_64 random{seed};
    outcomes seen;
    for (; seen.cases < n; ++seen.cases) {
        // A tie needs a digit below the quantum; the unit of Source may be T's own.
        int const lowest = lowest_quantum > Unit ? lowest_quantum : Unit + 1;
        int const quantum =
            lowest + static_cast<int>(random() % static_cast<std::uint64_t>(highest_quantum - lowest + 1));
        auto significand = random() >> (64 - precision);
        switch (random() % 4) {
        case 0: break;
        case 1: significand = (std::uint64_t{1} << precision) - 1 - random() % 2; break; // carries into the exponent
        case 2: significand >>= random() % static_cast<unsigned>(precision); break; // subnormal, or fewer bits dropped
        default: significand = (std::uint64_t{1} << (precision - 1)) + random() % 3; break;
        }
        bool const negative = random() % 2 == 0;
        auto const halfway = 2 * significand + 1;
        exact_sum<Source> sum;
        sum.template add<precision + 1>({halfway, quantum - 1, negative, tally::detail::number_kind::finite});
        auto expected = big_integer<Words>(static_cast<std::int64_t>(halfway)) << (quantum - 1 - Unit);
        expected = negative ? -expected : expected;
        auto const beside = random() % 4;
        if (beside == 0) {
            ++seen.ties;
        } else {
            int const at =
                beside == 3 ? Unit + static_cast<int>(random() % static_cast<unsigned>(quantum - Unit)) : Unit;
            bool const down = random() % 2 == 0;
            sum.template add<1>({1, at, down, tally::detail::number_kind::finite});
            auto const step = big_integer<Words>(1) << (at - Unit);
            expected += down ? -step : step;
        }
        T const got = sum.template rounded_to<T>();
        T const right = to_nearest<T>(expected, Unit);
        seen.wrong += same_bits(got, right) ? 0 : 1;
        seen.subnormal += std::fpclassify(right) == FP_SUBNORMAL ? 1 : 0;
        seen.infinite += std::isinf(right) ? 1 : 0;
    }
    return seen;
}

} // namespace

TEST_CASE("exact_sum: correctly rounded in ten million hard cases") {
    // Floats: the largest quantum of float is 2^104; sums reach beyond it.
    auto const to_float = try_hard_cases<float, float, -149, 12>(4'000'000, 1, 106);
    auto const to_double = try_hard_cases<double, float, -149, 12>(3'000'000, 2, 75);
    auto const product_to_double = try_hard_cases<double, product<float>, -298, 20>(1'500'000, 3, 200);
    auto const product_to_float = try_hard_cases<float, product<float>, -298, 20>(1'000'000, 4, 106);
    auto const doubles = try_hard_cases<double, double, -1074, 70>(300'000, 5, 972);
    auto const doubles_to_float = try_hard_cases<float, double, -1074, 70>(200'000, 6, 106);
    for (auto const& seen : {to_float, to_double, product_to_double, product_to_float, doubles, doubles_to_float}) {
        CHECK(seen.wrong == 0);
        CHECK(seen.ties > seen.cases / 5);
    }
    CHECK(product_to_float.subnormal > 1000);
    CHECK(doubles_to_float.subnormal > 100);
    CHECK(to_float.infinite > 10'000);
    CHECK(doubles.infinite > 10);
    CHECK(to_float.cases + to_double.cases + product_to_double.cases + product_to_float.cases + doubles.cases +
              doubles_to_float.cases ==
          10'000'000);
}
