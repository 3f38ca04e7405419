// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The multi-tensor kernel: many tensors of different sizes and element types by one launch. The work is split by bytes,
// not by tensors: each block takes a run of consecutive tiles, hands them to the task, and ends the task's part of a
// tensor where the tensor or the run ends. A block ends as many parts as tensors lie in its run; all blocks together end
// at most (blocks + tensors).
#pragma once

#include <tally/cuda/element_kernel.cuh>
#include <tally/cuda/load.cuh>
#include <tally/cuda/table_policy.hpp>
#include <tally/cuda/tensor_list.hpp>
#include <tally/cuda/tuning.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::cuda::detail {

/// What a task does, for the kernel:
///   Task::arguments            trivially copyable, from the host
///   Task::shared_type          in shared memory
///   Task{arguments, shared}    a thread's part; all threads of the block construct it
///   task.with_type(tag, f)     calls f.operator()<T>() with the element type
///   task.begin(target)         all threads, before the first tile of a tensor
///   task.take(x)               T (&x)[n], elements of this thread
///   task.take_some(x, valid)   the same for those whose bit in `valid` is set; the others are undefined
///   task.end_tile(target)      all threads, after a tile
///   task.end(target)           all threads, after the last tile of a tensor or of the block
template <class Task, int Capacity>
struct tensor_arguments {
    typename Task::arguments task;
    tensor_list<Capacity> list;
};

/// 16-byte chunks of a tile that each thread takes.
TALLY_HD constexpr int tensor_chunks(tuning const& chosen) {
    return chosen.bytes_in_flight < 32 ? 1 : chosen.bytes_in_flight / 16;
}
TALLY_HD constexpr std::uint64_t tensor_tile_bytes(tuning const& chosen) {
    return std::uint64_t{16} * static_cast<std::uint64_t>(chosen.threads * tensor_chunks(chosen));
}

/// Hands the tiles [first, last) of a tensor to the task.
template <class T, int Threads, int Chunks, class Task>
__device__ void take_tiles(tensor_entry const& tensor, std::uint32_t first, std::uint32_t last, Task& task) {
    constexpr int chunk = 16 / static_cast<int>(sizeof(T));
    constexpr std::int64_t tile_items = std::int64_t{Threads} * Chunks * chunk;
    auto const* const data = static_cast<T const*>(tensor.data);
    auto const size = static_cast<std::int64_t>(tensor.size);
    auto const lead = static_cast<std::int64_t>(tensor.lead);
    for (auto tile = first; tile < last; ++tile) {
        auto const begin = static_cast<std::int64_t>(tile) * tile_items - lead;
        auto const mine = begin + static_cast<std::int64_t>(threadIdx.x) * chunk;
        if (begin >= 0 && begin + tile_items <= size) {
            T held[Chunks][chunk];
#pragma unroll
            for (int u = 0; u < Chunks; ++u) {
                load_aligned<chunk>(data + mine + u * (Threads * chunk), held[u]);
            }
#pragma unroll
            for (int u = 0; u < Chunks; ++u) {
                task.take(held[u]);
            }
        } else {
#pragma unroll 1
            for (int u = 0; u < Chunks; ++u) {
                auto const at = mine + u * (Threads * chunk);
                T held[chunk];
                if (at >= 0 && at + chunk <= size) {
                    load_aligned<chunk>(data + at, held);
                    task.take(held);
                } else if (at + chunk > 0 && at < size) {
                    std::uint32_t valid = 0;
#pragma unroll
                    for (int c = 0; c < chunk; ++c) {
                        bool const inside = at + c >= 0 && at + c < size;
                        if (inside) {
                            held[c] = data[at + c];
                        }
                        valid |= static_cast<std::uint32_t>(inside) << c;
                    }
                    task.take_some(held, valid);
                }
            }
        }
        task.end_tile(tensor.target);
    }
}

/// Blocks of 512 threads together must fit a multiprocessor: 128 registers a thread.
template <class Tuning>
inline constexpr int tensor_blocks = threads_of<Tuning> < 512 ? 512 / threads_of<Tuning> : 1;

template <class Task, class Tuning, int Capacity>
__global__ void __launch_bounds__(threads_of<Tuning>, tensor_blocks<Tuning>)
    tensor_kernel(__grid_constant__ tensor_arguments<Task, Capacity> const arguments) {
    constexpr int threads = threads_of<Tuning>;
    constexpr int chunks = tensor_chunks(Tuning::select(compiled_arch));
    __shared__ typename Task::shared_type shared;

    auto const& list = arguments.list;
    auto const run_until = [&](std::uint64_t block) {
        return static_cast<std::uint32_t>(block * list.tiles / gridDim.x);
    };
    auto tile = run_until(blockIdx.x);
    auto const end = run_until(blockIdx.x + std::uint64_t{1});
    for (auto t = find_tensor(list, tile); tile < end; ++t) {
        auto const& tensor = list.entries[t];
        auto const next = t + 1 < list.tensors ? list.entries[t + 1].first_tile : list.tiles;
        auto const last = next < end ? next : end;
        Task task{arguments.task, shared};
        task.begin(tensor.target);
        task.with_type(tensor.tag, [&]<class T>() {
            take_tiles<T, threads, chunks>(tensor, tile - tensor.first_tile, last - tensor.first_tile, task);
        });
        task.end(tensor.target);
        tile = last;
    }
}

} // namespace tally::cuda::detail
