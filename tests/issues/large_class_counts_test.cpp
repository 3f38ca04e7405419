// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: counting in float32, which stops at 2^24 (PyTorch Lightning).

#include <tally/accumulator/count.hpp>
#include <tally/metric/accuracy.hpp>
#include <tally/metric/binary.hpp>
#include <tally/metric/precision_recall.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using namespace tally;

TEST_CASE("large counts: precision and recall don't depend on the size") {
    // 1e8 samples a class, 60% of the positives and 40% of the negatives predicted positive; the fault: 0.5.
    using counters = binary_counters<threshold<>, labels::all, float, unweighted>;
    counters::state const s{tally::count{60'000'000},
                            tally::count{40'000'000},
                            tally::count{40'000'000},
                            tally::count{60'000'000},
                            {},
                            {},
                            {}};
    CHECK(precision<binary<>>::finalize(s).value() == 0.6);
    CHECK(recall<binary<>>::finalize(s).value() == 0.6);
}

TEST_CASE("large counts: one more sample still counts at 2^24, 2^32 and 2^52") {
    using metric = binary_accuracy<>;
    for (int const power : {24, 32, 52}) {
        std::uint64_t const n = std::uint64_t{1} << power;
        metric::counters::state s{tally::count{n}, {}, {}, {}, {}, {}, {}};
        s.true_positives.deposit(one);
        s.false_positives.deposit(one);
        CHECK(s.true_positives.value() == n + 1);
        CHECK(metric::finalize(s).value() == static_cast<double>(n + 1) / static_cast<double>(n + 2));
        CHECK(metric::finalize(s).value() < 1.0);
    }
}
