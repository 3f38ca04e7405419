// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: scores that are almost equal are compared with a tolerance, or merged by bins, without anybody
// noticing.
#include "support/engine.hpp"

#include <tally/metric/auroc.hpp>

#include <tally/core/inputs.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

template <class M>
auto value_of(std::vector<double> const& scores, std::vector<int> const& targets) {
    tally::testing::tracker<M> tracker;
    tracker.update(tally::predictions(scores), tally::targets(targets));
    return tracker.finalize().get();
}

TEST_CASE("score ties: scores 1e-10 apart share a bin, and the bracket says so") {
    auto const area = value_of<tally::auroc<tally::probability_bins<>, double>>({1e-10, 0, 0}, {1, 0, 0});
    CHECK(area.value() == 0.5);
    CHECK(area.lower() == 0.0);
    CHECK(area.upper() == 1.0); // the exact area
}

TEST_CASE("score ties: bins that are fine near zero decide such pairs") {
    auto const area = value_of<tally::auroc<tally::logit_bins<64, -40, 0>, double>>({1e-10, 0, 0}, {1, 0, 0});
    CHECK(area.value() == 1.0);
    CHECK(area.lower() == 1.0);
}

TEST_CASE("score ties: equal scores are half a win in any bins") {
    auto const area = value_of<tally::auroc<tally::logit_bins<>, double>>({3, 3}, {1, 0});
    CHECK(area.value() == 0.5);
}

} // namespace
