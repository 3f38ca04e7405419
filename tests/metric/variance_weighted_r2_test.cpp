// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/collection.hpp>
#include <tally/layout/per_column.hpp>
#include <tally/metric/variance_weighted_r2.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using tally::testing::near;
using tally::testing::value_of;

namespace {

using numbers = std::vector<double>;
using pooled = tally::variance_weighted_r2<double, 2>;

template <class M>
auto of(numbers const& p, numbers const& t) {
    return value_of<M>(tally::predictions(tally::matrix(p, 2)), tally::targets(tally::matrix(t, 2)));
}

} // namespace

TEST_CASE("variance_weighted_r2: scikit-learn documentation, r2_score") {
    numbers const t{0.5, 1, -1, 1, 7, -6};
    numbers const p{0, 2, -1, 2, 8, -5};
    CHECK(of<pooled>(p, t).value() == near(0.9382566585956417, 1e-14));
    using weighted = tally::weighted<pooled, double>;
    CHECK(value_of<weighted>(tally::predictions(tally::matrix(p, 2)), tally::targets(tally::matrix(t, 2)),
                             tally::weights(numbers{1, 1, 1}))
              .value() == near(0.9382566585956417, 1e-14));
    tally::testing::tracker<tally::variance_weighted_r2<double>> dynamic{tally::num_columns{2}};
    dynamic.update(tally::predictions(tally::matrix(p, 2)), tally::targets(tally::matrix(t, 2)));
    CHECK(dynamic.finalize().value() == near(0.9382566585956417, 1e-14));
}

TEST_CASE("variance_weighted_r2: constant columns weigh nothing, reasons are passed on") {
    CHECK(of<pooled>({2, 9, 4, 9, 4, 9}, {1, 7, 4, 7, 3, 7}).value() == near(4.0 / 7.0, 1e-14));
    CHECK(of<pooled>({1, 2, 3, 4}, {5, 7, 5, 7}).why() == tally::reason::no_variance);
    CHECK(of<pooled>({1, 2}, {5, 7}).why() == tally::reason::too_few_samples);
    CHECK(of<pooled>({}, {}).why() == tally::reason::no_samples);
    constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
    auto const skipped = of<pooled>({2, 9, 4, nan_value, 4, 9}, {1, 7, 4, 7, 3, nan_value});
    CHECK(skipped.value() == near(4.0 / 7.0, 1e-14));
    CHECK(skipped.dropped() == 2);
}

TEST_CASE("variance_weighted_r2: shares its state with the R2 of each column") {
    using both = tally::collection<tally::named<"pooled", tally::variance_weighted_r2<float, 2>>,
                                   tally::named<"each", tally::per_column<tally::r2_score<>, 2>>>;
    static_assert(tally::detail::plan<both>::counters::size == 1);
}
