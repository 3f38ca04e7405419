// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// all_reduce of arrays in device memory: what it gives over threads, for every type and operation; what it costs; and
// that replicas which ask for different things are told.
#include "nccl/support.hpp"
#include "support/device_counters.hpp"

#include <tally/comm/all_reduce.hpp>
#include <tally/comm/replicas.hpp>
#include <tally/cuda/all_reduce.cuh>
#include <tally/nccl.hpp>
#include <tally/op/ops.hpp>

#include <doctest/doctest.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace op = tally::op;
using namespace tally::testing;

namespace {

/// Numbers of all magnitudes, extremes included, other ones on each replica.
template <class T>
std::vector<T> given(int rank, std::size_t n) {
    std::vector<T> values(n);
    std::uint64_t state = 77 + static_cast<std::uint64_t>(rank);
    for (auto& each : values) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        if constexpr (std::is_integral_v<T>) {
            each = static_cast<T>(state >> 3); // wraps
        } else {
            auto const magnitude = std::ldexp(1.0, static_cast<int>(state >> 60) - 8);
            each = static_cast<T>(static_cast<float>(magnitude * (static_cast<double>(state >> 11) * 0x1p-53 - 0.5)));
        }
    }
    if constexpr (!std::is_integral_v<T>) {
        if (n > 4) {
            values[0] = static_cast<T>(rank == 0 ? -0.0F : 0.0F);
            values[1] = static_cast<T>(std::numeric_limits<float>::infinity());
            values[2] = static_cast<T>(rank == 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0F);
        }
    }
    return values;
}

template <class T>
bool is_nan(T const& x) {
    if constexpr (std::is_integral_v<T>) {
        return false;
    } else {
        return std::isnan(static_cast<double>(x));
    }
}

/// Bits, but for those of a NaN.
template <class T>
bool same(std::vector<T> const& x, std::vector<T> const& y) {
    bool result = x.size() == y.size();
    for (std::size_t i = 0; result && i != x.size(); ++i) {
        result = std::memcmp(&x[i], &y[i], sizeof(T)) == 0 || (is_nan(x[i]) && is_nan(y[i]));
    }
    return result;
}

template <class T, class Op>
void check_one(int size, std::vector<tally::nccl_communicator>& group, Op operation) {
    for (auto const n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{3001}}) {
        CAPTURE(n);
        auto const expected = tally::replicas{size}.run([&](tally::thread_communicator& comm) {
            auto values = given<T>(comm.rank(), n);
            tally::all_reduce(comm, std::span(values), operation);
            return values;
        })[0];
        on_group(group, [&](tally::nccl_communicator& comm) {
            law_buffer<tally::device_space, T> values{given<T>(comm.rank(), n)};
            tally::all_reduce(comm, values.span(), operation);
            CHECK(same(values.read(), expected));
        });
    }
}

template <class T>
void check_all() {
    for (auto const size : group_sizes()) {
        CAPTURE(size);
        auto group = make_group(size);
        check_one<T>(size, group, op::sum{});
        check_one<T>(size, group, op::min{});
        check_one<T>(size, group, op::max{});
        if constexpr (!std::is_integral_v<T>) {
            check_one<T>(size, group, op::mean{});
        }
    }
}

} // namespace

TEST_CASE("all_reduce of device arrays: floats of all widths, as over threads") {
    check_all<float>();
    check_all<double>();
    check_all<__half>();
    check_all<__nv_bfloat16>();
}

TEST_CASE("all_reduce of device arrays: integers of all widths, as over threads") {
    check_all<std::int8_t>();
    check_all<std::uint16_t>();
    check_all<std::int32_t>();
    check_all<std::uint64_t>();
    check_all<long long>();
}

TEST_CASE("all_reduce of device arrays: longer than what is reduced at a time, and not a multiple of the replicas" *
          doctest::test_suite("plain")) {
    auto const size = group_sizes().back();
    auto const n = tally::cuda::detail::most_reduced_bytes / sizeof(std::int32_t) + 5;
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        law_buffer<tally::device_space, std::int32_t> values{std::vector<std::int32_t>(n, comm.rank() + 1)};
        tally::all_reduce(comm, values.span(), op::sum{});
        CHECK(values.read() == std::vector<std::int32_t>(n, size * (size + 1) / 2));
    });
}

TEST_CASE("all_reduce of device arrays: different requests are layout_mismatch on all replicas and change nothing") {
    auto const size = group_sizes().back();
    if (size < 2) {
        MESSAGE("skipped: needs two devices");
        return;
    }
    auto group = make_group(size);
    on_group(group, [&](tally::nccl_communicator& comm) {
        law_buffer<tally::device_space, float> values{{1, 2, 3}};
        auto const text = text_of<tally::layout_mismatch>([&] {
            if (comm.rank() == 0) {
                tally::all_reduce(comm, values.span(), op::sum{});
            } else {
                tally::all_reduce(comm, values.span(), op::mean{});
            }
        });
        CHECK(
            contains(text, "replica 0 called all_reduce of 3 elements of type float32 with op::sum, replica 1 called"));
        CHECK_THROWS_AS(tally::all_reduce(comm, values.span().first(comm.rank() == 0 ? 2 : 3), op::sum{}),
                        tally::layout_mismatch);
        CHECK(values.read() == std::vector<float>{1, 2, 3});
        CHECK(works(comm));
    });
}

TEST_CASE("all_reduce of device arrays: two exchanges and one kernel; a second call allocates nothing" *
          doctest::test_suite("plain")) {
    TALLY_NEEDS_COUNTERS();
    auto const size = group_sizes().back();
    auto const replicas = static_cast<unsigned long long>(size);
    auto group = make_group(size);
    auto const reduce = [](tally::nccl_communicator& comm, law_buffer<tally::device_space, float>& values) {
        tally::all_reduce(comm, values.span(), op::mean{});
    };
    std::vector<law_buffer<tally::device_space, float>> values;
    for (int rank = 0; rank != size; ++rank) {
        tally::cuda::device_guard const guard{rank};
        values.emplace_back(std::vector<float>(8000, 1.0F));
    }
    on_group(group, [&](auto& comm) { reduce(comm, values[static_cast<std::size_t>(comm.rank())]); });
    count_from_here();
    on_group(group, [&](auto& comm) { reduce(comm, values[static_cast<std::size_t>(comm.rank())]); });
    CHECK(counted("reduce_share_kernel", "launches") == replicas);
    CHECK(counted("group", "nccl_calls") == 3 * replicas); // one compares the calls
    CHECK(counted("AllGather", "nccl_calls") == replicas);
    for (auto const* call : {"cudaMalloc", "cudaMallocHost", "cudaStreamSynchronize", "cudaEventCreate"}) {
        CAPTURE(call);
        CHECK(counted(call, "calls") == 0);
    }
}
