// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers in device memory for tests, at any distance from an aligned address.
#pragma once

#include <tally/cuda/error.hpp>

#include <cstddef>
#include <vector>

namespace tally::testing {

template <class T>
class device_array {
public:
    device_array() = default;
    /// A copy of `values` that begins `offset` elements after an address that cudaMalloc gave.
    explicit device_array(std::vector<T> const& values, std::size_t offset = 0)
        : size_{values.size()}, offset_{offset} {
        cuda::check(cudaMalloc(&memory_, (size_ + offset_ + 1) * sizeof(T)), "cudaMalloc");
        if (size_ != 0) {
            cuda::check(cudaMemcpy(data(), values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
        }
    }
    device_array(device_array const&) = delete;
    device_array& operator=(device_array const&) = delete;
    ~device_array() { (void)cudaFree(memory_); }

    [[nodiscard]] T* data() const { return memory_ + offset_; }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    T* memory_ = nullptr;
    std::size_t size_ = 0;
    std::size_t offset_ = 0;
};

} // namespace tally::testing
