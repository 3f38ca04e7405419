// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Tables under every strategy: the counts are those of the host, whatever the skew; cells that no atomic can merge are
// merged under locks; nothing outside a table is written; 32-bit copies are flushed in time.
#include "support/device_array.cuh"
#include "support/device_counters.hpp"

#include <doctest/doctest.h>

#include <tally/cuda.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using tally::testing::device_array;

namespace {

template <tally::cuda::table_strategy Strategy>
struct with_tables {
    static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.tables = Strategy;
        return chosen;
    }
};
/// Flushes after every few tiles, and has room for small copies only.
struct flushing {
    static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.tables = tally::cuda::table_strategy::shared;
        chosen.samples_before_flush = 3000;
        chosen.blocks_per_multiprocessor = 1;
        chosen.shared_table_bytes = 2048;
        return chosen;
    }
};

struct few_blocks {
    static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.blocks_per_multiprocessor = 1;
        return chosen;
    }
};

/// Labels of which `diagonal` of 100 are predicted right; some are no class at all.
struct labelled {
    std::vector<std::int32_t> predicted;
    std::vector<std::int32_t> targets;
    labelled(std::size_t n, std::size_t classes, unsigned diagonal) {
        unsigned state = 12345;
        auto const next = [&state] {
            state = state * 1664525U + 1013904223U;
            return state >> 8;
        };
        for (std::size_t i = 0; i < n; ++i) {
            auto const target = static_cast<std::int32_t>(next() % classes);
            bool const right = next() % 100 < diagonal;
            targets.push_back(i % 97 == 0 ? -1 : i % 89 == 0 ? static_cast<std::int32_t>(classes) : target);
            predicted.push_back(right ? target : static_cast<std::int32_t>(next() % classes));
        }
    }
};

template <class M, class Tuning, class... Sizes>
void check_confusion(labelled const& data, Sizes... sizes) {
    device_array<std::int32_t> const predicted(data.predicted);
    device_array<std::int32_t> const targets(data.targets);
    tally::cuda::tracker<M, Tuning> device{sizes...};
    tally::host::tracker<M> host{sizes...};
    for (int k = 0; k < 2; ++k) {
        device.update(tally::predictions(predicted.data(), predicted.size()),
                      tally::targets(targets.data(), targets.size()));
        host.update(tally::predictions(data.predicted), tally::targets(data.targets));
    }
    auto const got = device.merged();
    auto const expected = host.merged();
    std::vector<std::uint64_t> words[2];
    auto const lanes = tally::detail::lanes_of_states(expected);
    REQUIRE(lanes.bytes == 0);
    for (auto& each : words) {
        each.resize(lanes.sums + lanes.maxes);
    }
    tally::detail::pack(got, words[0].data(), words[0].data() + lanes.sums, nullptr);
    tally::detail::pack(expected, words[1].data(), words[1].data() + lanes.sums, nullptr);
    CHECK(words[0] == words[1]);
}

template <class Tuning>
void check_all_sizes() {
    for (unsigned const diagonal : {0U, 90U, 100U}) {
        CAPTURE(diagonal);
        check_confusion<tally::confusion_matrix<2>, Tuning>(labelled(20011, 2, diagonal));
        check_confusion<tally::confusion_matrix<10>, Tuning>(labelled(20011, 10, diagonal));
        check_confusion<tally::confusion_matrix<tally::dynamic>, Tuning>(labelled(20011, 100, diagonal),
                                                                         tally::num_classes{100});
        check_confusion<tally::confusion_matrix<tally::dynamic>, Tuning>(labelled(20011, 300, diagonal),
                                                                         tally::num_classes{300});
    }
}

} // namespace

TEST_CASE("confusion matrices, strategies chosen by size") { check_all_sizes<tally::cuda::default_tuning>(); }
TEST_CASE("confusion matrices in shared memory where they fit") {
    check_all_sizes<with_tables<tally::cuda::table_strategy::shared>>();
}
TEST_CASE("confusion matrices in global memory") {
    check_all_sizes<with_tables<tally::cuda::table_strategy::global>>();
}
TEST_CASE("copies that are flushed many times within an update") { check_all_sizes<flushing>(); }

TEST_CASE("cells of several accumulators, of sums of floats, and of moments under locks") {
    std::size_t const n = 3001;
    std::vector<float> values(n);
    std::vector<std::int32_t> groups(n);
    std::vector<float> weights(n);
    for (std::size_t i = 0; i < n; ++i) {
        values[i] = static_cast<float>(i * 31 % 101) / 8.0F;
        groups[i] = static_cast<std::int32_t>(i % 6) - 1;
        weights[i] = 1.0F + static_cast<float>(i % 2);
    }
    device_array<float> const v(values);
    device_array<std::int32_t> const g(groups);
    device_array<float> const w(weights);

    auto const compare = [&]<class M>(M const*, auto const&... more) {
        tally::cuda::tracker<M> device{tally::num_groups{4}};
        tally::host::tracker<M> host{tally::num_groups{4}};
        if constexpr (sizeof...(more) == 0) {
            device.update(tally::values(v.data(), n), tally::groups(g.data(), n));
            host.update(tally::values(values), tally::groups(groups));
        } else {
            device.update(tally::values(v.data(), n), tally::groups(g.data(), n), tally::weights(w.data(), n));
            host.update(tally::values(values), tally::groups(groups), tally::weights(weights));
        }
        auto const got = device.finalize().get();
        auto const expected = host.finalize().get();
        CHECK(got.outside == expected.outside);
        for (std::size_t k = 0; k < 4; ++k) {
            CHECK(got[k].value() == doctest::Approx(expected[k].value()).epsilon(1e-12));
        }
    };
    compare(static_cast<tally::grouped<tally::mean<>>*>(nullptr));
    compare(static_cast<tally::grouped<tally::largest<>>*>(nullptr));
    compare(static_cast<tally::grouped<tally::variance<>>*>(nullptr));
    compare(static_cast<tally::weighted<tally::grouped<tally::mean<>>>*>(nullptr), 1);
}

TEST_CASE("the diagonal of a large confusion matrix costs no global atomics" * doctest::test_suite("plain")) {
    TALLY_NEEDS_COUNTERS();
    std::size_t const n = 1 << 20;
    labelled const data(n, 1000, 90);
    device_array<std::int32_t> const predicted(data.predicted);
    device_array<std::int32_t> const targets(data.targets);
    tally::cuda::tracker<tally::confusion_matrix<tally::dynamic>, few_blocks> tracker{tally::num_classes{1000}};
    auto const blocks = static_cast<unsigned>(tally::cuda::device_traits::of(0).multiprocessors);
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    tally::testing::count_from_here();
    tracker.update(tally::predictions(predicted.data(), n), tally::targets(targets.data(), n));
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    auto const atomics = tally::testing::counted("element_kernel", "global_atomics");
    CHECK(atomics < n / 8 + blocks * 1000); // off the diagonal, and each block's diagonal once
    CHECK(tally::testing::counted("element_kernel", "shared_atomics") > n * 8 / 10);
}
