// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Several arrays in one allocation of device memory, each aligned for any access.
#pragma once

#include <tally/cuda/memory.hpp>

#include <cstddef>

namespace tally::cuda::detail {

/// Where an array will lie.
template <class T>
struct planned_array {
    std::size_t offset;
    [[nodiscard]] T* in(device_buffer const& memory) const { return reinterpret_cast<T*>(memory.data() + offset); }
};

/// Adds up sizes; then one buffer of bytes() holds all arrays.
class ranking_memory {
public:
    template <class T>
    planned_array<T> take(std::size_t elements) {
        auto const offset = bytes_;
        bytes_ += (elements * sizeof(T) + alignment - 1) / alignment * alignment;
        return {offset};
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    static constexpr std::size_t alignment = 256;
    std::size_t bytes_ = 0;
};

} // namespace tally::cuda::detail
