// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: collectives are matched by their order alone. Replicas that combine two metrics of the same shape in
// different orders get the sum of one metric's counts and the other's.
#include "support/engine.hpp"

#include <tally/collection.hpp>
#include <tally/comm/replicas.hpp>
#include <tally/core/inputs.hpp>
#include <tally/metric/accuracy.hpp>
#include <tally/metric/mean.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace tally;
using namespace tally::literals;

namespace {

template <class Function>
std::string mismatch_of(Function function) {
    try {
        function();
    } catch (layout_mismatch const& difference) {
        return difference.what();
    }
    return "no layout_mismatch";
}

} // namespace

TEST_CASE("different order of combines: every replica is told, and keeps its state") {
    using train = collection<named<"train", accuracy<>>>;
    using validation = collection<named<"validation", accuracy<>>>;
    std::vector<int> const labels{0, 1, 1, 0};
    std::vector<int> const predicted{0, 1, 0, 0};
    std::vector<int> const others{1, 0, 0, 1};
    for (int const count : {2, 3, 4, 8}) {
        CAPTURE(count);
        auto const texts = replicas{count}.run([&](thread_communicator& comm) {
            testing::tracker<train> first;
            testing::tracker<validation> second;
            first.update(predictions(predicted), targets(labels));
            second.update(predictions(others), targets(labels));
            (void)first.combine(comm); // both layouts are agreed on
            (void)second.combine(comm);
            auto const text = mismatch_of([&] {
                if (comm.rank() == 0) {
                    (void)first.combine(comm);
                } else {
                    (void)second.combine(comm);
                }
            });
            CHECK(first.finalize()["train"_metric].value() == 0.75);
            CHECK(first.combine(comm)["train"_metric].value() == 0.75);
            CHECK(second.combine(comm)["validation"_metric].value() == 0.0);
            return text;
        });
        for (auto const& text : texts) {
            CHECK(text.find("different metrics in this call") != std::string::npos);
            CHECK(text == texts[0]);
        }
    }
}

TEST_CASE("different order of combines: the root is told where only the root receives") {
    using one = collection<named<"one", mean<>>>;
    using other = collection<named<"other", mean<>>>;
    auto const texts = replicas{3}.run([&](thread_communicator& comm) {
        testing::tracker<one> const first;
        testing::tracker<other> const second;
        (void)first.combine(comm);
        (void)second.combine(comm);
        return mismatch_of([&] {
            if (comm.rank() == 1) {
                (void)first.combine_to(comm, 2);
            } else {
                (void)second.combine_to(comm, 2);
            }
        });
    });
    CHECK(texts[0] == "no layout_mismatch");
    CHECK(texts[1] == "no layout_mismatch");
    CHECK(texts[2].find("in the same order") != std::string::npos);
}
