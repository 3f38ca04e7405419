// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The set-up itself: device code runs on the device that the test run says it runs on, and with the PTX that fits the
// device. Says nothing about tally.
#include <cub/block/block_reduce.cuh>
#include <doctest/doctest.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#if __has_include(<vgpu.h>)
#include <vgpu.h>
#endif

namespace {

constexpr int threads = 128;

struct totals {
    int sum = 0;
    int architecture = 0;
};

__global__ void add_up(int const* values, int size, totals* result) {
    using reduce = cub::BlockReduce<int, threads>;
    __shared__ typename reduce::TempStorage storage;
    int sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < size; i += threads) {
        sum += values[i];
    }
    sum = reduce(storage).Sum(sum);
    if (threadIdx.x == 0) {
        result->sum = sum;
#ifdef __CUDA_ARCH__
        result->architecture = __CUDA_ARCH__;
#endif
    }
}

// The device memory of a test: freed also where a check ends the case.
template <class T>
struct device_array {
    explicit device_array(std::size_t size) { REQUIRE(cudaMalloc(&data, size * sizeof(T)) == cudaSuccess); }
    ~device_array() { cudaFree(data); }
    device_array(device_array const&) = delete;
    device_array& operator=(device_array const&) = delete;

    T* data = nullptr;
};

std::string expected_device() {
    char const* const name = std::getenv("TALLY_TEST_DEVICE");
    return name == nullptr ? "" : name;
}

} // namespace

TEST_CASE("the tests run on the device they are meant to run on") {
    int devices = 0;
    REQUIRE(cudaGetDeviceCount(&devices) == cudaSuccess);
    CHECK(devices >= 1);
#if __has_include(<vgpu.h>)
    // A weak symbol: its address is null where the run-time is the real one.
    bool const on_vgpu = vgpu_present != nullptr && vgpu_present() != 0;
#else
    bool const on_vgpu = false;
#endif
    if (expected_device() == "vgpu") {
        CHECK(on_vgpu);
    } else if (expected_device() == "gpu") {
        CHECK(!on_vgpu);
    }
}

TEST_CASE("a kernel runs, and it is the one for this device") {
    int major = 0;
    int minor = 0;
    REQUIRE(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess);
    REQUIRE(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess);
    int const capability = 100 * major + 10 * minor;

    std::vector<int> values(1000);
    std::iota(values.begin(), values.end(), 1);
    device_array<int> const input{values.size()};
    device_array<totals> const output{1};
    std::size_t const bytes = values.size() * sizeof(int);
    REQUIRE(cudaMemcpy(input.data, values.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    add_up<<<1, threads>>>(input.data, static_cast<int>(values.size()), output.data);
    REQUIRE(cudaGetLastError() == cudaSuccess);
    totals result;
    REQUIRE(cudaMemcpy(&result, output.data, sizeof(result), cudaMemcpyDeviceToHost) == cudaSuccess);

    CHECK(result.sum == 500500);
    CHECK(result.architecture == (capability >= 900 ? 900 : capability >= 800 ? 800 : 750));
}
