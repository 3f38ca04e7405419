// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// cuda::ranking_buffer against host::ranking_buffer and the definitions: the same samples kept and the same bits, for
// sizes around those of blocks, ties of any length, and buffers that are full; what an update costs; graphs and
// streams.
#include <tally/cuda/ranking_buffer.cuh>

#include "support/device_array.cuh"
#include "support/device_counters.hpp"
#include "support/near.hpp"
#include "support/rank_reference.hpp"
#include "support/ranking_reference.hpp"

#include <tally/comm/replicas.hpp>
#include <tally/ranking/ranking_buffer.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <cuda_fp16.h>

namespace {

using tally::testing::counted;
using tally::testing::device_array;
using tally::testing::near;

using labels = tally::ranked_labels<>;
using weighted_labels = tally::ranked_labels<float, tally::by_weight<float>>;
using wide_labels = tally::ranked_labels<double, tally::by_weight<double>>;
using pairs = tally::ranked_pairs<>;

void wait() { tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

/// Numbers below `limit`.
class generator {
public:
    explicit generator(unsigned long long seed) : state_{seed} {}
    std::uint32_t below(std::uint32_t limit) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<std::uint32_t>(state_ >> 33) % limit;
    }

private:
    unsigned long long state_;
};

/// Samples of every kind: some NaN, masked, with a label or weight that is none. `levels` different scores.
struct samples {
    std::vector<float> scores;
    std::vector<std::int32_t> targets;
    std::vector<float> weights;
    std::vector<std::uint8_t> mask;

    samples(std::size_t n, std::uint32_t levels, unsigned seed, bool clean = false) {
        generator random{seed};
        auto const nan = std::numeric_limits<float>::quiet_NaN();
        for (std::size_t i = 0; i < n; ++i) {
            scores.push_back(static_cast<float>(random.below(levels)) / 64.0F - 3.0F);
            targets.push_back(scores.back() + static_cast<float>(random.below(300)) / 64.0F > 0.0F ? 1 : 0);
            weights.push_back(static_cast<float>(random.below(1000)) / 7.0F);
            mask.push_back(clean || random.below(10) != 0 ? 1 : 0);
            if (!clean && random.below(16) == 0) {
                scores.back() = nan;
            }
            if (!clean && random.below(16) == 0) {
                targets.back() = static_cast<std::int32_t>(random.below(9)) - 3;
            }
            if (!clean && random.below(16) == 0) {
                weights.back() = random.below(2) == 0 ? nan : -1.0F;
            }
        }
    }
    [[nodiscard]] std::size_t size() const { return scores.size(); }
};

struct device_samples {
    device_array<float> scores;
    device_array<std::int32_t> targets;
    device_array<float> weights;
    device_array<std::uint8_t> mask;
    explicit device_samples(samples const& host)
        : scores{host.scores}, targets{host.targets}, weights{host.weights}, mask{host.mask} {}
};

/// Takes n samples from `first` on.
template <class Buffer, class Data>
void update_labels(Buffer& buffer, Data const& data, std::size_t n, std::size_t first = 0) {
    buffer.update(tally::predictions(data.scores.data() + first, n), tally::targets(data.targets.data() + first, n),
                  tally::mask(data.mask.data() + first, n));
}
template <class Buffer, class Data>
void update_weighted(Buffer& buffer, Data const& data, std::size_t n, std::size_t first = 0) {
    buffer.update(tally::weights(data.weights.data() + first, n), tally::predictions(data.scores.data() + first, n),
                  tally::targets(data.targets.data() + first, n), tally::mask(data.mask.data() + first, n));
}

void same(tally::ranked_value const& a, tally::ranked_value const& b) {
    CHECK(a.why() == b.why());
    CHECK(a.value_or(-5) == b.value_or(-5));
    CHECK(a.dropped() == b.dropped());
    CHECK(a.overflow() == b.overflow());
}
template <class Values>
void same_labels(Values const& a, Values const& b) {
    CHECK(a.counts() == b.counts());
    same(a.auroc(), b.auroc());
    same(a.average_precision(), b.average_precision());
}

/// Two updates, the second with some of the samples again.
void compare(samples const& host, std::size_t capacity) {
    CAPTURE(host.size());
    CAPTURE(capacity);
    device_samples const device(host);
    tally::host::ranking_buffer<labels> expected{capacity};
    tally::cuda::ranking_buffer<labels> buffer{capacity};
    tally::host::ranking_buffer<weighted_labels> expected_weighted{capacity};
    tally::cuda::ranking_buffer<weighted_labels> weighted{capacity};
    for (std::size_t const first : {std::size_t{0}, host.size() / 5}) {
        auto const n = host.size() - first;
        update_labels(expected, host, n, first);
        update_labels(buffer, device, n, first);
        same_labels(buffer.finalize(), expected.finalize());
        update_weighted(expected_weighted, host, n, first);
        update_weighted(weighted, device, n, first);
        same_labels(weighted.finalize(), expected_weighted.finalize());
    }
    CHECK(cudaGetLastError() == cudaSuccess);
}

} // namespace

TEST_CASE("cuda::ranking_buffer: the same samples and the same bits as the host, around the sizes of blocks") {
    for (std::size_t const n : {0U, 1U, 2U, 255U, 256U, 257U, 1023U, 1024U, 1025U, 4096U, 5000U}) {
        compare(samples(n, 400, 1 + static_cast<unsigned>(n)), 2 * n + 1);
        compare(samples(n, 400, 2 + static_cast<unsigned>(n), true), 2 * n + 1);
    }
}

TEST_CASE("cuda::ranking_buffer: a full buffer holds the first samples, and the others are counted") {
    for (std::size_t const capacity : {1U, 700U, 1024U, 1500U, 3000U, 5999U, 6000U}) {
        compare(samples(3000, 100, 3), capacity);
        compare(samples(3000, 100, 4, true), capacity);
    }
}

TEST_CASE("cuda::ranking_buffer: ties of any length") {
    for (std::uint32_t const levels : {1U, 2U, 3U, 17U, 1U << 20}) {
        compare(samples(3001, levels, 5, true), 6002);
    }
}

TEST_CASE("cuda::ranking_buffer: against all pairs and all thresholds") {
    auto const reference = tally::testing::overlapping_scores(1200, 9);
    std::vector<double> scores;
    std::vector<float> targets; // numbers that are labels
    std::vector<double> weights;
    for (auto const& each : reference) {
        scores.push_back(each.score);
        targets.push_back(static_cast<float>(each.label));
        weights.push_back(each.weight);
    }
    device_array<double> const s(scores);
    device_array<float> const t(targets);
    device_array<double> const w(weights);
    tally::cuda::ranking_buffer<wide_labels> buffer{2000};
    buffer.update(tally::predictions(s.data(), 1200), tally::targets(t.data(), 1200), tally::weights(w.data(), 1200));
    auto const values = buffer.finalize();
    CHECK(values.auroc().value() == near(tally::testing::exact_auroc(reference), 1e-14));
    CHECK(values.average_precision().value() == near(tally::testing::exact_average_precision(reference), 1e-13));
}

TEST_CASE("cuda::ranking_buffer: Spearman, the same bits as the host, and the definition") {
    for (std::size_t const n : {0U, 1U, 2U, 3U, 256U, 1025U, 2500U}) {
        CAPTURE(n);
        auto const data = tally::testing::noisy_pairs(n, 21);
        device_array<float> const p(data.predictions);
        device_array<float> const t(data.targets);
        tally::host::ranking_buffer<pairs> expected{2 * n + 1};
        tally::cuda::ranking_buffer<pairs> buffer{2 * n + 1};
        expected.update(tally::predictions(data.predictions), tally::targets(data.targets));
        buffer.update(tally::predictions(p.data(), n), tally::targets(t.data(), n));
        same(buffer.finalize().spearman(), expected.finalize().spearman());
        if (n > 3) { // at 3 the value is 0
            CHECK(buffer.finalize().spearman().value() ==
                  near(tally::testing::exact_spearman(data.predictions, data.targets), 1e-12));
        }
        // Again with one side tied throughout, then with the sides exchanged.
        std::vector<float> const constant(n, 2.0F);
        device_array<float> const c(constant);
        expected.update(tally::predictions(data.targets), tally::targets(constant));
        buffer.update(tally::predictions(t.data(), n), tally::targets(c.data(), n));
        same(buffer.finalize().spearman(), expected.finalize().spearman());
    }
    std::vector<double> const numbers{3, 1, 2, 5, 4};
    device_array<double> const d(numbers);
    tally::cuda::ranking_buffer<tally::ranked_pairs<double>> buffer{5};
    buffer.update(tally::predictions(d.data(), 5), tally::targets(d.data(), 5));
    CHECK(buffer.finalize().spearman().value() == 1.0);
}

TEST_CASE("cuda::ranking_buffer: narrow types, strides and backwards") {
    std::vector<float> const scores{.5F, 9, .25F, 9, .75F, 9, 1, 9};
    std::vector<std::uint8_t> const targets{1, 1, 0, 0}; // backwards: 0 0 1 1
    device_array<float> const s(scores);
    device_array<std::uint8_t> const t(targets);
    tally::cuda::ranking_buffer<labels> buffer{10};
    buffer.update(tally::predictions(tally::vector_view<float>{s.data(), 4, 2}),
                  tally::targets(tally::vector_view<std::uint8_t>{t.data() + 3, 4, -1}));
    CHECK(buffer.finalize().auroc().value() == 1.0);
    device_array<__half> const h(std::vector<__half>{__half(.5F), __half(.5F)});
    buffer.reset();
    buffer.update(tally::predictions(h.data(), 2), tally::targets(t.data() + 1, 2));
    CHECK(buffer.finalize().auroc().value() == 0.5);
    CHECK(buffer.counts() == tally::ranking_counts{2, 0, 0, 0, 0});
}

TEST_CASE("cuda::ranking_buffer: replicas on devices, on the host and mixed give the same bits") {
    constexpr std::size_t n = 2400;
    samples const host(n, 500, 31);
    auto const data = tally::testing::noisy_pairs(n, 31);
    tally::host::ranking_buffer<weighted_labels> expected{n};
    update_weighted(expected, host, n);
    tally::host::ranking_buffer<pairs> expected_pairs{n};
    expected_pairs.update(tally::predictions(data.predictions), tally::targets(data.targets));
    device_samples const device(host);
    device_array<float> const p(data.predictions);
    device_array<float> const t(data.targets);
    for (int const replicas : {1, 2, 3, 8}) {
        CAPTURE(replicas);
        tally::replicas{replicas}.run([&](tally::thread_communicator& comm) {
            // Parts of different size; the last replica has none if there are several.
            auto const parts = replicas == 1 ? 1U : static_cast<unsigned>(replicas - 1);
            auto const me = static_cast<unsigned>(comm.rank());
            auto const begin = me < parts ? n * me * me / (parts * parts) : n;
            auto const size = me < parts ? n * (me + 1) * (me + 1) / (parts * parts) - begin : 0;
            auto const check = [&](auto& mine, auto& my_pairs, auto const& from, float const* x, float const* y) {
                mine.update(tally::predictions(from.scores.data() + begin, size),
                            tally::targets(from.targets.data() + begin, size),
                            tally::weights(from.weights.data() + begin, size),
                            tally::mask(from.mask.data() + begin, size));
                my_pairs.update(tally::predictions(x + begin, size), tally::targets(y + begin, size));
                same_labels(mine.combine(comm), expected.finalize());
                same(my_pairs.combine(comm).spearman(), expected_pairs.finalize().spearman());
                auto const at_root = mine.combine_to(comm, 0);
                CHECK(at_root.has_value() == (comm.rank() == 0));
                if (at_root) {
                    same_labels(*at_root, expected.finalize());
                }
            };
            if (replicas == 3 && comm.rank() == 1) {
                tally::host::ranking_buffer<weighted_labels> mine{n};
                tally::host::ranking_buffer<pairs> my_pairs{n};
                check(mine, my_pairs, host, data.predictions.data(), data.targets.data());
            } else {
                tally::cuda::ranking_buffer<weighted_labels> mine{n};
                tally::cuda::ranking_buffer<pairs> my_pairs{n};
                check(mine, my_pairs, device, p.data(), t.data());
            }
        });
    }
}

TEST_CASE("cuda::ranking_buffer: an update is one launch that allocates nothing and waits for nothing") {
    TALLY_NEEDS_COUNTERS();
    constexpr std::size_t n = 5000;
    device_samples const device(samples(n, 500, 8));
    tally::cuda::ranking_buffer<weighted_labels> buffer{2 * n};
    update_weighted(buffer, device, n);
    wait();
    tally::testing::count_from_here();
    update_weighted(buffer, device, n);
    CHECK(tally::testing::calls_that_wait_or_allocate() == 0);
    wait();
    CHECK(counted("", "launches") == 1);

    tally::testing::count_from_here();
    (void)buffer.finalize();
    CHECK(counted("cudaMalloc", "calls") == 0);
    CHECK(counted("cudaMallocAsync", "calls") == 0);
    CHECK(counted("cudaMallocHost", "calls") == 0);

    // Without samples nothing is sorted.
    buffer.reset();
    tally::testing::count_from_here();
    update_weighted(buffer, device, 0);
    CHECK(buffer.finalize().auroc().why() == tally::reason::no_samples);
    CHECK(counted("", "launches") == 0);
}

TEST_CASE("cuda::ranking_buffer: an update is captured, and its replays take the samples again") {
    constexpr std::size_t n = 2100;
    samples const host(n, 300, 12);
    device_samples const device(host);
    tally::host::ranking_buffer<labels> expected{2 * n};
    cudaStream_t stream = nullptr;
    tally::cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
    {
        tally::cuda::ranking_buffer<labels> buffer{stream, 2 * n};
        update_labels(buffer, device, n); // also asks for the pointers
        tally::cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
        update_labels(buffer, device, n);
        cudaGraph_t graph = nullptr;
        tally::cuda::check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
        cudaGraphExec_t replay = nullptr;
        tally::cuda::check(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate");
        update_labels(expected, host, n);
        for (int k = 0; k < 2; ++k) {
            tally::cuda::check(cudaGraphLaunch(replay, stream), "cudaGraphLaunch");
            update_labels(expected, host, n);
        }
        same_labels(buffer.finalize(), expected.finalize());
        CHECK(buffer.counts().overflow > 0);
        tally::cuda::check(cudaGraphExecDestroy(replay), "cudaGraphExecDestroy");
        tally::cuda::check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    }
    tally::cuda::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

TEST_CASE("cuda::ranking_buffer: updates on several streams come one after the other") {
    constexpr std::size_t n = 1500;
    samples const host(n, 300, 14);
    device_samples const device(host);
    tally::host::ranking_buffer<labels> expected{5000};
    cudaStream_t streams[3] = {};
    for (auto& stream : streams) {
        tally::cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
    }
    {
        tally::cuda::ranking_buffer<labels> buffer{5000};
        for (int k = 0; k < 6; ++k) {
            buffer.update(streams[k % 3], tally::predictions(device.scores.data(), n),
                          tally::targets(device.targets.data(), n));
            expected.update(tally::predictions(host.scores.data(), n), tally::targets(host.targets.data(), n));
        }
        same_labels(buffer.finalize(), expected.finalize());
        buffer.reset(streams[1]);
        CHECK(buffer.counts() == tally::ranking_counts{});
    }
    for (auto& stream : streams) {
        tally::cuda::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    }
}

TEST_CASE("cuda::ranking_buffer: host memory is refused, and the caller's device stays current") {
    std::vector<float> const scores{1, 2};
    std::vector<int> const targets{0, 1};
    tally::cuda::ranking_buffer<labels> buffer{10};
    if (!tally::cuda::device_traits::of(0).reads_pageable_memory) {
        CHECK_THROWS_AS(buffer.update(tally::predictions(scores), tally::targets(targets)), tally::shape_error);
    }
    CHECK(buffer.counts() == tally::ranking_counts{});
    CHECK_THROWS_AS(tally::cuda::ranking_buffer<labels>{0}, tally::configuration_error);

    int devices = 0;
    tally::cuda::check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices > 1) {
        tally::cuda::check(cudaSetDevice(1), "cudaSetDevice");
        tally::cuda::ranking_buffer<labels> second{10};
        device_array<float> const s(scores);
        device_array<int> const t(targets);
        tally::cuda::check(cudaSetDevice(0), "cudaSetDevice");
        second.update(tally::predictions(s.data(), 2), tally::targets(t.data(), 2));
        CHECK(second.finalize().auroc().value() == 1.0);
        CHECK(second.device() == 1);
        CHECK(tally::cuda::current_device() == 0);
    }
}

TEST_CASE("fault: ranking: a failed launch leaves the buffer as it was, and usable" * doctest::skip()) {
    samples const host(1500, 300, 15);
    device_samples const device(host);
    tally::host::ranking_buffer<labels> expected{5000};
    tally::cuda::ranking_buffer<labels> buffer{5000};
    update_labels(buffer, device, host.size()); // launch 1
    std::optional<cudaError_t> failed;
    try {
        update_labels(buffer, device, host.size()); // launch 2: fails
    } catch (tally::cuda::error const& error) {
        failed = error.code();
    }
    CHECK(failed == cudaErrorLaunchOutOfResources);
    update_labels(expected, host, host.size());
    same_labels(buffer.finalize(), expected.finalize());
    update_labels(buffer, device, host.size());
    update_labels(expected, host, host.size());
    same_labels(buffer.finalize(), expected.finalize());
}

TEST_CASE("fault: ranking: memory that can't be had makes no buffer, and another one works" * doctest::skip()) {
    std::optional<cudaError_t> failed;
    try {
        tally::cuda::ranking_buffer<weighted_labels> const refused{1000};
    } catch (tally::cuda::error const& error) {
        failed = error.code();
    }
    CHECK(failed == cudaErrorMemoryAllocation);
    compare(samples(100, 30, 16), 300);
}

TEST_SUITE("plain") {
    // Long enough for several rounds in all blocks.
    TEST_CASE("cuda::ranking_buffer: many samples") { compare(samples(700'000, 5000, 40), 1'000'000); }
}
