// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Many tensors for one kernel, as a block of its parameters: nothing is copied to the device apart from the launch, so
// there is nothing to allocate, to keep alive or to wait for, and a captured launch keeps its own list.
#pragma once

#include <tally/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::cuda::detail {

/// A contiguous tensor on the device. Its tiles are counted from `lead` elements before the first one, which is at a
/// multiple of 16 bytes.
struct tensor_entry {
    void const* data;
    std::uint64_t size;       ///< elements, at least 1
    std::uint32_t first_tile; ///< number of the tensor's first tile among those of all tensors
    std::uint32_t lead;
    std::uint32_t target; ///< what it is accumulated into: the task knows
    std::uint32_t tag;    ///< for the task: element type
};

/// Kernels take 32,764 bytes of parameters (CUDA 12.1 and later, compute capability 7.0 and later). The short list
/// costs less to launch.
inline constexpr int short_list = 32;
inline constexpr int long_list = 1000;

template <int Capacity>
struct tensor_list {
    std::uint32_t tensors;
    std::uint32_t tiles; ///< of all tensors
    tensor_entry entries[Capacity];
};

/// The number of the tensor that a tile belongs to: the last one that begins at or before it.
template <int Capacity>
TALLY_HD constexpr std::uint32_t find_tensor(tensor_list<Capacity> const& list, std::uint32_t tile) {
    std::uint32_t low = 0;
    std::uint32_t high = list.tensors;
    while (high - low > 1) {
        auto const middle = low + (high - low) / 2;
        if (list.entries[middle].first_tile <= tile) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/// A tensor before it is in a list.
struct tensor_item {
    void const* data;
    std::uint64_t size;
    std::uint32_t width; ///< bytes of an element: a power of two up to 16
    std::uint32_t target;
    std::uint32_t tag;

    /// Elements between the multiple of 16 bytes at or before the first one, and the first one.
    [[nodiscard]] std::uint32_t lead() const {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data) % 16 / width);
    }
    [[nodiscard]] std::uint64_t tiles(std::uint64_t tile_bytes) const {
        return (size + lead()) / (tile_bytes / width) + ((size + lead()) % (tile_bytes / width) != 0 ? 1 : 0);
    }
};

} // namespace tally::cuda::detail
