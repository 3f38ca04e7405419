// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// accuracy and hamming_loss with every rule: published values, ties, NaN, bad labels, padding, weights.
#include "support/class_reference.hpp"
#include "support/engine.hpp"
#include "support/near.hpp"
#include "support/value_of.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/metric/accuracy.hpp>
#include <tally/metric/classes.hpp>
#include <tally/metric/multilabel.hpp>
#include <tally/weighted.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace {

using namespace tally;
using tally::testing::near;
using tally::testing::value_of;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <std::int32_t K>
using lowest = accuracy<top_k<K>>;
template <std::int32_t K>
using pessimistic = accuracy<top_k<K, ties::pessimistic>>;
template <std::int32_t K>
using averaged = accuracy<top_k<K, ties::average>>;
template <std::int32_t K>
using optimistic = accuracy<top_k<K, ties::optimistic>>;

} // namespace

TEST_CASE("accuracy: published values") {
    SUBCASE("binary, threshold 1/2") { // torchmetrics documentation, BinaryAccuracy
        std::vector<float> const p{0.11F, 0.22F, 0.84F, 0.73F, 0.33F, 0.92F};
        std::vector<int> const t{0, 1, 0, 1, 0, 1};
        CHECK(value_of<binary_accuracy<>>(predictions(p), targets(t)).value() == near(2.0 / 3, 1e-12));
    }
    SUBCASE("labels, weighted") { // Keras documentation, metrics.Accuracy
        std::vector<int> const p{0, 2, 3, 4};
        std::vector<int> const t{1, 2, 3, 4};
        std::vector<float> const w{1, 1, 0, 0};
        CHECK(value_of<accuracy<>>(predictions(p), targets(t)).value() == 0.75);
        CHECK(value_of<weighted<accuracy<>>>(predictions(p), targets(t), weights(w)).value() == 0.5);
    }
    SUBCASE("top 2") { // scikit-learn documentation, top_k_accuracy_score
        std::vector<float> const s{0.5F, 0.2F, 0.2F, 0.3F, 0.4F, 0.2F, 0.2F, 0.4F, 0.3F, 0.7F, 0.2F, 0.1F};
        std::vector<int> const t{0, 1, 2, 2};
        CHECK(value_of<lowest<2>>(scores(s, 3), targets(t)).value() == 0.75);
    }
    SUBCASE("hit rate at 2, ties count as not greater") { // torcheval documentation, hit_rate
        std::vector<float> const s{0.3F, 0.1F, 0.6F, 0.5F, 0.2F, 0.3F, 0.2F, 0.1F, 0.7F, 0.3F, 0.3F, 0.4F};
        std::vector<int> const t{2, 1, 1, 0};
        double const expected[] = {1, 0, 0, 1};
        for (std::size_t i = 0; i < 4; ++i) {
            CHECK(value_of<optimistic<2>>(scores(&s[3 * i], 1, 3), targets(&t[i], 1)).value() == expected[i]);
        }
    }
    SUBCASE("multilabel, Hamming form") { // torcheval documentation, multilabel_accuracy
        std::vector<float> const p{0, 1, 1, 1, 0, 0, 0, 1};
        std::vector<int> const t{0, 1, 1, 0, 0, 0, 1, 1};
        CHECK(value_of<multilabel_accuracy<>>(predictions(matrix(p, 2)), targets(matrix(t, 2))).value() == 0.75);
        CHECK(value_of<accuracy<multilabel<2>>>(predictions(matrix(p, 2)), targets(matrix(t, 2))).value() == 0.75);
    }
}

TEST_CASE("hamming_loss: published values") { // scikit-learn documentation, hamming_loss
    std::vector<int> const p{1, 2, 3, 4};
    std::vector<int> const t{2, 2, 3, 4};
    CHECK(value_of<hamming_loss<>>(predictions(p), targets(t)).value() == 0.25);
    CHECK(value_of<hamming_loss<classes<5>>>(predictions(p), targets(t)).value() == 0.25);
    std::vector<float> const zeros(4, 0.0F);
    std::vector<int> const labels_of_2{0, 1, 1, 1};
    auto const loss = value_of<hamming_loss<binary<>>>(predictions(matrix(zeros, 2)), targets(matrix(labels_of_2, 2)));
    CHECK(loss.value() == 0.75);
    CHECK(value_of<hamming_loss<>>(predictions(std::vector<int>{}), targets(std::vector<int>{})).why() ==
          reason::no_samples);
}

TEST_CASE("accuracy: all rules agree on labels and scores without ties") {
    auto const d = tally::testing::random_labels(600, 5, 3, false);
    std::vector<float> s(d.targets.size() * 5);
    for (std::size_t i = 0; i < d.targets.size(); ++i) {
        for (std::size_t c = 0; c < 5; ++c) {
            s[5 * i + c] = static_cast<int>(c) == d.predictions[i] ? 9.0F : static_cast<float>(c);
        }
    }
    auto const right = d.where([](int t, int p) { return t == p; });
    auto const expected = static_cast<double>(right) / static_cast<double>(d.targets.size());
    auto const t = targets(d.targets);
    CHECK(value_of<accuracy<>>(predictions(d.predictions), t).value() == expected);
    CHECK(value_of<accuracy<>>(scores(s, 5), t).value() == expected);
    CHECK(value_of<lowest<1>>(scores(s, 5), t).value() == expected);
    CHECK(value_of<pessimistic<1>>(scores(s, 5), t).value() == expected);
    CHECK(value_of<averaged<1>>(scores(s, 5), t).value() == expected);
    CHECK(value_of<accuracy<classes<5>>>(predictions(d.predictions), t).value() == expected);
    CHECK(value_of<hamming_loss<classes<5>>>(scores(s, 5), t).value() == near(1 - expected, 1e-15));
    std::vector<float> const ones(d.targets.size(), 1.0F);
    CHECK(value_of<weighted<accuracy<>>>(scores(s, 5), t, weights(ones)).value() == expected);
    CHECK(value_of<weighted<lowest<1>>>(scores(s, 5), t, weights(ones)).value() == expected);
}

TEST_CASE("top_k: few distinct scores, every ties policy against a walk over all orders") {
    std::mt19937 random{5};
    constexpr int columns = 5;
    constexpr int k = 2;
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<float> row(columns);
        for (auto& x : row) x = static_cast<float>(random() % 3);
        int const t = static_cast<int>(random() % columns);
        // Every permutation that sorts the scores downwards, with the place of the target in it.
        std::vector<int> order{0, 1, 2, 3, 4};
        int orders = 0, hits = 0, first_hit = -1;
        do {
            auto const at = [&](int i) { return row[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]; };
            bool sorted = true;
            for (int i = 1; i < columns; ++i) sorted = sorted && at(i - 1) >= at(i);
            if (!sorted) continue;
            auto const place = std::find(order.begin(), order.end(), t) - order.begin();
            ++orders;
            hits += place < k ? 1 : 0;
            if (first_hit < 0) first_hit = place < k ? 1 : 0; // the first is the one with ties in ascending index
        } while (std::next_permutation(order.begin(), order.end()));
        auto const s = scores(row, columns);
        std::vector<int> const label{t};
        CHECK(value_of<lowest<k>>(s, targets(label)).value() == first_hit);
        CHECK(value_of<pessimistic<k>>(s, targets(label)).value() == (hits == orders ? 1 : 0));
        CHECK(value_of<optimistic<k>>(s, targets(label)).value() == (hits > 0 ? 1 : 0));
        CHECK(value_of<averaged<k>>(s, targets(label)).value() == doctest::Approx(1.0 * hits / orders).epsilon(1e-7));
    }
}

TEST_CASE("top_k: monotone in k, and lowest_index at k = 1 is the predicted class") {
    std::mt19937 random{6};
    std::vector<float> s(300 * 4);
    std::vector<int> t(300);
    for (auto& x : s) x = static_cast<float>(random() % 3);
    for (auto& x : t) x = static_cast<int>(random() % 4);
    auto const m = scores(s, 4);
    auto const first = value_of<lowest<1>>(m, targets(t)).value();
    auto const second = value_of<lowest<2>>(m, targets(t)).value();
    auto const third = value_of<lowest<3>>(m, targets(t)).value();
    CHECK(first == value_of<accuracy<>>(m, targets(t)).value());
    CHECK(first < second);
    CHECK(second < third);
}

TEST_CASE("top_k: rows of at most k columns say nothing and are reported") {
    std::vector<float> const s{0.1F, 0.2F, 0.3F, 0.4F};
    std::vector<int> const t{0, 1};
    auto const result = value_of<lowest<2>>(scores(s, 2), targets(t));
    CHECK_FALSE(result.has_value());
    CHECK(result.why() == reason::no_samples);
    CHECK(result.dropped() == 2);
}

TEST_CASE("accuracy: a row with a NaN is wrong, with every rule") {
    std::vector<float> const s{not_a_number, 0.5F, 0.1F, 0.9F, 0.1F, 0.3F, 0.2F, 0.8F, not_a_number};
    std::vector<int> const t{1, 0, 1};
    CHECK(value_of<accuracy<>>(scores(s, 3), targets(t)).value() == near(1.0 / 3, 1e-12));
    CHECK(value_of<lowest<2>>(scores(s, 3), targets(t)).value() == near(1.0 / 3, 1e-12));
    CHECK(value_of<averaged<2>>(scores(s, 3), targets(t)).value() == near(1.0 / 3, 1e-12));
    CHECK(value_of<optimistic<2>>(scores(s, 3), targets(t)).value() == near(1.0 / 3, 1e-12));
    CHECK(value_of<accuracy<classes<3>>>(scores(s, 3), targets(t)).value() == near(1.0 / 3, 1e-12));
    std::vector<float> const p{not_a_number, not_a_number, 0.9F};
    std::vector<int> const yes_no{0, 1, 1};
    CHECK(value_of<binary_accuracy<>>(predictions(p), targets(yes_no)).value() == near(1.0 / 3, 1e-12));
}

TEST_CASE("accuracy: targets that are no label are dropped and counted") {
    std::vector<float> const s{0.1F, 0.9F, 0.9F, 0.1F, 0.2F, 0.8F, 0.7F, 0.3F};
    std::vector<float> const t{1, not_a_number, -1, 2};
    auto const by_class = value_of<accuracy<>>(scores(s, 2), targets(t));
    CHECK(by_class.dropped() == 2);
    CHECK(by_class.value() == 0.5); // label 2 of 2 columns: no prediction gets it right
    auto const by_rank = value_of<lowest<1>>(scores(s, 2), targets(t));
    CHECK(by_rank.dropped() == 3);
    CHECK(by_rank.value() == 1.0);
    auto const by_counters = value_of<accuracy<classes<2>>>(scores(s, 2), targets(t));
    CHECK(by_counters.dropped() == 3);
    CHECK(by_counters.value() == 1.0);
}

TEST_CASE("accuracy: ignored labels are left out and counted apart") {
    std::vector<int> const p{0, 1, 2, 1};
    std::vector<int> const t{0, -100, 2, 255};
    using far = accuracy<top_class<labels::ignore<-100>>>;
    testing::tracker<far> tracker;
    tracker.update(predictions(p), targets(t));
    auto const result = tracker.finalize();
    CHECK(result.value() == near(2.0 / 3, 1e-12));
    CHECK(result.get().dropped() == 0);
    CHECK(far::counters::ignored(result.state<far>()) == 1);
    std::vector<float> const s{3, 2, 1, 3, 2, 1, 1, 2, 3, 1, 2, 3};
    std::vector<std::int64_t> const wide{0, -100, 2, -1};
    using ranked = accuracy<top_k<1, ties::lowest_index, labels::ignore<-100>>>;
    auto const by_rank = value_of<ranked>(scores(s, 3), targets(wide));
    CHECK(by_rank.value() == 1.0);
    CHECK(by_rank.dropped() == 1); // -1 is not the ignored label
}

TEST_CASE("accuracy: no samples, all masked, weights that cancel") {
    std::vector<int> const none;
    CHECK(value_of<accuracy<>>(predictions(none), targets(none)).why() == reason::no_samples);
    testing::tracker<accuracy<>> const never;
    CHECK(never.finalize().get().why() == reason::no_samples);
    std::vector<int> const label{1, 1};
    std::vector<int> const masked{0, 0};
    CHECK(value_of<accuracy<>>(predictions(label), targets(label), mask(masked)).why() == reason::no_samples);
    std::vector<float> const cancelling{1, -1};
    auto const cancelled = value_of<weighted<accuracy<>>>(predictions(label), targets(label), weights(cancelling));
    CHECK(cancelled.why() == reason::zero_denominator);
}

TEST_CASE("accuracy: padding is masked, so repeated samples don't count twice") {
    std::vector<int> const t{0, 1, 2, 0, 1, 2, 0, 1, 2};
    std::vector<int> const p{0, 1, 2, 0, 0, 0, 1, 1, 1};
    // 9 samples on 2 replicas of 5: the second repeats the last sample and masks it.
    std::vector<int> const valid{1, 1, 1, 1, 0};
    std::vector<int> padded_t(t.begin() + 5, t.end());
    std::vector<int> padded_p(p.begin() + 5, p.end());
    padded_t.push_back(t.back());
    padded_p.push_back(p.back());
    tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        testing::tracker<accuracy<>> tracker;
        if (comm.rank() == 0) {
            tracker.update(predictions(p.data(), 5), targets(t.data(), 5));
        } else {
            tracker.update(predictions(padded_p), targets(padded_t), mask(valid));
        }
        auto const result = tracker.combine(comm);
        CHECK(result.value() == near(5.0 / 9, 1e-12));
        CHECK(result.masked() == 1);
    });
}

TEST_CASE("accuracy: one sample; double, half and 8-bit inputs") {
    std::vector<double> const s{0.25, 0.5};
    std::vector<half_bits> const half{{0x3400}, {0x3800}};
    std::vector<std::uint8_t> const t{1};
    CHECK(value_of<accuracy<>>(scores(s, 2), targets(t)).value() == 1.0);
    CHECK(value_of<lowest<1>>(scores(half, 2), targets(t)).value() == 1.0);
    std::vector<double> const p{0.75};
    CHECK(value_of<binary_accuracy<threshold<>, labels::all, double>>(predictions(p), targets(t)).value() == 1.0);
}

TEST_CASE("accuracy: counters near 2^24 and 2^32") {
    for (std::uint64_t const n : {(std::uint64_t{1} << 24) + 1, (std::uint64_t{1} << 32) + 1}) {
        using metric = accuracy<>;
        metric::counters::state const s{tally::count{n - 1}, tally::count{n}, {}, {}};
        auto const value = metric::finalize(s).value();
        CHECK(value == static_cast<double>(n - 1) / static_cast<double>(n));
        CHECK(value < 1.0);
    }
}

TEST_CASE("accuracy: a collection keeps the counters of one source once") {
    using metrics = collection<named<"accuracy", accuracy<classes<3>>>, named<"loss", hamming_loss<classes<3>>>>;
    static_assert(std::is_same_v<counters_of<accuracy<classes<3>>>, counters_of<hamming_loss<classes<3>>>>);
    testing::tracker<metrics> tracker;
    std::vector<int> const p{0, 1, 2, 2};
    std::vector<int> const t{0, 1, 2, 1};
    tracker.update(predictions(p), targets(t));
    auto const result = tracker.finalize();
    CHECK(result["accuracy"_metric].value() == 0.75);
    CHECK(result["loss"_metric].value() == 0.25);
}
