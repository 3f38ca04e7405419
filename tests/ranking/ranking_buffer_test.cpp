// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
#include "support/counting_communicator.hpp"
#include "support/near.hpp"
#include "support/rank_reference.hpp"
#include "support/ranking_engine.hpp"
#include "support/ranking_reference.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/comm/self.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/inputs.hpp>
#include <tally/core/view.hpp>
#include <tally/ranking/ranked_labels.hpp>
#include <tally/ranking/ranked_pairs.hpp>
#include <tally/ranking/ranking_counts.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using tally::testing::near;
using tally::testing::ranked;

using labels = tally::ranked_labels<>;
using weighted_labels = tally::ranked_labels<float, tally::by_weight<float>>;
using pairs = tally::ranked_pairs<>;
template <class Samples>
using buffer_of = tally::testing::ranking_buffer<Samples>;

constexpr float nan_score = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double rounding = 1e-14;

/// Columns of the samples of the reference.
struct columns {
    std::vector<float> scores;
    std::vector<int> targets;
    std::vector<float> weights;

    explicit columns(std::vector<ranked> const& samples) {
        for (auto const& each : samples) {
            scores.push_back(static_cast<float>(each.score));
            targets.push_back(each.label);
            weights.push_back(static_cast<float>(each.weight));
        }
    }
};

auto labels_of(std::vector<float> const& scores, std::vector<int> const& targets) {
    buffer_of<labels> buffer{100};
    buffer.update(tally::predictions(scores), tally::targets(targets));
    return buffer.finalize();
}
auto labels_of(std::vector<float> const& scores, std::vector<int> const& targets, std::vector<float> const& weights) {
    buffer_of<weighted_labels> buffer{100};
    buffer.update(tally::predictions(scores), tally::targets(targets), tally::weights(weights));
    return buffer.finalize();
}
auto spearman_of(std::vector<float> const& predictions, std::vector<float> const& targets) {
    buffer_of<pairs> buffer{100};
    buffer.update(tally::predictions(predictions), tally::targets(targets));
    return buffer.finalize().spearman();
}

TEST_CASE("ranking_buffer: known answers of scikit-learn, torcheval and SciPy") {
    // scikit-learn, metrics/_ranking.py.
    CHECK(labels_of({.1F, .4F, .35F, .8F}, {0, 0, 1, 1}).auroc().value() == 0.75);
    CHECK(labels_of({.1F, .4F, .35F, .8F}, {0, 0, 1, 1}).average_precision().value() ==
          near(0.8333333333333333, 1e-15));
    CHECK(labels_of({.25F, .75F}, {1, 0}).auroc().value() == 0.0);
    // torcheval, functional/classification/auroc.py and auprc.py.
    CHECK(labels_of({.1F, .5F, .7F, .8F}, {1, 0, 1, 1}).auroc().value() == near(2.0 / 3.0, 1e-15));
    CHECK(labels_of({.1F, .5F, .7F, .8F}, {1, 0, 1, 1}).average_precision().value() == near(11.0 / 12.0, 1e-15));
    // SciPy's value, with ties (torchmetrics, issue 444).
    CHECK(spearman_of({1, 0, 4, 1, 0, 3, 0}, {4, 0, 3, 3, 3, 1, 1}).value() == near(0.3529411764705882, 1e-15));
}

TEST_CASE("ranking_buffer: weights count in every pair") {
    // By definition (2*1 + 1*1 + 1*3) / (3*4).
    auto const values = labels_of({.1F, .4F, .35F, .8F}, {0, 0, 1, 1}, {1, 3, 2, 1});
    CHECK(values.auroc().value() == 0.5);
    CHECK(values.average_precision().value() == near((1.0 * 1.0 + 2.0 * (3.0 / 6.0)) / 3.0, 1e-15));
}

TEST_CASE("ranking_buffer: only equal scores are tied, -0 and +0 among them") {
    using wide = tally::ranked_labels<double>;
    buffer_of<wide> buffer{10};
    buffer.update(tally::predictions(std::vector<double>{1e-10, 0, 0}), tally::targets(std::vector<int>{1, 0, 0}));
    CHECK(buffer.finalize().auroc().value() == 1.0);
    CHECK(labels_of({-0.0F, 0.0F}, {1, 0}).auroc().value() == 0.5);
    CHECK(labels_of({0.0F, -0.0F}, {1, 0}).auroc().value() == 0.5);
    CHECK(labels_of({3, 3, 3}, {1, 0, 1}).auroc().value() == 0.5);
    CHECK(spearman_of({-0.0F, 0.0F, 1}, {1, 1, 2}).value() == 1.0);
}

TEST_CASE("ranking_buffer: infinite scores have their place") {
    CHECK(labels_of({-infinity, infinity, 3e38F}, {0, 1, 0}).auroc().value() == 1.0);
    CHECK(labels_of({-infinity, infinity, infinity}, {0, 1, 0}).auroc().value() == 0.75);
    CHECK(spearman_of({-infinity, 0, infinity}, {1, 2, 3}).value() == 1.0);
}

TEST_CASE("ranking_buffer: a reason where there is no value") {
    auto const none = buffer_of<labels>{1}.finalize();
    CHECK(none.auroc().why() == tally::reason::no_samples);
    CHECK(none.average_precision().why() == tally::reason::no_samples);
    auto const one = labels_of({.5F}, {1});
    CHECK(one.auroc().why() == tally::reason::single_class);
    CHECK(one.average_precision().value() == 1.0);
    auto const positive = labels_of({1, .5F, .3F}, {1, 1, 1});
    CHECK(positive.auroc().why() == tally::reason::single_class);
    CHECK(std::isnan(positive.auroc().as_double()));
    CHECK(positive.average_precision().value() == 1.0);
    auto const negative = labels_of({1, .5F, .3F}, {0, 0, 0});
    CHECK(negative.auroc().why() == tally::reason::single_class);
    CHECK(negative.average_precision().why() == tally::reason::single_class);

    auto const weightless = labels_of({.1F, .2F, .3F}, {0, 1, 1}, {1, 0, -0.0F});
    CHECK(weightless.auroc().why() == tally::reason::zero_denominator);
    CHECK(weightless.average_precision().why() == tally::reason::zero_denominator);
    CHECK(labels_of({.1F, .2F}, {0, 1}, {0, 1}).average_precision().value() == 1.0);
    CHECK(labels_of({.1F, .2F}, {1, 1}, {0, 1}).auroc().why() == tally::reason::single_class);

    CHECK(buffer_of<pairs>{1}.finalize().spearman().why() == tally::reason::no_samples);
    CHECK(spearman_of({1}, {1}).why() == tally::reason::too_few_samples);
    CHECK(spearman_of({1, 1, 1}, {1, 2, 3}).why() == tally::reason::no_variance);
    CHECK(spearman_of({1, 2, 3}, {5, 5, 5}).why() == tally::reason::no_variance);
}

TEST_CASE("ranking_buffer: NaN, labels that are none, masks and weights are counted") {
    buffer_of<weighted_labels> buffer{10};
    buffer.update(tally::predictions(std::vector<float>{.1F, .4F, nan_score, .35F, .8F, .5F, .5F, .5F, .5F}),
                  tally::targets(std::vector<int>{0, 0, 1, 1, 1, 2, -1, 1, 0}),
                  tally::weights(std::vector<float>{1, 3, 1, 2, 1, 1, 1, nan_score, infinity}));
    buffer.update(tally::predictions(std::vector<float>{.5F, .5F, nan_score}),
                  tally::targets(std::vector<int>{0, 1, 1}), tally::weights(std::vector<float>{-1, 1, nan_score}),
                  tally::mask(std::vector<int>{1, 0, 0}));
    CHECK(buffer.counts() == tally::ranking_counts{4, 2, 2, 4, 0});
    auto const values = buffer.finalize();
    CHECK(values.auroc().value() == 0.5);
    CHECK(values.auroc().dropped() == 4);
    CHECK(values.average_precision().dropped() == 4);
    CHECK(values.counts() == buffer.counts());
}

TEST_CASE("ranking_buffer: NaN in pairs is left out and counted, or propagates") {
    std::vector<float> const p{1, 2, nan_score, 3, 4};
    std::vector<float> const t{2, 4, 1, nan_score, 8};
    CHECK(spearman_of(p, t).value() == 1.0);
    CHECK(spearman_of(p, t).dropped() == 2);
    buffer_of<tally::ranked_pairs<float, tally::nan::propagate>> buffer{10};
    buffer.update(tally::predictions(std::vector<float>{1, 2}), tally::targets(std::vector<float>{2, 4}));
    CHECK(buffer.finalize().spearman().value() == 1.0);
    buffer.update(tally::predictions(p), tally::targets(t));
    CHECK(buffer.finalize().spearman().has_value());
    CHECK(std::isnan(buffer.finalize().spearman().value()));
    CHECK(buffer.finalize().spearman().dropped() == 0);
}

TEST_CASE("ranking_buffer: the first samples are kept, those beyond the capacity are counted with the value") {
    buffer_of<labels> buffer{4};
    buffer.update(tally::predictions(std::vector<float>{.1F, nan_score, .4F, .35F}),
                  tally::targets(std::vector<int>{0, 0, 0, 1}));
    CHECK(buffer.finalize().auroc().overflow() == 0);
    buffer.update(tally::predictions(std::vector<float>{.8F, .9F, .95F, nan_score}),
                  tally::targets(std::vector<int>{1, 0, 0, 1}));
    CHECK(buffer.counts() == tally::ranking_counts{4, 0, 0, 2, 2});
    auto const area = buffer.finalize().auroc();
    CHECK(area.value() == 0.75);
    CHECK(area.overflow() == 2);
    CHECK(area.dropped() == 4); // also where somebody looks at a result<double> only
    tally::result<double> const plain = area;
    CHECK(plain.dropped() == 4);
    buffer.reset();
    CHECK(buffer.counts() == tally::ranking_counts{});
    CHECK(buffer.finalize().auroc().why() == tally::reason::no_samples);
}

TEST_CASE("ranking_buffer: any number of samples, against all pairs and all thresholds") {
    for (std::size_t const n : {17U, 511U, 512U, 513U, 1500U}) {
        CAPTURE(n);
        auto samples = tally::testing::overlapping_scores(n, 7);
        columns const c{samples};
        buffer_of<weighted_labels> weighted{n};
        weighted.update(tally::predictions(c.scores), tally::targets(c.targets), tally::weights(c.weights));
        auto const by_weight = weighted.finalize();
        CHECK(by_weight.auroc().value() == near(tally::testing::exact_auroc(samples), rounding));
        CHECK(by_weight.average_precision().value() == near(tally::testing::exact_average_precision(samples), 1e-13));
        buffer_of<labels> counted{n};
        counted.update(tally::predictions(c.scores), tally::targets(c.targets));
        for (auto& each : samples) {
            each.weight = 1;
        }
        CHECK(counted.finalize().auroc().value() == near(tally::testing::exact_auroc(samples), 1e-15));
        CHECK(counted.finalize().average_precision().value() ==
              near(tally::testing::exact_average_precision(samples), 1e-13));
    }
}

TEST_CASE("ranking_buffer: weights that are all 1 give what counting gives, and so do equal ones of any size") {
    columns c{tally::testing::overlapping_scores(700, 3)};
    buffer_of<labels> counted{700};
    counted.update(tally::predictions(c.scores), tally::targets(c.targets));
    auto const expected = counted.finalize();
    for (float const scale : {1.0F, 0x1p-149F, 0x1p-140F, 0x1p127F}) {
        CAPTURE(scale);
        buffer_of<weighted_labels> weighted{700};
        weighted.update(tally::predictions(c.scores), tally::targets(c.targets),
                        tally::weights(std::vector<float>(700, scale)));
        CHECK(weighted.finalize().auroc().value() == near(expected.auroc().value(), rounding));
        CHECK(weighted.finalize().average_precision().value() == near(expected.average_precision().value(), rounding));
    }
}

TEST_CASE("ranking_buffer: classes whose weights are of different size") {
    auto samples = tally::testing::overlapping_scores(700, 3);
    for (auto const& of_class :
         {std::pair{1.0, 0x1p-7}, std::pair{0x1p-9, 1.0}, std::pair{0x1p-30, 1.0}, std::pair{0x1p100, 0x1p-140}}) {
        CAPTURE(of_class.first);
        for (auto& each : samples) {
            each.weight = each.label == 1 ? of_class.first : of_class.second;
        }
        columns const c{samples};
        buffer_of<weighted_labels> buffer{700};
        buffer.update(tally::predictions(c.scores), tally::targets(c.targets), tally::weights(c.weights));
        CHECK(buffer.finalize().auroc().value() == near(tally::testing::exact_auroc(samples), rounding));
        CHECK(buffer.finalize().average_precision().value() ==
              near(tally::testing::exact_average_precision(samples), 1e-13));
    }
    // The exact precision is 1.7e-72 here: the bound on the error of a weighted value is absolute.
    for (auto& each : samples) {
        each.weight = each.label == 1 ? 0x1p-140 : 0x1p100;
    }
    columns const c{samples};
    buffer_of<weighted_labels> buffer{700};
    buffer.update(tally::predictions(c.scores), tally::targets(c.targets), tally::weights(c.weights));
    CHECK(buffer.finalize().auroc().value() == near(tally::testing::exact_auroc(samples), rounding));
    CHECK(buffer.finalize().average_precision().value() <= 0x1p-63);
}

TEST_CASE("ranking_buffer: Spearman against ranks by counting") {
    for (std::size_t const n : {2U, 3U, 50U, 600U}) {
        CAPTURE(n);
        auto const data = tally::testing::noisy_pairs(n, 11);
        buffer_of<pairs> buffer{n};
        buffer.update(tally::predictions(data.predictions), tally::targets(data.targets));
        CHECK(buffer.finalize().spearman().value() ==
              near(tally::testing::exact_spearman(data.predictions, data.targets), 1e-12));
    }
    CHECK(spearman_of({1, 2, 3, 4}, {10, 100, 1000, 10000}).value() == 1.0);
    CHECK(spearman_of({1, 2, 3, 4}, {9, 7, 5, -3}).value() == -1.0);
}

TEST_CASE("ranking_buffer: partition law, the same bits for any replicas and order") {
    constexpr std::size_t n = 900;
    columns const c{tally::testing::overlapping_scores(n, 5)};
    auto const data = tally::testing::noisy_pairs(n, 5);
    // Weights of many digits, so that their sums would depend on the order if they were rounded.
    std::vector<float> weights;
    for (std::size_t i = 0; i < n; ++i) {
        weights.push_back(1.0F / static_cast<float>(3 + i));
    }
    buffer_of<labels> counted{n};
    counted.update(tally::predictions(c.scores), tally::targets(c.targets));
    buffer_of<weighted_labels> weighted{n};
    weighted.update(tally::predictions(c.scores), tally::targets(c.targets), tally::weights(weights));
    buffer_of<pairs> both{n};
    both.update(tally::predictions(data.predictions), tally::targets(data.targets));
    auto const expected = counted.finalize();
    auto const expected_weighted = weighted.finalize();
    auto const expected_pairs = both.finalize();

    for (int const replicas : {1, 2, 3, 8}) {
        CAPTURE(replicas);
        tally::replicas{replicas}.run([&](tally::thread_communicator& comm) {
            buffer_of<labels> my_labels{n};
            buffer_of<weighted_labels> my_weighted{n};
            buffer_of<pairs> my_pairs{n};
            // Replica 1 has nothing. Samples backwards, and with a stride.
            auto const with_data = replicas == 1 ? 1 : replicas - 1;
            auto const me = comm.rank() == 0 ? 0 : comm.rank() - 1;
            for (std::size_t i = n; i-- > 0 && !(comm.rank() == 1 && replicas > 1);) {
                if (static_cast<int>(i % static_cast<std::size_t>(with_data)) == me) {
                    my_labels.update(tally::predictions(&c.scores[i], 1), tally::targets(&c.targets[i], 1));
                    my_weighted.update(tally::predictions(&c.scores[i], 1), tally::targets(&c.targets[i], 1),
                                       tally::weights(&weights[i], 1));
                    my_pairs.update(tally::predictions(&data.predictions[i], 1), tally::targets(&data.targets[i], 1));
                }
            }
            auto const all = my_labels.combine(comm);
            auto const all_weighted = my_weighted.combine(comm);
            auto const all_pairs = my_pairs.combine(comm);
            CHECK(all.counts() == expected.counts());
            CHECK(all.auroc().value() == expected.auroc().value());
            CHECK(all.average_precision().value() == expected.average_precision().value());
            CHECK(all_weighted.auroc().value() == expected_weighted.auroc().value());
            CHECK(all_weighted.average_precision().value() == expected_weighted.average_precision().value());
            CHECK(all_pairs.spearman().value() == expected_pairs.spearman().value());
            CHECK(my_labels.combine(comm).auroc().value() == all.auroc().value());

            auto const to_root = my_labels.combine_to(comm, replicas - 1);
            CHECK(to_root.has_value() == (comm.rank() == replicas - 1));
            if (to_root) {
                CHECK(to_root->average_precision().value() == all.average_precision().value());
            }
        });
    }
}

TEST_CASE("ranking_buffer: replicas with one class, without samples and with overflow") {
    std::vector<float> const scores[]{{.1F, .4F}, {.35F, .8F}};
    std::vector<int> const targets[]{{0, 0}, {1, 1}};
    tally::replicas{2}.run([&](tally::thread_communicator& comm) {
        buffer_of<labels> buffer{2};
        buffer.update(tally::predictions(scores[comm.rank()]), tally::targets(targets[comm.rank()]));
        CHECK(buffer.finalize().auroc().why() == tally::reason::single_class);
        CHECK(buffer.combine(comm).auroc().value() == 0.75);
        if (comm.rank() == 1) {
            buffer.update(tally::predictions(std::vector<float>{.5F}), tally::targets(std::vector<int>{1}));
        }
        auto const full = buffer.combine(comm).auroc();
        CHECK(full.value() == 0.75);
        CHECK(full.overflow() == 1);
    });
    tally::replicas{2}.run([](tally::thread_communicator& comm) {
        buffer_of<labels> buffer{2};
        CHECK(buffer.combine(comm).auroc().why() == tally::reason::no_samples);
        if (comm.rank() == 1) {
            buffer.update(tally::predictions(std::vector<float>{.2F, .9F}), tally::targets(std::vector<int>{0, 1}));
        }
        CHECK(buffer.combine(comm).auroc().value() == 1.0);
    });
}

TEST_CASE("ranking_buffer: two collectives, whatever the samples; the local samples stay") {
    tally::self_communicator self;
    tally::testing::counting_communicator comm{self};
    buffer_of<labels> buffer{10};
    for (int updates = 0; updates < 3; ++updates) {
        comm.forget();
        (void)buffer.combine(comm);
        CHECK(comm.counted().total().calls == 2);
        CHECK(comm.counted().all_gather.calls == 2);
        CHECK(buffer.counts().samples == static_cast<std::uint64_t>(2 * updates));
        buffer.update(tally::predictions(std::vector<float>{.2F, .9F}), tally::targets(std::vector<int>{0, 1}));
    }
}

TEST_CASE("ranking_buffer: replicas that rank different things all hear of it") {
    tally::replicas{2}.run([](tally::thread_communicator& comm) {
        buffer_of<labels> mine{10};
        buffer_of<weighted_labels> other{10};
        std::string text;
        try {
            if (comm.rank() == 0) {
                (void)mine.combine(comm);
            } else {
                (void)other.combine(comm);
            }
        } catch (tally::layout_mismatch const& mismatch) {
            text = mismatch.what();
        }
        CHECK(text == "replicas 0 and 1 combine different rankings: ranked_labels with 5 bytes a sample and "
                      "ranked_labels with 8 bytes a sample (or with other types or policies)");
    });
}

TEST_CASE("ranking_buffer: element types known at run time") {
    std::vector<double> const scores{.1, .4, .35, .8};
    std::vector<std::int64_t> const targets{0, 0, 1, 1};
    tally::dynamic_view<1> const s{scores.data(), {2, 64}, {4}, {1}};
    tally::dynamic_view<1> const t{targets.data(), {0, 64}, {4}, {1}};
    buffer_of<tally::ranked_labels<double>> buffer{10};
    buffer.update(tally::predictions(s), tally::targets(t));
    CHECK(buffer.finalize().auroc().value() == 0.75);
    buffer_of<labels> narrow{10}; // double scores lose digits in float
    CHECK_THROWS_AS(narrow.update(tally::predictions(s), tally::targets(t)), tally::shape_error);
    CHECK(narrow.counts() == tally::ranking_counts{});
}

#if !defined(TALLY_TEST_DEVICE_ENGINE)
TEST_CASE("ranking_buffer: the host refuses tensors that lie on a device") {
    std::vector<float> const scores{.1F, .4F};
    tally::dynamic_view<1> s{scores.data(), {2, 32}, {2}, {1}};
    s.device_type = 2;
    buffer_of<labels> buffer{10};
    CHECK_THROWS_AS(buffer.update(tally::predictions(s), tally::targets(std::vector<int>{0, 1})), tally::shape_error);
    CHECK(buffer.counts() == tally::ranking_counts{});
}
#endif

TEST_CASE("ranking_buffer: what can't work is refused, with the buffer as it was") {
    CHECK_THROWS_AS(buffer_of<labels>{0}, tally::configuration_error);
    CHECK_THROWS_AS(buffer_of<labels>{std::size_t{1} << 31}, tally::configuration_error);
    buffer_of<labels> buffer{10};
    CHECK_THROWS_AS(buffer.update(tally::predictions(std::vector<float>{1, 2}), tally::targets(std::vector<int>{1})),
                    tally::shape_error);
    CHECK(buffer.counts() == tally::ranking_counts{});
    buffer.update(tally::predictions(std::vector<float>{}), tally::targets(std::vector<int>{}));
    CHECK(buffer.counts() == tally::ranking_counts{});
    tally::self_communicator self;
    CHECK_THROWS_AS((void)buffer.combine_to(self, 1), tally::configuration_error);
    static_assert(!std::is_copy_constructible_v<buffer_of<labels>>);
}

} // namespace
