// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include "support/big_integer.hpp"
#include "support/dataset.hpp"

#include <tally/accumulator/across.hpp>
#include <tally/accumulator/exact_sum.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/parts.hpp>
#include <tally/core/wire.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

using namespace tally;
using namespace tally::testing;

static_assert(accumulator<exact_sum<float>> && accumulator<exact_sum<double>> && accumulator<exact_sum<half_bits>>);
static_assert(accumulator<exact_sum<product<float>>>);
static_assert(sizeof(exact_sum<half_bits>) == 40 && sizeof(exact_sum<float>) == 96);
static_assert(sizeof(exact_sum<product<float>>) == 168 && sizeof(exact_sum<double>) == 552);
static_assert(lanes_of<exact_sum<float>>() == lane_sizes{12, 0, 0});
static_assert(tally::detail::count_parts<exact_sum<float>>() == 12);
static_assert(sizeof(exact_sum<bfloat16_bits>) == 96 && sizeof(exact_sum<product<half_bits>>) == 48);
static_assert(std::same_as<exact_sum<float>::weighted_type, exact_sum<product<float>>>);
static_assert(std::same_as<exact_sum<product<float>>::weighted_type, exact_sum<product<float>>>);

// What could be rounded is refused.
static_assert(accepts<exact_sum<float>, float> && accepts<exact_sum<float>, half_bits>);
static_assert(accepts<exact_sum<float>, std::int32_t> && accepts<exact_sum<float>, bool>);
static_assert(!accepts<exact_sum<float>, double> && !accepts<exact_sum<half_bits>, float>);
static_assert(!accepts<exact_sum<float>, std::int64_t> && accepts<exact_sum<double>, std::int32_t>);
static_assert(!accepts_weighted<exact_sum<float>, float, float> && accepts_weighted<exact_sum<float>, one_t, float>);
static_assert(accepts_weighted<exact_sum<float>, half_bits, half_bits>);
static_assert(accepts_weighted<exact_sum<product<float>>, float, float>);
static_assert(accepts<exact_sum<product<float>>, product<float>> && accepts<exact_sum<product<float>>, float>);
static_assert(!accepts_weighted<exact_sum<double>, double, double>);

// All of it at compile time too.
static_assert([] {
    exact_sum<float> sum;
    sum.deposit(1e30F);
    sum.deposit(0x1p-149F);
    sum.deposit(-1e30F);
    return sum.value();
}() == 0x1p-149);

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float largest = std::numeric_limits<float>::max();
constexpr float smallest = std::numeric_limits<float>::denorm_min();

float random_bits(std::mt19937& random) {
    for (;;) {
        auto const x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (std::isfinite(x)) {
            return x;
        }
    }
}

struct sample_set {
    std::string name;
    std::vector<float> x;
};

template <class F>
sample_set make_samples(std::string name, std::size_t n, F make) {
    std::mt19937 random{static_cast<unsigned>(n) + 7U};
    sample_set set{std::move(name), {}};
    for (std::size_t i = 0; i < n; ++i) {
        set.x.push_back(make(i, random));
    }
    return set;
}

/// Every kind of data that an exact sum must get right, finite.
std::vector<sample_set> all_samples(std::size_t n) {
    using generator = std::mt19937;
    std::normal_distribution<float> normal;
    return {
        make_samples("normal", n, [&](std::size_t, generator& g) { return normal(g); }),
        make_samples("losses", n, [&](std::size_t, generator& g) { return std::fabs(normal(g)) + 0.1F; }),
        make_samples(
            "subnormal", n,
            [&](std::size_t, generator& g) { return std::bit_cast<float>(std::uint32_t(g()) & 0x807f'ffffU); }),
        make_samples("largest", n, [&](std::size_t, generator&) { return largest; }),
        make_samples("most negative", n, [&](std::size_t, generator&) { return -largest; }),
        make_samples(
            "total cancellation", n - n % 2,
            [&](std::size_t i, generator&) { return std::ldexp(i % 2 == 0 ? 1.7F : -1.7F, int(i / 2 % 250) - 125); }),
        make_samples("one huge, many tiny", n,
                     [&](std::size_t i, generator&) { return i == n / 2 ? largest : smallest; }),
        make_samples("huge and back", n,
                     [&](std::size_t i, generator&) { return i == 1       ? largest
                                                             : i + 2 == n ? -largest
                                                                          : 0x1p-140F; }),
        make_samples("negative carries", n, // -2^-149 after 2^k: borrows through all digits
                     [&](std::size_t i, generator&) { return i == 0 ? 0x1p127F : -smallest; }),
        make_samples("zeros", n, [&](std::size_t i, generator&) { return i % 2 == 0 ? -0.0F : 0.0F; }),
        make_samples("rectified", n, [&](std::size_t, generator& g) { return std::fmax(normal(g), 0.0F); }),
        make_samples("60 binades", n, [&](std::size_t, generator& g) { return std::ldexp(normal(g), -int(g() % 60)); }),
        make_samples("random bits", n, [&](std::size_t, generator& g) { return random_bits(g); }),
        make_samples("rare misfits", n,
                     [&](std::size_t, generator& g) { return g() % 3000 == 0 ? random_bits(g) : normal(g); }),
        make_samples("just below two", n, // sums as large as a tile's can be, in all bits
                     [&](std::size_t, generator& g) { return 0x1.fffp0F + std::ldexp(float(g() % 2048), -23); }),
        make_samples("powers of two", n,
                     [&](std::size_t i, generator&) { return std::ldexp(1.0F, int(i % 277) - 149); }),
        make_samples("near the top of a digit", n,
                     [&](std::size_t i, generator&) { return i % 3 == 0 ? -0x1.fffffep-118F : 0x1.fffffep-117F; }),
    };
}

template <class Acc>
std::vector<std::uint64_t> words_of(Acc acc) {
    std::vector<std::uint64_t> words(lanes_of<Acc>().sums);
    word_writer writer{words.data(), nullptr};
    acc.travel(writer);
    return words;
}

template <class Acc>
Acc of_words(std::vector<std::uint64_t> const& words) {
    Acc acc;
    word_reader reader{words.data(), nullptr};
    acc.travel(reader);
    return acc;
}

/// Replicas as an all-reduce would join them.
template <class Acc>
std::vector<std::uint64_t> all_reduce(std::vector<Acc> const& replicas) {
    std::vector<std::uint64_t> sums(lanes_of<Acc>().sums);
    for (auto const& replica : replicas) {
        auto const words = words_of(replica);
        for (std::size_t i = 0; i < words.size(); ++i) {
            sums[i] += words[i];
        }
    }
    return words_of(of_words<Acc>(sums));
}

constexpr std::size_t float_words = 12; // units of 2^-149
constexpr int float_unit = -149;
using float_reference = big_integer<float_words>;

float_reference reference_of(std::vector<float> const& x) {
    float_reference sum;
    for (auto const each : x) {
        sum += to_big<float_words>(static_cast<double>(each), float_unit);
    }
    return sum;
}

/// The number that the words stand for, digit by digit.
template <std::size_t Words>
big_integer<Words> big_of(std::vector<std::uint64_t> const& words) {
    big_integer<Words> sum;
    for (std::size_t i = 0; i + 3 < words.size(); ++i) {
        sum += big_integer<Words>(static_cast<std::int64_t>(words[i])) << (32 * static_cast<int>(i));
    }
    return sum;
}

bool canonical(std::vector<std::uint64_t> const& words) {
    bool all = true;
    for (std::size_t i = 0; i + 4 < words.size(); ++i) { // the last digit is signed, three counts follow
        all = all && words[i] <= 0xffff'ffffU;
    }
    return all;
}

template <class Acc, class X>
Acc one_by_one(X const* x, std::size_t n) {
    Acc acc;
    for (std::size_t i = 0; i < n; ++i) {
        acc.deposit(x[i]);
    }
    return acc;
}

template <class T>
bool same_bits(T a, T b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

} // namespace

TEST_CASE("exact_sum: the sum of a big integer, for every kind of data") {
    for (auto const& set : all_samples(3000)) {
        CAPTURE(set.name);
        auto const& x = set.x;
        auto const expected = reference_of(x);
        auto const sum = one_by_one<exact_sum<float>>(x.data(), x.size());
        auto const words = words_of(sum);
        CHECK(canonical(words));
        CHECK(big_of<float_words>(words) == expected);
        CHECK(same_bits(sum.value(), to_nearest<double>(expected, float_unit)));
        CHECK(same_bits(sum.rounded_to<float>(), to_nearest<float>(expected, float_unit)));
        CHECK(sum.nans() == 0);
        CHECK(sum.infinities() == 0);
    }
}

TEST_CASE("exact_sum: the same bits for any replicas, partition and order") {
    for (auto const& set : all_samples(2500)) {
        CAPTURE(set.name);
        auto const& x = set.x;
        auto const expected = words_of(one_by_one<exact_sum<float>>(x.data(), x.size()));
        for (std::size_t const replica_count : {1U, 2U, 3U, 5U, 8U, 64U}) {
            CAPTURE(replica_count);
            auto shuffled = x;
            std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937{static_cast<unsigned>(replica_count)});
            auto const at = cuts(x.size(), replica_count, replica_count + 17);
            std::vector<exact_sum<float>> replicas(replica_count);
            for (std::size_t r = 0; r < replica_count; ++r) {
                auto const middle = at[r] + (at[r + 1] - at[r]) / 3;
                replicas[r].deposit_block(shuffled.data() + at[r], middle - at[r]);
                replicas[r].merge(one_by_one<exact_sum<float>>(shuffled.data() + middle, at[r + 1] - middle));
            }
            CHECK(all_reduce(replicas) == expected);
            exact_sum<float> merged;
            for (auto const& replica : replicas) {
                merged.merge(replica);
            }
            CHECK(words_of(merged) == expected);
        }
    }
}

TEST_CASE("exact_sum: 2^20 times the largest float") {
    std::vector<float> const x(std::size_t{1} << 20, largest);
    exact_sum<float> sum;
    sum.deposit_block(x.data(), x.size());
    CHECK(sum.value() == std::ldexp(static_cast<double>(largest), 20));
    CHECK(sum.rounded_to<float>() == infinity);
    for (int i = 0; i < (1 << 20) - 1; ++i) {
        sum.deposit(-largest);
    }
    CHECK(sum.value() == static_cast<double>(largest));
    CHECK(sum.rounded_to<float>() == largest);
}

TEST_CASE("exact_sum: a block is its elements, wherever it begins and ends") {
    for (auto const& set : all_samples(9000)) {
        CAPTURE(set.name);
        auto const& x = set.x;
        for (std::size_t const n :
             {0U,   1U,   2U,   7U,    8U,    15U,   16U,   31U,   33U,   63U,   64U,   65U,   127U,
              511U, 512U, 513U, 1023U, 1025U, 2047U, 2048U, 2049U, 4095U, 4096U, 4097U, 6143U, 8990U}) {
            for (std::size_t const offset : {0U, 1U, 3U}) {
                CAPTURE(n);
                CAPTURE(offset);
                exact_sum<float> block;
                block.deposit_block(x.data() + offset, n);
                CHECK((block == one_by_one<exact_sum<float>>(x.data() + offset, n)));
            }
        }
        std::vector<double> const wide(x.begin(), x.end());
        for (std::size_t const n : {1U, 64U, 511U, 513U, 2049U, 8990U}) {
            exact_sum<double> block;
            block.deposit_block(wide.data(), n);
            CHECK((block == one_by_one<exact_sum<double>>(wide.data(), n)));
        }
    }
}

TEST_CASE("exact_sum: blocks longer than the table of exponents holds") {
    auto const set = make_samples("random", 300'001, [](std::size_t, std::mt19937& g) { return random_bits(g); });
    exact_sum<float> block;
    block.deposit_block(set.x.data(), set.x.size());
    CHECK((block == one_by_one<exact_sum<float>>(set.x.data(), set.x.size())));
}

TEST_CASE("exact_sum: products are exact") {
    for (auto const& set : all_samples(3000)) {
        CAPTURE(set.name);
        auto const& x = set.x;
        constexpr std::size_t words = 20;
        std::mt19937 random{3};
        for (int const kind : {0, 1, 2}) {
            CAPTURE(kind);
            std::vector<float> w = x; // squares
            for (auto& each : w) {
                each = kind == 1 ? random_bits(random) : kind == 2 ? static_cast<float>(random() % 3) - 0.5F : each;
            }
            big_integer<words> expected;
            exact_sum<product<float>> sum;
            exact_sum<product<float>> of_pairs;
            for (std::size_t i = 0; i < x.size(); ++i) {
                expected += to_big_product<words>(x[i], w[i], 2 * float_unit);
                sum.deposit(x[i], w[i]);
                of_pairs.deposit(product<float>{w[i], x[i]});
            }
            CHECK(big_of<words>(words_of(sum)) == expected);
            CHECK(same_bits(sum.value(), to_nearest<double>(expected, 2 * float_unit)));
            CHECK(same_bits(sum.rounded_to<float>(), to_nearest<float>(expected, 2 * float_unit)));
            CHECK((sum == of_pairs));
            for (std::size_t const cut : {0U, 1U, 513U, 2999U}) {
                exact_sum<product<float>> block;
                auto const at = std::min(cut, x.size());
                block.deposit_block(x.data(), w.data(), at);
                block.deposit_block(x.data() + at, w.data() + at, x.size() - at);
                CHECK((block == sum));
            }
        }
        exact_sum<product<float>> plain;
        plain.deposit_block(x.data(), x.size());
        CHECK(plain.value() == one_by_one<exact_sum<float>>(x.data(), x.size()).value());
    }
}

TEST_CASE("exact_sum: doubles of every exponent") {
    constexpr std::size_t words = 70;
    std::mt19937_64 random{5};
    std::normal_distribution<double> normal;
    for (int const kind : {0, 1, 2, 3, 4, 5, 6}) {
        CAPTURE(kind);
        std::vector<double> x(2600);
        for (auto& each : x) {
            do {
                each = kind == 0   ? normal(random)
                       : kind == 1 ? std::bit_cast<double>(random())
                       : kind == 2 ? std::bit_cast<double>(random() & 0x800f'ffff'ffff'ffffU)
                       : kind == 3 ? std::ldexp(normal(random), -static_cast<int>(random() % 300)) // several splits
                       : kind == 4 ? std::ldexp(normal(random), -900 - static_cast<int>(random() % 170))
                       : kind == 5 ? std::ldexp(normal(random), 950 + static_cast<int>(random() % 60))
                                   : (random() % 2 == 0 ? 1.0 : -1.0) * std::numeric_limits<double>::max();
            } while (!std::isfinite(each));
        }
        big_integer<words> expected;
        for (auto const each : x) {
            expected += to_big<words>(each, -1074);
        }
        exact_sum<double> sum;
        sum.deposit_block(x.data(), x.size());
        CHECK((sum == one_by_one<exact_sum<double>>(x.data(), x.size())));
        CHECK(big_of<words>(words_of(sum)) == expected);
        CHECK(same_bits(sum.value(), to_nearest<double>(expected, -1074)));
        CHECK(same_bits(sum.rounded_to<float>(), to_nearest<float>(expected, -1074)));
    }
}

TEST_CASE("exact_sum: what a split leaves can be as large as it can be, and as long") {
    // One number in 64 sets the digit at which a tile of 256 numbers a lane is split, 2^-44; the others are just below half
    // of that, with all bits in use, so that they are split again, and their upper parts add up to 53 bits.
    std::mt19937_64 random{8};
    std::vector<double> x(6000);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] =
            i % 64 == 5 ? 1.9 : std::ldexp(1.0 - std::ldexp(static_cast<double>(random() % 1'000'000 + 1), -53), -45);
    }
    exact_sum<double> block;
    block.deposit_block(x.data(), x.size());
    CHECK((block == one_by_one<exact_sum<double>>(x.data(), x.size())));
}

TEST_CASE("exact_sum: every half and every bfloat16") {
    exact_sum<half_bits> halves;
    exact_sum<float> halves_as_floats;
    exact_sum<bfloat16_bits> brains;
    float_reference expected;
    float_reference expected_brains;
    std::vector<half_bits> block;
    for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
        half_bits const h{static_cast<std::uint16_t>(bits)};
        bfloat16_bits const b{static_cast<std::uint16_t>(bits)};
        if (std::isfinite(widen_bits(h)) && bits % 3 != 0) {
            halves.deposit(h);
            halves_as_floats.deposit(h);
            block.push_back(h);
            expected += to_big<float_words>(static_cast<double>(widen_bits(h)), float_unit);
        }
        if (std::isfinite(widen_bits(b)) && bits % 5 != 0) {
            brains.deposit(b);
            expected_brains += to_big<float_words>(static_cast<double>(widen_bits(b)), float_unit);
        }
    }
    CHECK(same_bits(halves.value(), to_nearest<double>(expected, float_unit)));
    CHECK(same_bits(halves_as_floats.value(), halves.value()));
    CHECK(same_bits(brains.value(), to_nearest<double>(expected_brains, float_unit)));
    exact_sum<half_bits> of_block;
    of_block.deposit_block(block.data(), block.size());
    CHECK((of_block == halves));
    exact_sum<product<half_bits>> squares;
    squares.deposit_block(block.data(), block.data(), block.size());
    big_integer<float_words> expected_squares;
    for (auto const h : block) {
        expected_squares += to_big_product<float_words>(widen_bits(h), widen_bits(h), float_unit);
    }
    CHECK(same_bits(squares.value(), to_nearest<double>(expected_squares, float_unit)));
}

TEST_CASE("exact_sum: integers and counts") {
    exact_sum<float> sum;
    sum.deposit(std::numeric_limits<std::int32_t>::min());
    sum.deposit(std::numeric_limits<std::int32_t>::max());
    sum.deposit(std::uint8_t{200});
    sum.deposit(true);
    sum.deposit(one);
    sum.deposit(one, 0.25F);
    CHECK(sum.value() == -1.0 + 200.0 + 2.0 + 0.25);
}

TEST_CASE("exact_sum: NaN and infinities are counted, and give what IEEE 754 gives") {
    struct special_case {
        std::vector<float> x;
        double expected;
    };
    for (auto const& [x, expected] :
         {special_case{{1.0F, not_a_number}, std::nan("")},
          special_case{{infinity, 1.0F, infinity}, std::numeric_limits<double>::infinity()},
          special_case{{-infinity, largest}, -std::numeric_limits<double>::infinity()},
          special_case{{infinity, -infinity}, std::nan("")}, special_case{{infinity, -not_a_number}, std::nan("")}}) {
        auto const sum = one_by_one<exact_sum<float>>(x.data(), x.size());
        CHECK(sum.nans() ==
              static_cast<std::uint64_t>(std::count_if(x.begin(), x.end(), [](float v) { return v != v; })));
        CHECK(sum.infinities() ==
              static_cast<std::uint64_t>(std::count_if(x.begin(), x.end(), [](float v) { return std::isinf(v); })));
        for (double const value : {sum.value(), static_cast<double>(sum.rounded_to<float>())}) {
            CHECK((value == expected || (std::isnan(value) && std::isnan(expected))));
        }
    }
    // Any mixture, short and long blocks.
    std::normal_distribution<float> normal;
    for (std::size_t const n : {100U, 3000U, 10'000U}) {
        for (unsigned const one_in : {2U, 50U, 4000U}) {
            auto const set = make_samples("mixture", n, [&](std::size_t i, std::mt19937& g) {
                float const kinds[] = {not_a_number, infinity, -infinity, -not_a_number};
                return g() % one_in == 0 ? kinds[g() % 4] : i % 2 == 0 ? normal(g) : random_bits(g);
            });
            exact_sum<float> block;
            block.deposit_block(set.x.data(), n);
            CHECK((block == one_by_one<exact_sum<float>>(set.x.data(), n)));
            exact_sum<product<float>> products;
            products.deposit_block(set.x.data(), set.x.data(), n);
            exact_sum<product<float>> expected;
            for (auto const x : set.x) {
                expected.deposit(x, x);
            }
            CHECK((products == expected));
        }
    }
}

TEST_CASE("exact_sum: products with infinity, zero and NaN") {
    float const all[] = {0.0F, -0.0F, 1.0F, -2.5F, smallest, -largest, infinity, -infinity, not_a_number};
    for (auto const x : all) {
        for (auto const w : all) {
            CAPTURE(x);
            CAPTURE(w);
            exact_sum<product<float>> sum;
            sum.deposit(x, w);
            auto const expected = static_cast<double>(x) * static_cast<double>(w);
            auto const value = sum.value();
            CHECK((value == expected || (std::isnan(value) && std::isnan(expected))));
        }
    }
}

TEST_CASE("exact_sum: a sum of zeros is +0") {
    exact_sum<float> sum;
    CHECK(same_bits(sum.value(), 0.0));
    sum.deposit(-0.0F);
    CHECK(same_bits(sum.value(), 0.0));
    sum.deposit(1.5F);
    sum.deposit(-1.5F);
    CHECK(same_bits(sum.rounded_to<float>(), 0.0F));
}

TEST_CASE("exact_sum: digits near their limits, as 10^9 deposits and more would leave them") {
    // Atomic additions without a carry: every digit as far as 2^30 deposits can bring it.
    for (bool const negative : {false, true}) {
        auto const bound = (std::uint64_t{1} << 62) - 1;
        std::vector<std::uint64_t> words(12, negative ? std::uint64_t{0} - bound : bound);
        words[8] = negative ? std::uint64_t{0} - (1U << 30) : 1U << 30;
        std::fill(words.begin() + 9, words.end(), 0);
        auto const expected = big_of<float_words>(words);
        exact_sum<float> sum;
        tally::detail::part_reader reader{words.data()};
        sum.parts(reader);
        CHECK(canonical(words_of(sum)));
        CHECK(big_of<float_words>(words_of(sum)) == expected);
        CHECK(same_bits(sum.value(), to_nearest<double>(expected, float_unit)));
    }
}

TEST_CASE("exact_sum: deposits across the point where a digit must be carried") {
    // 2^62 - 2^32 in a digit: reached by 2^30 deposits of 2^32 - 2^8 between carries.
    for (float const x : {0x1.fffffep-118F, -0x1.fffffep-118F}) { // fills the lowest digit
        tally::detail::digits<9> digits;
        float_reference expected;
        auto const significand = std::uint64_t{0xff'ffff};
        auto const start = (std::uint64_t{1} << 62) - (std::uint64_t{1} << 36);
        std::vector<std::uint64_t> words(9);
        words[0] = x < 0 ? std::uint64_t{0} - start : start;
        word_reader reader{words.data(), nullptr};
        digits.travel(reader);
        expected += x < 0 ? -float_reference(static_cast<std::int64_t>(start))
                          : float_reference(static_cast<std::int64_t>(start));
        std::uint64_t most = 0;
        for (int i = 0; i < 100; ++i) { // passes 2^62 on the way
            digits.add<24>(significand, 8, x < 0);
            expected += to_big<float_words>(static_cast<double>(x), float_unit);
            auto const low = static_cast<std::int64_t>(digits[0]);
            most = std::max(most, static_cast<std::uint64_t>(low < 0 ? -low : low));
        }
        CHECK(most < std::uint64_t{1} << 62);
        CHECK(static_cast<std::int64_t>(digits[1]) != 0); // carried
        digits.normalise();
        word_writer writer{words.data(), nullptr};
        digits.travel(writer);
        words.resize(12);
        CHECK(big_of<float_words>(words) == expected);
    }
}

TEST_CASE("exact_sum: merging doubles a state at each step, through all headroom, until it is infinite") {
    exact_sum<float> sum;
    sum.deposit(largest);
    sum.deposit(-smallest);
    float_reference expected = reference_of({largest, -smallest});
    for (int step = 0; step < 31; ++step) { // 2^31 times the largest
        sum.merge(exact_sum<float>{sum});
        expected += float_reference{expected};
        CAPTURE(step);
        CHECK(big_of<float_words>(words_of(sum)) == expected);
        CHECK(sum.value() == to_nearest<double>(expected, float_unit));
    }
    // As many replicas can be added without losing the sign.
    std::vector<std::uint64_t> words = words_of(sum);
    auto thousand = words;
    for (auto& word : thousand) {
        word *= 1000;
    }
    CHECK(of_words<exact_sum<float>>(thousand).value() == std::numeric_limits<double>::infinity());
    exact_sum<float> negative;
    negative.deposit(-largest);
    for (int step = 0; step < 33; ++step) {
        negative.merge(exact_sum<float>{negative});
    }
    CHECK(negative.value() == -std::numeric_limits<double>::infinity());
    CHECK(negative.infinities() > 0);
    negative.deposit(1.0F);
    CHECK(negative.value() == -std::numeric_limits<double>::infinity());
}

TEST_CASE("exact_sum: what value() gives can be put back") {
    for (double const x : {0.0, 1.0, -0.1, 0x1p-149, 1e30}) {
        CHECK(exact_sum<float>{std::ldexp(std::floor(std::ldexp(x, 140)), -140)}.value() ==
              std::ldexp(std::floor(std::ldexp(x, 140)), -140));
        CHECK(exact_sum<double>{x}.value() == x);
    }
    across<op::max, exact_sum<float>> slowest;
    slowest.deposit(2.5F);
    auto other = slowest;
    other.deposit(1.0F);
    slowest.fold(other);
    CHECK(slowest.value() == 3.5);
}

TEST_CASE("exact_sum: the caller's floating-point environment changes nothing, and is left as it was") {
    for (auto const& set : all_samples(5000)) {
        CAPTURE(set.name);
        auto const& x = set.x;
        auto const expected = one_by_one<exact_sum<float>>(x.data(), x.size());
        for (int const mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
            REQUIRE(std::fesetround(mode) == 0);
            std::feclearexcept(FE_ALL_EXCEPT);
            exact_sum<float> sum;
            sum.deposit_block(x.data(), x.size());
            exact_sum<product<float>> squares;
            squares.deposit_block(x.data(), x.data(), x.size());
            auto const after = std::fegetround();
            auto const raised = std::fetestexcept(FE_ALL_EXCEPT);
            std::fesetround(FE_TONEAREST);
            CHECK(after == mode);
            CHECK(raised == 0);
            CHECK((sum == expected));
        }
    }
#if defined(__x86_64__)
    // Flushing subnormals to zero, as some frameworks do for speed.
    auto const before = __builtin_ia32_stmxcsr();
    for (auto const& set : all_samples(5000)) {
        CAPTURE(set.name);
        auto const& x = set.x;
        __builtin_ia32_ldmxcsr(before | 0x8040U);
        exact_sum<float> block;
        block.deposit_block(x.data(), x.size());
        exact_sum<product<float>> squares;
        squares.deposit_block(x.data(), x.data(), x.size());
        auto const scalar = one_by_one<exact_sum<float>>(x.data(), x.size());
        exact_sum<product<float>> scalar_squares;
        for (auto const each : x) {
            scalar_squares.deposit(each, each);
        }
        auto const value = block.value();
        __builtin_ia32_ldmxcsr(before);
        CHECK((block == scalar));
        CHECK((squares == scalar_squares));
        CHECK(same_bits(value, to_nearest<double>(reference_of(x), float_unit)));
    }
#endif
}

TEST_CASE("exact_sum: sums in arrays that the compiler could compute itself are found to be inexact") {
    float const x[] = {0x1p60F, 1.0F, -0x1p60F, 0x1p-60F, 3.0F, -3.0F, 0x1p-149F, 0.0F};
    exact_sum<float> sum;
    sum.deposit_block(x, 8);
    exact_sum<float> rest;
    rest.deposit(1.0F);
    rest.deposit(0x1p-60F);
    rest.deposit(0x1p-149F);
    CHECK((sum == rest));
}
