// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kind of fault: an ignored label that stays a class with the value 0, or that is used as an index. Reported for macro
// averages (torchmetrics) and for an ignored label equal to the number of classes.
#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/metric/balanced_accuracy.hpp>
#include <tally/metric/f_beta.hpp>
#include <tally/metric/jaccard.hpp>
#include <tally/metric/precision_recall.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

template <int Label>
using of_3 = classes<3, labels::ignore<Label>>;

} // namespace

TEST_CASE("ignored label: it is no class of the average") {
    std::vector<int> const all{0, 1, 2, 0, 1, 2};
    CHECK(value_of<recall<of_3<0>>>(predictions(all), targets(all)).value() == 1.0); // the fault: 0.6667
    CHECK(value_of<balanced_accuracy<of_3<0>>>(predictions(all), targets(all)).value() == 1.0);
    CHECK(value_of<f1<of_3<0>>>(predictions(all), targets(all)).value() == 1.0);
    // Also where absent classes are to count as 0: the ignored label isn't absent, it is no class.
    using strict = recall<of_3<0>, average::macro, zero_division::zero, absent::zero>;
    CHECK(value_of<strict>(predictions(all), targets(all)).value() == 1.0);
    using each = recall<of_3<0>, average::none, zero_division::zero, absent::zero>;
    CHECK(value_of<each>(predictions(all), targets(all))[0].why() == reason::absent_class);
}

TEST_CASE("ignored label: a prediction of it is wrong, but not a class of the average either") {
    std::vector<int> const t{0, 0, 1, 1};
    std::vector<int> const p{0, 0, 0, 1};
    using of_2 = classes<2, labels::ignore<0>>;
    CHECK(value_of<recall<of_2>>(predictions(p), targets(t)).value() == 0.5); // the fault: 0.25
    CHECK(value_of<recall<of_2, average::micro>>(predictions(p), targets(t)).value() == 0.5);
    CHECK(value_of<precision<of_2>>(predictions(p), targets(t)).value() == 1.0);
    CHECK(value_of<balanced_accuracy<of_2>>(predictions(p), targets(t)).value() == 0.5);
}

TEST_CASE("ignored label: outside the classes it ignores nothing and is never an index") {
    std::vector<int> const t{2, 1, 0, 0};
    std::vector<int> const p{2, 1, 0, 1};
    auto const expected = near(2.0 / 3, 1e-12); // (1/2 + 1/2 + 1) / 3
    CHECK(value_of<jaccard<of_3<3>>>(predictions(p), targets(t)).value() == expected);
    CHECK(value_of<jaccard<of_3<-100>>>(predictions(p), targets(t)).value() == expected);
    CHECK(value_of<jaccard<of_3<255>>>(predictions(p), targets(t)).value() == expected);
}

TEST_CASE("ignored label: outside the classes and present, it is left out and not an error") {
    for (int const label : {-100, 255}) {
        std::vector<int> const t{2, 1, label, 0, 0, label};
        std::vector<int> const p{2, 1, 0, 0, 1, label};
        auto const check = [&]<class M>() {
            testing::tracker<M> tracker;
            tracker.update(predictions(p), targets(t));
            auto const result = tracker.finalize();
            CHECK(result.value() == near(2.0 / 3, 1e-12));
            CHECK(result.get().dropped() == 0);
            CHECK(M::counters::ignored(result.template state<M>()) == 2);
        };
        if (label == 255) {
            check.operator()<jaccard<of_3<255>>>();
        } else {
            check.operator()<jaccard<of_3<-100>>>();
        }
        // Not declared as ignored, the same label is bad data, and the result says so.
        auto const undeclared = value_of<jaccard<classes<3>>>(predictions(p), targets(t));
        CHECK(undeclared.value() == near(2.0 / 3, 1e-12));
        CHECK(undeclared.dropped() == 2);
    }
}
