// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/accumulator/count.hpp>
#include <tally/accumulator/sum.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>

using tally::reason;
using tally::result;

static_assert(std::is_trivially_copyable_v<result<double>>);

TEST_CASE("result: a value") {
    result<double> const r{2.5};
    CHECK(r.has_value());
    CHECK(static_cast<bool>(r));
    CHECK(r.why() == reason::none);
    CHECK(r.value() == 2.5);
    CHECK(r.value_or(9.0) == 2.5);
    CHECK(r.as_double() == 2.5);
    double const converted = r;
    CHECK(converted == 2.5);
    CHECK(r.dropped() == 0);
}

TEST_CASE("result: a reason instead of a value") {
    result<double> const r{reason::zero_denominator};
    CHECK_FALSE(r.has_value());
    CHECK(r.why() == reason::zero_denominator);
    CHECK(std::isnan(r.as_double()));
    CHECK(std::isnan(static_cast<double>(r)));
    CHECK(r.value_or(9.0) == 9.0);
    CHECK_THROWS_WITH_AS((void)r.value(), "this result has no value: zero denominator", tally::no_value_error);
}

TEST_CASE("result: integers have no NaN, their conversion to double has") {
    CHECK(std::isnan(result<std::int64_t>{reason::no_samples}.as_double()));
    CHECK(result<std::int64_t>{-3}.as_double() == -3.0);
    CHECK(result<std::int64_t>{std::int64_t{1} << 60}.value() == std::int64_t{1} << 60);
}

TEST_CASE("result: NaN is a value, not a missing one") {
    result<double> const r{std::nan("")};
    CHECK(r.has_value());
    CHECK(std::isnan(r.value()));
}

TEST_CASE("result: what was dropped is kept beside value and reason") {
    CHECK(result<double>{1.0}.with_dropped(7).dropped() == 7);
    CHECK(result<double>{1.0}.with_dropped(7).value() == 1.0);
    auto const none = result<double>{reason::no_samples}.with_dropped(3);
    CHECK(none.dropped() == 3);
    CHECK(none.why() == reason::no_samples);
}

TEST_CASE("result: every reason has words of its own") {
    std::set<std::string> words;
    for (int why = 0; why <= static_cast<int>(reason::replicas_differ); ++why) {
        words.insert(to_string(static_cast<reason>(why)));
    }
    CHECK(words.size() == static_cast<std::size_t>(reason::replicas_differ) + 1);
    CHECK(words.count("unknown reason") == 0);
}

TEST_CASE("ratio: divides, and says why it can't") {
    tally::sum<double> const three{3.0};
    CHECK(tally::ratio(three, tally::count{2}).value() == 1.5);
    CHECK(tally::ratio(three, tally::count{}).why() == reason::no_samples);
    CHECK(tally::ratio(three, tally::sum<double>{}).why() == reason::zero_denominator);
    CHECK(tally::ratio(three, tally::sum<double>{-0.0}).why() == reason::zero_denominator);
    CHECK(tally::ratio(tally::sum<double>{}, tally::count{}).why() == reason::no_samples); // not 0 / 0 = NaN
}

TEST_CASE("ratio: a negative denominator is legal, and so are plain numbers") {
    // Values 1 and 2 of weights -1 and -3.
    CHECK(tally::ratio(tally::sum<double>{-7.0}, tally::sum<double>{-4.0}).value() == 1.75);
    CHECK(tally::ratio(1, 4).value() == 0.25);
    CHECK(tally::ratio(1, 0).why() == reason::zero_denominator);
    CHECK(tally::ratio(std::uint64_t{1} << 62, std::uint64_t{1} << 61).value() == 2.0);
}
