// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// update_tensors: whole tensors into the groups of a grouped metric are what the host makes of the same elements, one by
// one; one launch and one read for many tensors; groups out of range are counted, never written.
#include "support/device_array.cuh"
#include "support/device_counters.hpp"

#include <doctest/doctest.h>

#include <tally/cuda.hpp>
#include <tally/tally.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

using tally::cuda::grouped_tensor;
using tally::testing::counted;
using tally::testing::device_array;

namespace {

struct shape {
    std::size_t size;
    std::size_t group;
    std::size_t offset;
};
std::vector<shape> const shapes{{1, 2, 1}, {9000, 0, 3},  {0, 1, 0},  {513, 3, 0}, {40, 0, 2},
                                {7, 9, 0}, {20000, 2, 0}, {31, 3, 1}, {5000, 1, 5}};
constexpr std::size_t groups = 4;

template <class T>
struct tensors {
    std::vector<std::vector<T>> host;
    std::vector<std::unique_ptr<device_array<T>>> device;
    std::vector<grouped_tensor<T>> views;

    explicit tensors(std::vector<shape> const& of) {
        unsigned state = 99;
        for (auto const& each : of) {
            std::vector<T> x;
            for (std::size_t i = 0; i < each.size; ++i) {
                state = state * 1664525U + 1013904223U;
                auto const number = static_cast<int>(state >> 8) % 64 - 32;
                if constexpr (std::is_same_v<T, tally::half_bits>) {
                    x.push_back(tally::narrow_to<T>(static_cast<float>(number) / 4));
                } else {
                    x.push_back(static_cast<T>(number));
                }
            }
            host.push_back(x);
            device.push_back(std::make_unique<device_array<T>>(x, each.offset));
            views.push_back({device.back()->data(), each.size, each.group});
        }
    }
    template <class M, class... Sizes>
    auto expected(int times, Sizes... sizes) const {
        tally::host::tracker<M> tracker{sizes...};
        for (int k = 0; k < times; ++k) {
            for (std::size_t i = 0; i < host.size(); ++i) {
                std::vector<std::int32_t> const group(host[i].size(), static_cast<std::int32_t>(views[i].group));
                tracker.update(tally::values(host[i]), tally::groups(group));
            }
        }
        return tracker.finalize();
    }
};

template <class Result>
void check_near(Result const& device, Result const& host, double relative) {
    CHECK(device.samples() == host.samples());
    auto const d = device.get();
    auto const h = host.get();
    CHECK(d.outside == h.outside);
    REQUIRE(d.size() == h.size());
    for (std::size_t g = 0; g < h.size(); ++g) {
        CAPTURE(g);
        CHECK(d[g].why() == h[g].why());
        auto const expected = static_cast<double>(h[g].value_or(-7));
        CHECK(std::abs(static_cast<double>(d[g].value_or(-7)) - expected) <= relative * std::abs(expected));
        CHECK(d[g].dropped() == h[g].dropped());
    }
}

template <class M, class T, class... Sizes>
void check_metric(double relative, Sizes... sizes) {
    tensors<T> const data{shapes};
    tally::cuda::tracker<M> tracker{sizes...};
    tracker.update_tensors(data.views);
    tracker.update_tensors(cudaStream_t{}, data.views);
    check_near(tracker.finalize(), data.template expected<M>(2, sizes...), relative);
}

} // namespace

TEST_CASE("update_tensors: sums, extremes and moments, as element by element on the host") {
    check_metric<tally::grouped<tally::mean<>, groups>, float>(0.0); // sums of small integers are exact
    check_metric<tally::grouped<tally::mean<>, groups>, tally::half_bits>(0.0);
    check_metric<tally::grouped<tally::mean<float, tally::exact_sum<float>>>, float>(0.0, tally::num_groups{groups});
    check_metric<tally::grouped<tally::largest<>>, tally::half_bits>(0.0, tally::num_groups{groups});
    check_metric<tally::grouped<tally::variance<>>, float>(1e-12, tally::num_groups{groups}); // merged under locks
    check_metric<tally::grouped<tally::total<std::int64_t>, groups>, std::int8_t>(0.0);
}

TEST_CASE("update_tensors: 200 tensors are one launch and one read, without a wait") {
    TALLY_NEEDS_COUNTERS();
    std::vector<shape> of;
    for (std::size_t i = 0; i < 200; ++i) {
        of.push_back({i % 7 == 0 ? 40001 : 100 + i, i % 50, i % 4});
    }
    tensors<float> const data{of};
    std::size_t bytes = 0;
    for (auto const& each : of) {
        bytes += each.size * sizeof(float);
    }
    tally::cuda::tracker<tally::grouped<tally::mean<>>> tracker{tally::num_groups{50}};
    tracker.update_tensors(data.views);
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    tally::testing::count_from_here();
    tracker.update_tensors(data.views);
    CHECK(tally::testing::calls_that_wait_or_allocate() == 0);
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    CHECK(counted("", "launches") == 1);
    CHECK(counted("", "local_accesses") == 0);
    CHECK(counted("tensor_kernel", "global_load_bytes") >= bytes);
    CHECK(static_cast<double>(counted("tensor_kernel", "global_load_bytes")) <= 1.02 * static_cast<double>(bytes));
}

TEST_CASE("update_tensors: a captured launch keeps its own list of tensors") {
    using metric = tally::grouped<tally::mean<>, groups>;
    tensors<float> const data{shapes};
    cudaStream_t stream = nullptr;
    tally::cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
    {
        tally::cuda::tracker<metric> tracker{stream};
        auto list = data.views;
        tally::cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
        tracker.update_tensors(list);
        cudaGraph_t graph = nullptr;
        tally::cuda::check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
        list.clear();
        cudaGraphExec_t executable = nullptr;
        tally::cuda::check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
        for (int k = 0; k < 3; ++k) {
            tally::cuda::check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
        }
        check_near(tracker.finalize(), data.expected<metric>(3), 0.0);
        tally::cuda::check(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
        tally::cuda::check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    }
    tally::cuda::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

TEST_CASE("update_tensors: nothing to take, misaligned tensors, host memory") {
    tensors<float> const data{shapes};
    tally::cuda::tracker<tally::grouped<tally::mean<>, groups>> tracker;
    tracker.update_tensors(std::vector<grouped_tensor<float>>{});
    tracker.update_tensors(std::vector<grouped_tensor<float>>{{nullptr, 0, 1}});
    CHECK(tracker.finalize().samples() == 0);
    auto wrong = data.views;
    wrong[1].data = reinterpret_cast<float const*>(reinterpret_cast<std::uintptr_t>(wrong[1].data) + 2);
    CHECK_THROWS_AS(tracker.update_tensors(wrong), tally::shape_error);
    CHECK(tracker.finalize().samples() == 0);
    if (!tally::cuda::device_traits::of(0).reads_pageable_memory) {
        tally::cuda::tracker<tally::grouped<tally::mean<>, groups>> fresh;
        std::vector<float> const on_host(100, 1.0F);
        CHECK_THROWS_AS(fresh.update_tensors(std::vector<grouped_tensor<float>>{{on_host.data(), 100, 0}}),
                        tally::shape_error);
        CHECK(fresh.finalize().samples() == 0);
    }
}
