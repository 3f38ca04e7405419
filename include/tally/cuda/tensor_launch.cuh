// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches of the multi-tensor kernel: one for up to 1,000 tensors, one more for each further 1,000. The tensors are
// given as a function of their number, so that no array of them is made.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/tensor_kernel.cuh>
#include <tally/cuda/tensor_list.hpp>
#include <tally/cuda/update.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace tally::cuda::detail {

template <class Task, class Tuning>
class tensor_launcher {
public:
    tensor_launcher(device_traits const& device, launch_cache& cache, typename Task::arguments const& task)
        : device_{device}, cache_{cache}, task_{task} {}

    /// item_of(i) is the tensor_item of each i in [0, n); those of size 0 are left out. Throws shape_error before
    /// anything is launched.
    template <class ItemOf>
    void launch(std::size_t n, ItemOf const& item_of, cudaStream_t stream) const {
        std::size_t used = 0;
        for (std::size_t i = 0; i < n; ++i) {
            tensor_item const item = item_of(i);
            used += item.size != 0 ? 1 : 0;
            if (item.size != 0 && reinterpret_cast<std::uintptr_t>(item.data) % item.width != 0) {
                throw shape_error("tensor " + std::to_string(i) + " begins at an address that is no multiple of its " +
                                  std::to_string(item.width) + "-byte elements");
            }
            if (item.size > most_elements) {
                throw shape_error("tensor " + std::to_string(i) + " is said to have " + std::to_string(item.size) +
                                  " elements, more than any device holds");
            }
        }
        std::size_t next = 0;
        while (used > 0) {
            used -= used <= short_list ? launch_some<short_list>(next, n, item_of, stream)
                                       : launch_some<long_list>(next, n, item_of, stream);
        }
    }

private:
    static constexpr std::uint64_t most_elements = std::uint64_t{1} << 36; // of 16 bytes, in tiles of 1 KB: 2^30 tiles

    /// Takes items from number `next` on until the list is full. Returns how many.
    template <int Capacity, class ItemOf>
    std::size_t launch_some(std::size_t& next, std::size_t n, ItemOf const& item_of, cudaStream_t stream) const {
        auto* const kernel = &tensor_kernel<Task, Tuning, Capacity>;
        auto const& traits = cache_.template of<Tuning>(reinterpret_cast<void const*>(kernel), device_, 0);
        auto const tile_bytes = tensor_tile_bytes(traits.chosen);
        tensor_arguments<Task, Capacity> arguments;
        static_assert(sizeof(arguments) <= 32764);
        arguments.task = task_;
        auto& list = arguments.list;
        list.tensors = 0;
        std::uint64_t tiles = 0;
        for (; next < n && list.tensors < Capacity; ++next) {
            tensor_item const item = item_of(next);
            if (item.size == 0) {
                continue;
            }
            if (item.tiles(tile_bytes) > std::numeric_limits<std::uint32_t>::max() - tiles) {
                break; // the first one always fits: see most_elements
            }
            list.entries[list.tensors++] = {item.data,   item.size,   static_cast<std::uint32_t>(tiles),
                                            item.lead(), item.target, item.tag};
            tiles += item.tiles(tile_bytes);
        }
        list.tiles = static_cast<std::uint32_t>(tiles);
        auto const blocks = std::clamp<std::uint64_t>(tiles, 1, traits.most_blocks);
        kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(traits.chosen.threads), 0, stream>>>(arguments);
        check(cudaGetLastError(), "launch of a multi-tensor kernel", stream);
        return list.tensors;
    }

    device_traits const& device_;
    launch_cache& cache_;
    typename Task::arguments task_;
};

/// A pass of a `resident` over many tensors. arguments_of(launch_target) gives what the task takes from the host.
template <class Task, class Tuning, class ItemOf, class ArgumentsOf>
class tensor_pass {
public:
    tensor_pass(std::size_t n, ItemOf item_of, ArgumentsOf arguments_of)
        : n_{n}, item_of_{item_of}, arguments_of_{arguments_of} {}

    [[nodiscard]] std::size_t samples() const { return n_; }
    template <class F>
    void for_each_pointer(F const& f) const {
        for (std::size_t i = 0; i < n_; ++i) {
            tensor_item const item = item_of_(i);
            if (item.size != 0) {
                f(item.data);
            }
        }
    }
    template <class Target>
    void launch(Target const& target, cudaStream_t stream) const {
        tensor_launcher<Task, Tuning>{target.device, target.cache, arguments_of_(target)}.launch(n_, item_of_, stream);
    }

private:
    std::size_t n_;
    ItemOf item_of_;
    ArgumentsOf arguments_of_;
};

template <class Task, class Tuning, class ItemOf, class ArgumentsOf>
auto make_tensor_pass(std::size_t n, ItemOf item_of, ArgumentsOf arguments_of) {
    return tensor_pass<Task, Tuning, ItemOf, ArgumentsOf>(n, item_of, arguments_of);
}

} // namespace tally::cuda::detail
