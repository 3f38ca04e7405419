// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What device benchmarks own: memory, streams, events with times, graphs; and inputs that are made on the device.
#pragma once

#include <tally/cuda/error.hpp>

#include <cstddef>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace bench {

using tally::cuda::check;

template <class T>
class memory {
public:
    explicit memory(std::size_t size) : size_{size} { check(cudaMalloc(&data_, size * sizeof(T) + 16), "cudaMalloc"); }
    memory(memory const&) = delete;
    memory& operator=(memory const&) = delete;
    ~memory() { (void)cudaFree(data_); }
    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

private:
    T* data_ = nullptr;
    std::size_t size_;
};

class stream {
public:
    stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
    stream(stream const&) = delete;
    stream& operator=(stream const&) = delete;
    ~stream() { (void)cudaStreamDestroy(stream_); }
    [[nodiscard]] cudaStream_t get() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

class timed_event {
public:
    timed_event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
    timed_event(timed_event const&) = delete;
    timed_event& operator=(timed_event const&) = delete;
    ~timed_event() { (void)cudaEventDestroy(event_); }
    void record(cudaStream_t where) const { check(cudaEventRecord(event_, where), "cudaEventRecord", where); }
    /// Both events have passed.
    [[nodiscard]] double us_until(timed_event const& later) const {
        float ms = 0.0F;
        check(cudaEventElapsedTime(&ms, event_, later.event_), "cudaEventElapsedTime");
        return 1e3 * static_cast<double>(ms);
    }

private:
    cudaEvent_t event_ = nullptr;
};

/// The work that `body` puts on a stream, as a graph.
class graph {
public:
    template <class Body>
    graph(cudaStream_t stream, Body const& body) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture", stream);
        body();
        cudaGraph_t captured = nullptr;
        check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture", stream);
        check(cudaGraphInstantiate(&executable_, captured, 0), "cudaGraphInstantiate");
        check(cudaGraphDestroy(captured), "cudaGraphDestroy");
    }
    graph(graph const&) = delete;
    graph& operator=(graph const&) = delete;
    ~graph() { (void)cudaGraphExecDestroy(executable_); }
    void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch", stream); }

private:
    cudaGraphExec_t executable_ = nullptr;
};

// ---- inputs ---------------------------------------------------------------------------------------------------------

template <class T>
inline constexpr char const* element_name = "int32";
template <>
inline constexpr char const* element_name<float> = "fp32";
template <>
inline constexpr char const* element_name<__half> = "fp16";
template <>
inline constexpr char const* element_name<__nv_bfloat16> = "bf16";

/// A well mixed function of i (the finaliser of splitmix64).
__host__ __device__ inline std::uint64_t mixed(std::uint64_t i) {
    i += 0x9e3779b97f4a7c15U;
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9U;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebU;
    return i ^ (i >> 31);
}

/// Numbers from [0, scale), in steps of 2^-24 scale.
template <class T>
__global__ void fill_numbers(T* to, std::size_t size, float scale, std::uint64_t seed) {
    auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step) {
        to[i] = static_cast<T>(static_cast<float>(mixed(seed + i) >> 40) * (0x1p-24F * scale));
    }
}

/// Labels of `classes` classes; and predictions of which about `diagonal` of 100 are right, the others of any class.
template <class Label>
__global__ void fill_labels(Label* targets, Label* predictions, std::size_t size, std::uint32_t classes,
                            std::uint32_t diagonal) {
    auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step) {
        auto const bits = mixed(i);
        auto const target = static_cast<Label>((bits & 0xffffffU) % classes);
        targets[i] = target;
        if (predictions != nullptr) {
            auto const other = static_cast<Label>(((bits >> 24) & 0xffffffU) % classes);
            predictions[i] = (bits >> 48) % 100 < diagonal ? target : other;
        }
    }
}

inline unsigned blocks_to_fill(std::size_t size) {
    auto const blocks = (size + 255) / 256;
    return static_cast<unsigned>(blocks == 0 ? 1 : blocks < 4096 ? blocks : 4096);
}

} // namespace bench
