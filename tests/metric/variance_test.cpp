// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/collection.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/metric/mean.hpp>
#include <tally/metric/variance.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

using tally::testing::near;
using tally::testing::value_of;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two passes in long double; good to about 18 digits for these sizes.
double reference(std::vector<double> const& x, long double ddof) {
    long double const n = static_cast<long double>(x.size());
    long double const average = std::accumulate(x.begin(), x.end(), 0.0L) / n;
    long double squares = 0.0L;
    for (double const each : x) {
        squares += (each - average) * (each - average);
    }
    return static_cast<double>(squares / (n - ddof));
}

/// Relative error that `merges` merged parts may cause: each mean is rounded, which shows relative to the spread.
double merge_error(int merges, double mean, double spread) {
    return merges * std::numeric_limits<double>::epsilon() * (1.0 + std::abs(mean) / spread);
}

/// Digits that agree with a certified value (log relative error, McCullough 1998); 15 at most are certified.
double digits(double got, double certified) {
    return got == certified ? 15.0 : std::min(15.0, -std::log10(std::abs(got - certified) / std::abs(certified)));
}

// NIST Statistical Reference Datasets, univariate summary statistics.
std::vector<double> mavro() {
    std::vector<double> x;
    for (int const v : {180, 170, 180, 190, 180, 170, 150, 140, 150, 150, 170, 180, 180, 190, 190, 210, 200,
                        160, 140, 130, 130, 150, 150, 160, 150, 140, 130, 140, 150, 140, 150, 160, 150, 160,
                        190, 200, 200, 210, 220, 230, 240, 250, 270, 260, 260, 260, 270, 260, 250, 240}) {
        x.push_back((200000 + v) / 100000.0); // one rounding, as reading "2.00180" makes it
    }
    return x;
}
std::vector<double> michelso() {
    std::vector<double> x;
    for (int const v :
         {850, 740, 900, 1070, 930, 850, 950, 980, 980, 880, 1000, 980, 930, 650, 760, 810, 1000, 1000, 960, 960,
          960, 940, 960, 940,  880, 800, 850, 880, 900, 840, 830,  790, 810, 880, 880, 830, 800,  790,  760, 800,
          880, 880, 880, 860,  720, 720, 620, 860, 970, 950, 880,  910, 850, 870, 840, 840, 850,  840,  840, 840,
          890, 810, 810, 820,  800, 770, 760, 740, 750, 760, 910,  920, 890, 860, 880, 720, 840,  850,  850, 780,
          890, 840, 780, 810,  760, 810, 790, 810, 820, 850, 870,  870, 810, 740, 810, 940, 950,  800,  810, 870}) {
        x.push_back((299000 + v) / 1000.0);
    }
    return x;
}
/// base + 0.2, then 500 times base + 0.1, base + 0.3
std::vector<double> num_acc(double base_in_tenths) {
    std::vector<double> x{(base_in_tenths + 2.0) / 10.0};
    for (int i = 0; i < 500; ++i) {
        x.push_back((base_in_tenths + 1.0) / 10.0);
        x.push_back((base_in_tenths + 3.0) / 10.0);
    }
    return x;
}

using summary =
    tally::collection<tally::named<"mean", tally::mean<double>>, tally::named<"sd", tally::standard_deviation<double>>>;

struct agreement {
    double mean;
    double sd;
};
agreement agree(std::vector<double> const& x, double mean, double sd) {
    using namespace tally::literals;
    tally::testing::tracker<summary> tracker;
    tracker.update(tally::values(x));
    auto const result = tracker.finalize();
    return {digits(result["mean"_metric].value(), mean), digits(result["sd"_metric].value(), sd)};
}

} // namespace

// What limits the digits: the certified values belong to decimal data, which doubles only approximate. The standard
// deviation of the doubles themselves, by exact fractions, agrees with the certified one to 13.1 digits for Mavro,
// 13.8 for Michelso, 9.4 for NumAcc3 and 8.2 for NumAcc4, so the last two are compared with that of the doubles.
// There the mean of a merged part, rounded to a double, is what costs the rest: it is off by up to 2^-53 of the mean,
// not of the spread. A device merges many parts of a few samples each, which costs up to one digit more.
TEST_CASE("standard_deviation: NIST StRD univariate, digits of agreement with the certified values") {
    constexpr double lost = tally::testing::on_device ? 1.0 : 0.0;
    SUBCASE("Mavro") {
        auto const d = agree(mavro(), 2.00185600000000, 0.000429123454003053);
        CHECK(d.mean >= 15.0);
        CHECK(d.sd >= 13.0 - lost);
    }
    SUBCASE("Michelso") {
        auto const d = agree(michelso(), 299.852400000000, 0.0790105478190518);
        CHECK(d.mean >= 15.0);
        CHECK(d.sd >= 13.5 - lost);
    }
    SUBCASE("NumAcc1") {
        auto const d = agree({10000001, 10000003, 10000002}, 10000002, 1);
        CHECK(d.mean >= 15.0);
        CHECK(d.sd >= 15.0);
    }
    SUBCASE("NumAcc2") {
        auto const d = agree(num_acc(10), 1.2, 0.1);
        CHECK(d.mean >= 14.5);
        CHECK(d.sd >= 14.5);
    }
    SUBCASE("NumAcc3") {
        auto const d = agree(num_acc(1e7), 1000000.2, 0.1000000000349246);
        CHECK(d.mean >= 15.0);
        CHECK(d.sd >= 12.0);
        CHECK(agree(num_acc(1e7), 1000000.2, 0.1).sd >= 9.4);
    }
    SUBCASE("NumAcc4") {
        auto const d = agree(num_acc(1e8), 10000000.2, 0.1000000005587935);
        CHECK(d.mean >= 15.0);
        CHECK(d.sd >= 11.0 - lost);
        CHECK(agree(num_acc(1e8), 10000000.2, 0.1).sd >= 8.2);
    }
}

TEST_CASE("variance: large values with a small spread don't cancel, in float either") {
    // As floats the NumAcc3 data are 1000000.0625, .125, .1875, .25 or .3125; the textbook formula gives nothing
    // useful.
    std::vector<float> narrow;
    for (double const x : num_acc(10000000)) {
        narrow.push_back(static_cast<float>(x));
    }
    std::vector<double> const same(narrow.begin(), narrow.end());
    CHECK(value_of<tally::variance<>>(tally::values(narrow)).value() == reference(same, 1.0L)); // rounded once
    CHECK(value_of<tally::variance<float, 0>>(tally::values(narrow)).value() == reference(same, 0.0L));
    CHECK(value_of<tally::variance<float, 1, tally::moments>>(tally::values(narrow)).value() ==
          near(reference(same, 1.0L), merge_error(4, 1e6, 0.09)));
    CHECK(value_of<tally::standard_deviation<>>(tally::values(narrow)).value() == near(0.0937552, 1e-6));
}

// The decimal data as floats; what a sum of doubles loses, or does not, is of no concern here.
TEST_CASE("standard_deviation: NIST StRD univariate as floats, to all digits") {
    for (auto const& x : {mavro(), michelso(), num_acc(10), num_acc(1e7), num_acc(1e8)}) {
        std::vector<float> const narrow(x.begin(), x.end());
        std::vector<double> const same(narrow.begin(), narrow.end());
        auto const expected = reference(same, 1.0L);
        CAPTURE(expected);
        CHECK(value_of<tally::variance<>>(tally::values(narrow)).value() == expected);
        CHECK(value_of<tally::standard_deviation<>>(tally::values(narrow)).value() == std::sqrt(expected));
    }
}

TEST_CASE("variance: reasons, NaN and constant data, of floats") {
    using floats = std::vector<float>;
    CHECK(value_of<tally::variance<>>(tally::values(floats{})).why() == tally::reason::no_samples);
    CHECK(value_of<tally::variance<>>(tally::values(floats{1})).why() == tally::reason::too_few_samples);
    CHECK(value_of<tally::variance<float, 0>>(tally::values(floats{1})).value() == 0.0);
    CHECK(value_of<tally::variance<>>(tally::values(floats(1000, 0.1F))).value() == 0.0);
    auto const skipped = value_of<tally::variance<>>(tally::values(floats{1, std::nanf(""), 3}));
    CHECK(skipped.value() == 2.0);
    CHECK(skipped.dropped() == 1);
    using propagating = tally::variance<float, 1, tally::exact_moments<float>, tally::nan::propagate>;
    CHECK(std::isnan(value_of<propagating>(tally::values(floats{1, std::nanf(""), 3})).value()));
    CHECK(std::isnan(
        value_of<tally::variance<>>(tally::values(floats{1, std::numeric_limits<float>::infinity()})).value()));
}

TEST_CASE("variance: degrees of freedom") {
    std::vector<double> const x{2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0};
    CHECK(value_of<tally::variance<double, 0>>(tally::values(x)).value() == 4.0);
    CHECK(value_of<tally::standard_deviation<double, 0>>(tally::values(x)).value() == 2.0);
    CHECK(value_of<tally::variance<double>>(tally::values(x)).value() == 32.0 / 7.0);
    CHECK(value_of<tally::variance<double, 2>>(tally::values(x)).value() == 32.0 / 6.0);
}

TEST_CASE("variance: no data, too few samples, constant data") {
    auto const n = [](std::size_t size) { return std::vector<double>(size, 0.1); };
    CHECK(value_of<tally::variance<double>>(tally::values(n(0))).why() == tally::reason::no_samples);
    CHECK(value_of<tally::variance<double>>(tally::values(n(1))).why() == tally::reason::too_few_samples);
    CHECK(value_of<tally::standard_deviation<double>>(tally::values(n(1))).why() == tally::reason::too_few_samples);
    CHECK(value_of<tally::variance<double, 0>>(tally::values(n(1))).value() == 0.0);
    for (std::size_t const size : {2U, 3U, 257U, 1000U}) { // 3 * 0.1 / 3 is not 0.1 in double
        CHECK(value_of<tally::variance<double>>(tally::values(n(size))).value() == 0.0);
    }
}

TEST_CASE("variance: NaN is left out and counted, or propagates; an infinity has no spread") {
    std::vector<double> const x{1.0, nan_value, 3.0};
    auto const skipped = value_of<tally::standard_deviation<double>>(tally::values(x));
    CHECK(skipped.value() == near(std::sqrt(2.0), 1e-15));
    CHECK(skipped.dropped() == 1);
    auto const propagated =
        value_of<tally::variance<double, 1, tally::moments, tally::nan::propagate>>(tally::values(x));
    CHECK(std::isnan(propagated.value()));
    CHECK(propagated.dropped() == 0);
    CHECK(std::isnan(value_of<tally::variance<double>>(tally::values(std::vector<double>{1.0, infinity})).value()));
}

TEST_CASE("variance: a weight counts as repetition") {
    std::vector<double> const x{1.0, 2.0, 4.0};
    std::vector<double> const repeated{1.0, 1.0, 1.0, 2.0, 4.0, 4.0};
    using weighted = tally::weighted<tally::variance<double>, double>;
    CHECK(value_of<weighted>(tally::values(x), tally::weights(std::vector<double>{3, 1, 2})).value() ==
          near(reference(repeated, 1.0L), 1e-14));
    CHECK(value_of<weighted>(tally::values(x), tally::weights(std::vector<double>{1, 1, 1})).value() ==
          near(value_of<tally::variance<double>>(tally::values(x)).value(), 1e-14));
    CHECK(value_of<weighted>(tally::values(x), tally::weights(std::vector<double>{0.5, 0.25, 0})).why() ==
          tally::reason::too_few_samples);
    using population = tally::weighted<tally::standard_deviation<double, 0>, double>;
    CHECK(value_of<population>(tally::values(x), tally::weights(std::vector<double>{0, 0, 0})).why() ==
          tally::reason::zero_denominator);
    // A negative weight has no spread: NaN, in every order of the samples.
    CHECK(
        std::isnan(value_of<population>(tally::values(x), tally::weights(std::vector<double>{2, 1, -1})).as_double()));
}

TEST_CASE("variance: unequal replicas give the variance of the union, empty ones change nothing") {
    std::vector<double> x;
    for (int i = 0; i < 1000; ++i) {
        x.push_back(1e8 + (i * 37) % 101);
    }
    std::size_t const begin[] = {0, 1, 1, 300, 1000};
    auto const update = [&](auto& tracker, int rank) {
        tracker.update(tally::values(x.data() + begin[rank], begin[rank + 1] - begin[rank]));
    };
    for (auto const& each : tally::testing::values_of_replicas<tally::variance<double>>(4, update)) {
        CHECK(each.value() == near(reference(x, 1.0L), merge_error(8, 1e8, 29.0)));
    }
}

TEST_CASE("variance: numbers of samples beyond 2^32") {
    tally::moments half;
    half.deposit(1.0);
    auto other = tally::moments{};
    other.deposit(3.0);
    half.merge(other); // n = 2, mean 2, M2 2
    for (int doubling = 0; doubling < 40; ++doubling) {
        auto const copy = half;
        half.merge(copy);
    }
    tally::variance<double>::counters::state const state{half, {}};
    auto const n = std::ldexp(1.0, 41);
    CHECK(state.values.deposits() == (std::uint64_t{1} << 41));
    CHECK(tally::variance<double>::finalize(state).value() == n / (n - 1.0));
}

TEST_CASE("variance: shares its state with standard_deviation in a collection") {
    using both = tally::collection<tally::named<"variance", tally::variance<>>,
                                   tally::named<"sd", tally::standard_deviation<float, 0>>>;
    static_assert(tally::detail::plan<both>::counters::size == 1);
    static_assert(sizeof(tally::state_of<tally::variance<>>) == 280);
    static_assert(sizeof(tally::state_of<tally::variance<double>>) == 40);
    static_assert(sizeof(tally::state_of<tally::weighted<tally::variance<>>>) == 40);
    static_assert(sizeof(tally::state_of<tally::variance<float, 1, tally::moments>>) == 40);
    CHECK(value_of<tally::variance<>>(tally::values(std::vector<tally::half_bits>{
              tally::narrow_to<tally::half_bits>(1.0F), tally::narrow_to<tally::half_bits>(2.0F)})) == 0.5);
}
