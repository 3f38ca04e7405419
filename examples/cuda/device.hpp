// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the examples of this folder share: samples in device memory, and what to say where there is no device.
#pragma once

#include <tally/cuda/error.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

/// Whether there is a device. Says so where there is none; the examples end well then, having shown nothing.
inline bool device_present() {
    int devices = 0;
    auto const code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0) {
        std::printf("no CUDA device here (%s): this example was compiled, and has shown nothing\n",
                    code == cudaSuccess ? "none found" : cudaGetErrorString(code));
        return false;
    }
    return true;
}

/// A copy of host numbers on the current device.
template <class T>
class on_device {
public:
    explicit on_device(std::vector<T> const& values) : size_{values.size()} {
        tally::cuda::check(cudaMalloc(&data_, size_ * sizeof(T)), "cudaMalloc");
        tally::cuda::check(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    on_device(on_device const&) = delete;
    on_device& operator=(on_device const&) = delete;
    ~on_device() { (void)cudaFree(data_); }
    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    T* data_ = nullptr;
    std::size_t size_;
};
