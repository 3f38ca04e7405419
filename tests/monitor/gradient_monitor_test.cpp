// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradient monitors on the host over replicas: what they find against integers, for each distribution and any number of
// replicas. Where nothing else is said gradients are multiples of 2^-12 below 1: sums of them need few integers.

#include <tally/monitor/gradient_monitor.hpp>

#include "support/counting_communicator.hpp"
#include "support/gradient_reference.hpp"
#include "support/near.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/comm/self.hpp>
#include <tally/comm/thread.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tally;
using gradient = std::vector<float>;

/// A gradient of n elements; about an eighth zeros, and `bad` adds NaN and infinities.
gradient make_gradient(std::size_t n, unsigned seed, bool bad = false) {
    std::mt19937 random{seed};
    gradient g(n);
    for (auto& x : g) {
        auto const kind = random() % 8;
        x = kind == 0 ? 0.0F : static_cast<float>(static_cast<int>(random() % 8191) - 4095) * 0x1p-12F;
        if (bad && random() % 50 == 0) {
            x = kind % 3 == 0 ? NAN : kind % 3 == 1 ? INFINITY : -INFINITY;
        }
    }
    return g;
}

/// Sums in integers, counts, and a sorted list of magnitudes: nothing of the library.
struct reference {
    std::int64_t sum = 0;        // in units of 2^-12
    std::int64_t magnitudes = 0; // in units of 2^-12
    std::int64_t squares = 0;    // in units of 2^-24
    std::uint64_t elements = 0, finite = 0, zeros = 0, nans = 0, positive = 0, negative = 0;
    double largest = -1.0;

    void take(std::span<float const> g) {
        for (auto const x : g) {
            ++elements;
            nans += std::isnan(x) ? 1U : 0U;
            positive += x == INFINITY ? 1U : 0U;
            negative += x == -INFINITY ? 1U : 0U;
            if (std::isfinite(x)) {
                auto const k = static_cast<std::int64_t>(std::ldexp(x, 12));
                ++finite;
                zeros += k == 0 ? 1U : 0U;
                sum += k;
                magnitudes += std::abs(k);
                squares += k * k;
                largest = std::max(largest, std::abs(static_cast<double>(x)));
            }
        }
    }
};

template <class Bins>
void check_layer(layer_report<Bins> const& layer, reference const& expected, double gradients) {
    CAPTURE(layer.name);
    auto const n = static_cast<double>(expected.finite);
    CHECK(layer.mean.value() == std::ldexp(static_cast<double>(expected.sum), -12) / n);
    CHECK(layer.mean_magnitude.value() == std::ldexp(static_cast<double>(expected.magnitudes), -12) / n);
    CHECK(layer.sum_of_squares == std::ldexp(static_cast<double>(expected.squares), -24));
    CHECK(layer.norm.value() == tally::testing::near(std::sqrt(layer.sum_of_squares / gradients), 1e-15));
    CHECK(layer.largest.value() == static_cast<float>(expected.largest));
    CHECK(layer.zero_share.value() == static_cast<double>(expected.zeros) / static_cast<double>(expected.elements));
    CHECK(layer.gradients == gradients);
    CHECK(layer.mean.dropped() == expected.elements - expected.finite);
    CHECK(layer.histogram.total() == expected.elements);
    CHECK(layer.histogram.finite() == expected.finite);
    CHECK(layer.histogram.zeros() == expected.zeros);
    CHECK(layer.histogram.nans() == expected.nans);
    CHECK(layer.histogram.positive_infinities() == expected.positive);
    CHECK(layer.histogram.negative_infinities() == expected.negative);
}

template <class Bins>
void check_same(gradient_report<Bins> const& a, gradient_report<Bins> const& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].histogram == b[i].histogram);
        CHECK(a[i].sum_of_squares == b[i].sum_of_squares);
        CHECK(a[i].gradients == b[i].gradients);
        CHECK(a[i].mean.why() == b[i].mean.why());
        for (auto const member : {&layer_report<Bins>::mean, &layer_report<Bins>::mean_magnitude,
                                  &layer_report<Bins>::root_mean_square, &layer_report<Bins>::zero_share}) {
            CHECK((a[i].*member).value_or(-7) == (b[i].*member).value_or(-7));
        }
        CHECK(a[i].norm.value_or(-7) == b[i].norm.value_or(-7));
        CHECK(a[i].largest.value_or(-7) == b[i].largest.value_or(-7));
    }
    CHECK(a.global_norm().value_or(-7) == b.global_norm().value_or(-7));
}

constexpr std::size_t small_size = 37;
constexpr std::size_t large_size = 5000;

layer_registry two_layers() {
    layer_registry layers;
    layers.add("small", small_size);
    layers.add("large", large_size);
    return layers;
}

gradient small_of(unsigned seed) { return make_gradient(small_size, seed, true); }
gradient large_of(unsigned seed) { return make_gradient(large_size, 1000 + seed, true); }

// ---- the three distributions --------------------------------------------------------------------------------------

TEST_CASE("gradient_monitor: partitioned gradients all count, the same for any number of replicas") {
    constexpr unsigned steps = 3;
    constexpr unsigned batches = 24; // of a step, over all replicas
    reference small;
    reference large;
    for (unsigned k = 0; k < steps * batches; ++k) {
        small.take(small_of(k));
        large.take(large_of(k));
    }
    for (int const replica_count : {1, 2, 3, 8}) {
        CAPTURE(replica_count);
        replicas{replica_count}.run([&](thread_communicator& comm) {
            host::gradient_monitor<partitioned> monitor{two_layers()};
            for (unsigned step = 0; step < steps; ++step) {
                CHECK(monitor.begin_step());
                for (auto b = static_cast<unsigned>(comm.rank()); b < batches;
                     b += static_cast<unsigned>(comm.size())) {
                    auto const s = small_of(step * batches + b);
                    auto const l = large_of(step * batches + b);
                    monitor.observe({s, l});
                }
                monitor.end_step();
            }
            auto const report = monitor.combine(comm);
            CHECK(report.replicas() == replica_count);
            check_layer(report["small"], small, steps * batches);
            check_layer(report["large"], large, steps * batches);
            check_same(report, monitor.combine(comm)); // combining changes nothing
            CHECK(report.steps().steps == steps);
            CHECK(report.steps().observed == steps);
            CHECK(report.global_norm().value() == std::sqrt(report[0].norm.value() * report[0].norm.value() +
                                                            report[1].norm.value() * report[1].norm.value()));
        });
    }
}

TEST_CASE("gradient_monitor: replicated gradients count once") {
    reference small;
    reference large;
    for (unsigned step = 0; step < 4; ++step) {
        small.take(small_of(step));
        large.take(large_of(step));
    }
    for (int const replica_count : {1, 2, 3, 8}) {
        CAPTURE(replica_count);
        replicas{replica_count}.run([&](thread_communicator& comm) {
            host::gradient_monitor<replicated> monitor{two_layers()};
            for (unsigned step = 0; step < 4; ++step) {
                monitor.begin_step();
                auto const s = small_of(step);
                auto const l = large_of(step);
                monitor.observe({s, l});
                monitor.end_step();
            }
            auto const report = monitor.combine(comm);
            check_layer(report["small"], small, 4);
            check_layer(report["large"], large, 4);
        });
    }
}

TEST_CASE("gradient_monitor: the parts of a sharded gradient add up, its norm is the root of the summed squares") {
    reference small;
    reference large;
    small.take(small_of(1));
    large.take(large_of(1));
    for (int const replica_count : {1, 2, 3, 8}) {
        CAPTURE(replica_count);
        replicas{replica_count}.run([&](thread_communicator& comm) {
            host::gradient_monitor<sharded> monitor{two_layers()};
            auto const s = small_of(1);
            auto const l = large_of(1);
            // Uneven parts; the small layer lives on the last replica only.
            auto const r = static_cast<std::size_t>(comm.rank());
            auto const count = static_cast<std::size_t>(comm.size());
            auto const cut = [&](std::size_t k) { return k * k * l.size() / (count * count); };
            monitor.begin_step();
            monitor.observe(0, r + 1 == count ? gradient_view(s) : gradient_view{});
            monitor.observe(1, gradient_view(l.data() + cut(r), cut(r + 1) - cut(r)));
            monitor.end_step();
            auto const report = monitor.combine(comm);
            check_layer(report["small"], small, 1);
            check_layer(report["large"], large, 1);
            CHECK(report["large"].norm.value() == std::sqrt(std::ldexp(static_cast<double>(large.squares), -24)));
        });
    }
}

/// Any floats, each batch its own kind.
std::vector<gradient> any_batches(std::size_t n) {
    std::vector<gradient> batches;
    for (unsigned seed = 0; seed < 2; ++seed) {
        for (auto& [name, x] : tally::testing::hard_gradients(n, 100 + seed)) {
            batches.push_back(std::move(x));
        }
    }
    return batches;
}

template <class Bins>
void check_exact(layer_report<Bins> const& layer, tally::testing::gradient_reference const& expected,
                 double gradients) {
    auto const n = static_cast<double>(expected.finite);
    CHECK(layer.mean.value() == expected.value_sum() / n);
    CHECK(layer.mean_magnitude.value() == expected.magnitude_sum() / n);
    CHECK(layer.sum_of_squares == expected.square_sum());
    CHECK(layer.root_mean_square.value() == std::sqrt(expected.square_sum() / n));
    CHECK(layer.norm.value() == std::sqrt(expected.square_sum() / gradients));
    CHECK(layer.largest.value() == static_cast<float>(expected.largest));
    CHECK(layer.gradients == gradients);
    CHECK(layer.mean.dropped() == expected.elements - expected.finite);
    CHECK(layer.histogram.nans() == expected.nans);
    CHECK(layer.histogram.positive_infinities() == expected.positive);
    CHECK(layer.histogram.negative_infinities() == expected.negative);
    CHECK(layer.zero_share.value() == static_cast<double>(expected.zeros) / static_cast<double>(expected.elements));
}

TEST_CASE_TEMPLATE("gradient_monitor: any floats: the exact sums rounded once, the same for any number of replicas", D,
                   partitioned, replicated, sharded) {
    constexpr std::size_t size = 2003;
    auto const batches = any_batches(size);
    tally::testing::gradient_reference expected;
    for (auto const& each : batches) {
        expected.take(each);
    }
    auto const updates = tally::testing::hard_gradients(size, 7)[3].second; // many octaves
    tally::testing::gradient_reference of_updates;
    of_updates.take(updates);
    layer_registry layers;
    layers.add("layer", size);
    std::vector<gradient_report<gradient_bins>> reports;
    for (int const replica_count : {1, 2, 3, 8}) {
        CAPTURE(replica_count);
        auto const all = replicas{replica_count}.run([&](thread_communicator& comm) {
            auto const r = static_cast<std::size_t>(comm.rank());
            auto const count = static_cast<std::size_t>(comm.size());
            auto const first = size * r * r / (count * count); // parts of different sizes, the first may be empty
            auto const last = size * (r + 1) * (r + 1) / (count * count);
            host::gradient_monitor<D> monitor{layers};
            for (std::size_t b = 0; b < batches.size(); ++b) {
                monitor.begin_step();
                if (std::same_as<D, sharded>) {
                    monitor.observe(0, gradient_view(batches[b].data() + first, last - first));
                } else if (std::same_as<D, replicated> || b % count == r) {
                    monitor.observe(0, gradient_view(batches[b]));
                }
                if (b == 0) {
                    bool const here = !std::same_as<D, partitioned> || r == 0;
                    auto const from = std::same_as<D, sharded> ? first : 0;
                    auto const n = !here ? 0 : std::same_as<D, sharded> ? last - first : size;
                    gradient_view const part(updates.data() + from, n);
                    monitor.observe_update(0, here ? part : gradient_view{}, here ? part : gradient_view{});
                }
                monitor.end_step();
            }
            return monitor.combine(comm);
        });
        for (auto const& report : all) {
            reports.push_back(report);
            check_same(report, reports[0]);
            check_exact(report[0], expected, static_cast<double>(batches.size()));
            CHECK(report[0].update_to_weight.value() == 1.0);
        }
    }
    CHECK(of_updates.square_sum() > 0.0);
}

// ---- layers that are not everywhere, replicas that differ --------------------------------------------------------

TEST_CASE("gradient_monitor: layers that live on some replicas only send identities in the same slot") {
    layer_registry layers;
    layers.add("A", 2);
    layers.add("B", 4);
    replicas{4}.run([&](thread_communicator& comm) {
        // Squared norms: A is 9 on replica 0 and 16 on replica 1, B is 1 and 3 on replicas 2 and 3.
        gradient const parts[] = {{3}, {4}, {1, 0}, {1, std::sqrt(2.0F)}};
        auto const rank = static_cast<std::size_t>(comm.rank());
        host::gradient_monitor<sharded> monitor{layers};
        monitor.begin_step();
        monitor.observe(rank / 2, parts[rank]);
        monitor.end_step();
        auto const report = monitor.combine(comm);
        CHECK(report["A"].norm.value() == 5.0);
        CHECK(report["B"].norm.value() == tally::testing::near(2.0, 1e-7));

        // Replicated on two of the four replicas (pipeline stages): counted once, absent ones are not asked.
        host::gradient_monitor<replicated> stages{layers};
        gradient const a{3, 4};
        gradient const b{1, 1, 1, 1};
        stages.begin_step();
        rank < 2 ? stages.observe({a, gradient_view{}}) : stages.observe({gradient_view{}, b});
        stages.end_step();
        auto const both = stages.combine(comm);
        CHECK(both["A"].norm.value() == 5.0);
        CHECK(both["B"].norm.value() == 2.0);
        CHECK(both["B"].gradients == 1.0);
    });
}

TEST_CASE("gradient_monitor: replicated gradients that differ are reported, not mixed") {
    replicas{3}.run([&](thread_communicator& comm) {
        host::gradient_monitor<replicated> monitor{two_layers()};
        auto const s = small_of(1);
        auto l = large_of(1);
        l[7] = comm.rank() == 2 ? 5.0F : l[7];
        monitor.begin_step();
        monitor.observe({s, l});
        monitor.end_step();
        auto const report = monitor.combine(comm);
        CHECK(report["small"].mean.has_value());
        CHECK(report["large"].mean.why() == reason::replicas_differ);
        CHECK(report["large"].norm.why() == reason::replicas_differ);
        CHECK(report["large"].largest.why() == reason::replicas_differ);
        CHECK(report.global_norm().why() == reason::replicas_differ);
    });
}

TEST_CASE("gradient_monitor: replicas that watch other layers or another distribution all throw, naming the layer") {
    auto const message_of = [](auto make) {
        return replicas{3}.run([&](thread_communicator& comm) {
            auto monitor = make(comm.rank());
            std::string text = "nothing was thrown";
            try {
                (void)monitor.combine(comm);
            } catch (layout_mismatch const& mismatch) {
                text = mismatch.what();
            }
            return text;
        });
    };
    auto const texts = message_of([](int rank) {
        layer_registry layers;
        layers.add("first", 3);
        layers.add(rank == 2 ? "bias" : "kernel", rank == 1 ? 5U : 4U);
        return host::gradient_monitor<partitioned>{layers};
    });
    CHECK(texts[0].find("layer 1 is \"kernel\" (4 x float32) on replica 0 and \"kernel\" (5 x float32) on replica 1") !=
          std::string::npos);
    CHECK(texts[1] == texts[0]);
    CHECK(texts[2] == texts[0]);
    auto const numbers = message_of([](int rank) {
        layer_registry layers;
        layers.add("first", 3);
        if (rank == 0) {
            layers.add("second", 3);
        }
        return host::gradient_monitor<partitioned>{layers};
    });
    CHECK(numbers[0].find("different layouts") != std::string::npos);
    CHECK(numbers[2] == numbers[0]);

    auto const kinds = replicas{2}.run([](thread_communicator& comm) {
        host::gradient_monitor<partitioned> own{two_layers()};
        host::gradient_monitor<sharded> part{two_layers()};
        try {
            (void)(comm.rank() == 0 ? own.combine(comm) : part.combine(comm));
        } catch (layout_mismatch const&) {
            return true;
        }
        return false;
    });
    CHECK(kinds == std::vector<bool>{true, true});

    auto const windows = replicas{2}.run([](thread_communicator& comm) {
        host::gradient_monitor<partitioned> monitor{two_layers()};
        try {
            (void)(comm.rank() == 0 ? monitor.combine(comm) : monitor.combine_last_step(comm));
        } catch (layout_mismatch const&) {
            return true;
        }
        return false;
    });
    CHECK(windows == std::vector<bool>{true, true});
}

TEST_CASE("gradient_monitor: a combine is at most three collectives, whatever the number of layers") {
    for (std::size_t const n : {1U, 40U}) {
        layer_registry layers;
        for (std::size_t i = 0; i < n; ++i) {
            layers.add("layer" + std::to_string(i), 10);
        }
        self_communicator self;
        tally::testing::counting_communicator counted{self};
        auto const collectives = [&](auto const& monitor) {
            (void)monitor.combine(counted); // the first one compares the layout
            counted.forget();
            (void)monitor.combine(counted);
            return counted.counted().total().calls;
        };
        CHECK(collectives(host::gradient_monitor<partitioned>{layers}) <= 3);
        CHECK(collectives(host::gradient_monitor<sharded>{layers}) <= 3);
        CHECK(collectives(host::gradient_monitor<replicated>{layers}) == 2); // no gather: sums and maxima
        CHECK(counted.counted().groups == 1);
    }
}

// ---- steps and epochs -------------------------------------------------------------------------------------------

using monitor_type = host::gradient_monitor<partitioned>;

layer_registry one_layer(std::size_t size = 2) {
    layer_registry layers;
    layers.add("layer", size);
    return layers;
}

void step(monitor_type& monitor, gradient const& g, step_options options = {}, step_outcome outcome = {}) {
    monitor.begin_step(options);
    monitor.observe({g});
    monitor.end_step(outcome);
}

TEST_CASE("gradient_monitor: the epoch and its last step are both there, and a new epoch starts from nothing") {
    self_communicator self;
    monitor_type monitor{one_layer()};
    CHECK(monitor.combine(self)[0].mean.why() == reason::no_samples);
    CHECK(monitor.combine(self).global_norm().why() == reason::no_samples);
    step(monitor, {1, 3});
    step(monitor, {0, -8});
    CHECK(monitor.combine(self)[0].mean.value() == -1.0);
    CHECK(monitor.combine(self)[0].norm.value() == std::sqrt((10.0 + 64.0) / 2));
    CHECK(monitor.combine_last_step(self)[0].mean.value() == -4.0);
    CHECK(monitor.combine_last_step(self)[0].norm.value() == 8.0);
    CHECK(monitor.combine_last_step(self).steps().steps == 1);
    CHECK(monitor.end_epoch(self)[0].gradients == 2.0);
    CHECK(monitor.combine(self)[0].mean.why() == reason::no_samples);
    CHECK(monitor.combine_last_step(self)[0].mean.why() == reason::no_samples);
    CHECK(monitor.combine(self).steps().steps == 0);
    step(monitor, {2, 2});
    CHECK(monitor.local()[0].mean.value() == 2.0);
}

TEST_CASE("gradient_monitor: a skipped step is counted and enters no mean, also after it was observed") {
    self_communicator self;
    monitor_type monitor{one_layer()};
    step(monitor, {1, 3}, {.loss_scale = 4}, {.clipped = true});
    monitor.begin_step({.loss_scale = 8});
    monitor.observe({gradient{NAN, INFINITY}});
    monitor.skip_step();
    auto const report = monitor.combine(self);
    CHECK(report[0].mean.value() == 0.5);
    CHECK(report[0].histogram.nans() == 0);
    CHECK(report.steps().steps == 2);
    CHECK(report.steps().observed == 1);
    CHECK(report.steps().skipped == 1);
    CHECK(report.steps().clipped == 1);
    CHECK(report.steps().smallest_loss_scale.value() == 4.0F);
    CHECK(report.steps().largest_loss_scale.value() == 8.0F);
    CHECK(monitor.combine_last_step(self)[0].mean.why() == reason::no_samples); // the newest step has no gradient
    step(monitor, {5, 5});
    CHECK(monitor.combine_last_step(self)[0].mean.value() == 5.0);
    CHECK(monitor.combine(self)[0].mean.value() == (1 / 4.0 + 3 / 4.0 + 10) / 4);
}

TEST_CASE("gradient_monitor: steps are counted once over replicas, though each of them counts") {
    replicas{3}.run([](thread_communicator& comm) {
        monitor_type monitor{one_layer()};
        step(monitor, {1, 3}, {}, {.clipped = true});
        step(monitor, {1, 3});
        monitor.begin_step();
        monitor.skip_step();
        auto const steps = monitor.combine(comm).steps();
        CHECK(steps.steps == 3);
        CHECK(steps.observed == 2);
        CHECK(steps.clipped == 1);
        CHECK(steps.skipped == 1);
    });
}

TEST_CASE("gradient_monitor: the loss scale is taken out before anything else, in 16 bits as well") {
    layer_registry layers;
    layers.add("half", 3, gradient_type::float16);
    layers.add("bfloat16", 2, gradient_type::bfloat16);
    monitor_type monitor{layers};
    std::vector<half_bits> const h{narrow_to<half_bits>(2048.0F), narrow_to<half_bits>(-1024.0F), half_bits{0x7c00}};
    std::vector<bfloat16_bits> const b{narrow_to<bfloat16_bits>(0.0F), narrow_to<bfloat16_bits>(512.0F)};
    monitor.begin_step({.loss_scale = 1024});
    monitor.observe({h, b});
    monitor.end_step();
    auto const report = monitor.local();
    CHECK(report["half"].mean.value() == 0.5);
    CHECK(report["half"].largest.value() == 2.0F);
    CHECK(report["half"].histogram.positive_infinities() == 1);
    CHECK(report["bfloat16"].mean.value() == 0.25);
    CHECK(report["bfloat16"].norm.value() == 0.5);
}

TEST_CASE("gradient_monitor: every n-th step is observed, and any step that is asked for") {
    self_communicator self;
    monitor_type monitor{one_layer(), sampling{3}};
    std::vector<bool> observed;
    for (int i = 0; i < 8; ++i) {
        observed.push_back(monitor.begin_step({.always = i == 7}));
        monitor.observe({gradient{static_cast<float>(i), 0}});
        monitor.end_step({.clipped = true});
    }
    CHECK(observed == std::vector<bool>{true, false, false, true, false, false, true, true});
    auto const report = monitor.combine(self);
    CHECK(report.steps().steps == 8);
    CHECK(report.steps().observed == 4);
    CHECK(report.steps().clipped == 8);
    CHECK(report[0].mean.value() == (0 + 3 + 6 + 7) / 8.0);
    CHECK(monitor.combine_last_step(self)[0].largest.value() == 7.0F);

    monitor_type last_only{one_layer(), sampling{0}};
    CHECK_FALSE(last_only.begin_step());
    last_only.end_step();
    CHECK(last_only.begin_step({.always = true}));
    last_only.observe({gradient{1, 1}});
    last_only.end_step();
    CHECK(last_only.combine(self)[0].gradients == 1.0);
}

TEST_CASE("gradient_monitor: a disabled layer is not observed, and has an n of its own") {
    self_communicator self;
    monitor_type monitor{two_layers()};
    gradient const s(small_size, 1.0F);
    gradient const l(large_size, 2.0F);
    for (int i = 0; i < 4; ++i) {
        i == 1 ? monitor.disable("small") : monitor.enable("small");
        CHECK(monitor.enabled("small") == (i != 1));
        monitor.begin_step();
        monitor.observe({s, l});
        monitor.end_step();
        CHECK(monitor.combine_last_step(self)["small"].mean.has_value() == (i != 1));
    }
    CHECK(monitor.combine(self)["small"].gradients == 3.0);
    CHECK(monitor.combine(self)["large"].gradients == 4.0);
    CHECK(monitor.combine(self)["small"].mean.value() == 1.0);
    CHECK_THROWS_AS(monitor.disable("absent"), configuration_error);
}

TEST_CASE("gradient_monitor: update-to-weight ratio of norms, the same for any number of replicas") {
    for (int const replica_count : {1, 3}) {
        replicas{replica_count}.run([](thread_communicator& comm) {
            monitor_type monitor{one_layer()};
            CHECK(monitor.combine(comm)[0].update_to_weight.why() == reason::no_samples);
            gradient const update{0.003F, 0.004F};
            gradient const weights{3, 4};
            monitor.begin_step();
            monitor.observe_update(0, update, weights);
            monitor.end_step();
            auto const report = monitor.combine(comm);
            CHECK(report[0].update_to_weight.value() == tally::testing::near(1e-3, 1e-6));
            CHECK(report[0].mean.why() == reason::no_samples);
        });
    }
    monitor_type monitor{one_layer()};
    monitor.begin_step();
    monitor.observe_update(0, gradient{1, 1}, gradient{0, 0});
    monitor.end_step();
    CHECK(monitor.local()[0].update_to_weight.why() == reason::zero_denominator);
    monitor.begin_step();
    monitor.observe_update(0, gradient{NAN, 1}, gradient{1, 1});
    monitor.end_step();
    CHECK(std::isnan(monitor.local()[0].update_to_weight.value()));
    CHECK_THROWS_AS(monitor.observe_update(0, gradient{1, 1}, gradient{1}), shape_error);
}

// ---- averaged gradients -----------------------------------------------------------------------------------------

TEST_CASE("gradient_monitor: observe_averaged sees the mean over replicas, and leaves the gradients alone") {
    for (int const replica_count : {1, 2, 4}) {
        CAPTURE(replica_count);
        gradient mean_small(small_size);
        gradient mean_large(large_size);
        for (unsigned r = 0; r < static_cast<unsigned>(replica_count); ++r) {
            auto const s = make_gradient(small_size, r);
            auto const l = make_gradient(large_size, 100 + r);
            for (std::size_t i = 0; i < small_size; ++i) {
                mean_small[i] += s[i] / static_cast<float>(replica_count); // exact: powers of two
            }
            for (std::size_t i = 0; i < large_size; ++i) {
                mean_large[i] += l[i] / static_cast<float>(replica_count);
            }
        }
        host::gradient_monitor<replicated> expected{two_layers()};
        expected.begin_step();
        expected.observe({mean_small, mean_large});
        expected.end_step();
        replicas{replica_count}.run([&](thread_communicator& comm) {
            auto const s = make_gradient(small_size, static_cast<unsigned>(comm.rank()));
            auto const l = make_gradient(large_size, 100 + static_cast<unsigned>(comm.rank()));
            auto const before = l;
            host::gradient_monitor<replicated> monitor{two_layers(), sampling{2}};
            CHECK_THROWS_AS((void)monitor.averaged(0), configuration_error);
            for (int i = 0; i < 2; ++i) { // the second one is not observed, hence no collective
                monitor.begin_step();
                monitor.observe_averaged(comm, {s, l});
                monitor.end_step();
            }
            CHECK(l == before);
            check_same(monitor.combine(comm), expected.local());
            auto const average = monitor.averaged(1);
            CHECK(std::equal(average.begin(), average.end(), mean_large.begin(), mean_large.end()));
        });
    }
}

TEST_CASE("gradient_monitor: in an average, a layer that a replica lacks counts as zeros, and NaN as NaN") {
    replicas{2}.run([&](thread_communicator& comm) {
        layer_registry layers;
        layers.add("a", 2, gradient_type::bfloat16);
        layers.add("b", 2);
        std::vector<bfloat16_bits> const a{narrow_to<bfloat16_bits>(4.0F), narrow_to<bfloat16_bits>(-2.0F)};
        gradient const b{comm.rank() == 0 ? NAN : 1.0F, 3.0F};
        host::gradient_monitor<replicated> monitor{layers};
        monitor.begin_step({.loss_scale = 2});
        monitor.observe_averaged(comm, {comm.rank() == 0 ? gradient_view(a) : gradient_view{}, b});
        monitor.end_step();
        auto const report = monitor.combine(comm);
        CHECK(report["a"].mean.value() == (2.0 - 1.0) / 2 / 2);
        CHECK(report["b"].mean.value() == 1.5);
        CHECK(report["b"].histogram.nans() == 1);
    });
}

// ---- faults of the caller -----------------------------------------------------------------------------------------

TEST_CASE("gradient_monitor: wrong sizes, types and numbers of gradients are refused before anything is taken") {
    monitor_type monitor{two_layers()};
    gradient const s(small_size, 1.0F);
    gradient const l(large_size, 1.0F);
    std::vector<bfloat16_bits> const wrong_type(large_size);
    monitor.begin_step();
    CHECK_THROWS_AS(monitor.observe({s}), shape_error);
    CHECK_THROWS_AS(monitor.observe({s, s}), shape_error);
    CHECK_THROWS_AS(monitor.observe({s, wrong_type}), shape_error);
    CHECK_THROWS_AS(monitor.observe({s, gradient_view(l.data(), large_size + 1)}), shape_error);
    CHECK_THROWS_AS(monitor.observe({s, gradient_view(static_cast<float const*>(nullptr), large_size)}), shape_error);
    CHECK_THROWS_AS(monitor.observe(2, s), shape_error);
    CHECK_THROWS_AS(monitor.observe_update(0, l, l), shape_error);
    monitor.end_step();
    CHECK(monitor.local()["small"].mean.why() == reason::no_samples);

    host::gradient_monitor<sharded> parts{two_layers()};
    parts.begin_step();
    parts.observe(1, gradient_view(l.data(), 10)); // a part is welcome here
    CHECK_THROWS_AS(parts.observe(0, l), shape_error);
    CHECK_THROWS_WITH_AS(parts.observe(0, l), "layer \"small\" was registered with 37 elements and given 5000",
                         shape_error);
}

TEST_CASE("gradient_monitor: calls out of order are refused with the call to make") {
    self_communicator self;
    monitor_type monitor{one_layer()};
    gradient const g{1, 2};
    CHECK_THROWS_AS(monitor.observe({g}), configuration_error);
    CHECK_THROWS_AS(monitor.end_step(), configuration_error);
    CHECK_THROWS_AS(monitor.skip_step(), configuration_error);
    monitor.begin_step();
    CHECK_THROWS_AS(monitor.begin_step(), configuration_error);
    CHECK_THROWS_AS((void)monitor.end_epoch(self), configuration_error);
    CHECK_THROWS_AS((void)monitor.combine_last_step(self), configuration_error);
    monitor.observe({g});
    CHECK(monitor.combine(self)[0].mean.why() == reason::no_samples); // an open step is not in the epoch yet
    monitor.end_step();
    for (float const scale : {0.0F, -1.0F, INFINITY, NAN}) {
        CHECK_THROWS_AS(monitor.begin_step({.loss_scale = scale}), configuration_error);
    }
    step(monitor, g); // still usable
    CHECK(monitor.local().steps().steps == 2);
}

TEST_CASE("layer_registry: names are unique, sizes positive, order and content decide the digest") {
    layer_registry layers;
    CHECK(layers.add("a", 1) == 0);
    CHECK(layers.add("b", 2, gradient_type::float16) == 1);
    CHECK_THROWS_AS(layers.add("a", 3), configuration_error);
    CHECK_THROWS_AS(layers.add("", 3), configuration_error);
    CHECK_THROWS_AS(layers.add("c", 0), configuration_error);
    CHECK(layers.size() == 2);
    CHECK(layers.index_of("b") == 1);
    CHECK_THROWS_AS((void)layers.index_of("c"), configuration_error);
    layer_registry other;
    other.add("b", 2, gradient_type::float16);
    other.add("a", 1);
    CHECK(layers.digest() != other.digest());
    CHECK_THROWS_AS(monitor_type{layer_registry{}}, configuration_error);
}

// ---- snapshots ----------------------------------------------------------------------------------------------------

template <class D>
void check_snapshot() {
    auto const run = [](thread_communicator& comm, host::gradient_monitor<D>& monitor, unsigned first, unsigned last) {
        for (auto step = first; step < last; ++step) {
            monitor.begin_step();
            if constexpr (std::same_as<D, replicated>) {
                auto const s = small_of(step);
                auto const l = large_of(step);
                monitor.observe({s, l});
            } else {
                for (auto b = static_cast<unsigned>(comm.rank()); b < 6; b += static_cast<unsigned>(comm.size())) {
                    auto const s = small_of(step * 6 + b);
                    auto const l = large_of(step * 6 + b);
                    monitor.observe({s, l});
                }
            }
            monitor.end_step();
        }
    };
    auto const whole = replicas{1}.run([&](thread_communicator& comm) {
        host::gradient_monitor<D> monitor{two_layers(), sampling{2}};
        run(comm, monitor, 0, 5);
        return monitor.combine(comm);
    });
    auto const saved = replicas{3}.run([&](thread_communicator& comm) {
        host::gradient_monitor<D> monitor{two_layers(), sampling{2}};
        run(comm, monitor, 0, 3);
        return monitor.snapshot(comm);
    });
    for (int const replica_count : {1, 2, 6}) {
        CAPTURE(replica_count);
        replicas{replica_count}.run([&](thread_communicator& comm) {
            host::gradient_monitor<D> monitor{two_layers(), sampling{2}};
            run(comm, monitor, 0, 1); // must be replaced
            monitor.restore(comm, saved[0]);
            run(comm, monitor, 3, 5);
            auto const report = monitor.combine(comm);
            check_same(report, whole[0]);
            CHECK(report.steps().steps == 5);
            CHECK(report.steps().observed == 3);

            layer_registry others;
            others.add("small", small_size);
            others.add("other", large_size);
            host::gradient_monitor<D> foreign{others};
            CHECK_THROWS_AS(foreign.restore(comm, saved[0]), snapshot_error);
            auto damaged = saved[0];
            damaged[100] ^= std::byte{1};
            CHECK_THROWS_AS(monitor.restore(comm, damaged), snapshot_error);
            check_same(monitor.combine(comm), report); // a refused one changes nothing
        });
    }
}

TEST_CASE("gradient_monitor: an epoch continues from a snapshot, at any number of replicas") {
    check_snapshot<partitioned>();
    check_snapshot<replicated>();
}

} // namespace
