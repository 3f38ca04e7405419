// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// all_reduce of users' own arrays in device memory: the values, in every bit, of all_reduce in host memory. Each replica
// gets its share of the array from all others, reduces it by one kernel in rank order, and hands the result round.
#pragma once

#include <tally/comm/all_reduce.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/type_name.hpp>
#include <tally/cuda/combine.cuh>
#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/memory.hpp>
#include <tally/op/ops.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace tally {

namespace cuda::detail {

/// Elements i of all replicas lie at parts[i + k * stride].
template <class T, class Op>
__global__ void reduce_share_kernel(T const* parts, std::size_t stride, std::size_t replicas, T* result,
                                    std::size_t n) {
    auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        result[i] = tally::detail::reduced_element<T, Op>(parts + i, stride, replicas);
    }
}

/// What all_reduce keeps between its calls.
template <class Channel>
struct reduction_memory {
    explicit reduction_memory(std::size_t bytes)
        : parts(bytes), mark(std::make_shared<typename Channel::mark_type>()) {}

    device_buffer parts;
    std::shared_ptr<typename Channel::mark_type> mark;
};

/// Bytes of an array that are reduced at a time.
inline constexpr std::size_t most_reduced_bytes = std::size_t{32} << 20;

/// Part of an array, and which of its elements each replica reduces.
template <class T>
class shared_out {
public:
    shared_out(std::span<T> data, std::size_t replicas) : data_{data}, replicas_{replicas} {}

    [[nodiscard]] std::span<T> share(std::size_t replica) const {
        auto const begin = first(replica);
        return data_.subspan(begin, first(replica + 1) - begin);
    }

private:
    [[nodiscard]] std::size_t first(std::size_t replica) const { return data_.size() * replica / replicas_; }

    std::span<T> data_;
    std::size_t replicas_;
};

template <class Op, class T, class Channel>
void reduce_chunk(Channel& channel, std::span<T> data, T* parts) {
    auto const replicas = static_cast<std::size_t>(channel.size());
    auto const rank = static_cast<std::size_t>(channel.rank());
    shared_out<T> const out{data, replicas};
    auto const mine = out.share(rank);
    channel.all_to_all(
        [&](std::size_t other) { return std::as_bytes(out.share(other)); },
        [&](std::size_t other) { return std::as_writable_bytes(std::span(parts + other * mine.size(), mine.size())); });
    channel.guarded([&] {
        if (!mine.empty()) {
            constexpr unsigned threads = 256;
            auto const blocks = static_cast<unsigned>(std::min<std::size_t>((mine.size() - 1) / threads + 1, 4096));
            device_guard const guard{channel.device()};
            reduce_share_kernel<T, Op>
                <<<blocks, threads, 0, channel.stream()>>>(parts, mine.size(), replicas, mine.data(), mine.size());
            check(cudaGetLastError(), "launch of the kernel of all_reduce", channel.stream());
        }
    });
    channel.all_to_all([&](std::size_t) { return std::as_bytes(mine); },
                       [&](std::size_t other) { return std::as_writable_bytes(out.share(other)); });
}

} // namespace cuda::detail

/// all_reduce (tally/comm/all_reduce.hpp) of an array in device memory, ready in the order of the communicator's stream;
/// T may also be __half or __nv_bfloat16. Returns when the result is there, the same bits as over threads, whatever the
/// number of bytes; only those of a NaN may differ. Each replica sends and receives twice the array's bytes, less its own
/// share. Device memory: as much as the array, at most 32 MiB, kept by the communicator for later calls. A message of 72
/// bytes through host memory compares the calls first. Throws layout_mismatch on all replicas if they differ, cuda::error,
/// replica_lost, deadline_exceeded; after the last three the contents of `data` are unspecified.
template <class T, cuda::device_communicator Communicator, class Op>
    requires detail::reducible<T>
void all_reduce(Communicator& communicator, std::span<T> data, Op) {
    detail::check_operation<T, Op>();
    auto const channel = communicator.shared_channel();
    using channel_type = std::remove_cvref_t<decltype(*channel)>;
    using memory_type = cuda::detail::reduction_memory<channel_type>;
    // A multiple of the replicas, so that what each receives for its share is as long as the array or not much longer.
    auto const replicas = static_cast<std::size_t>(channel->size());
    auto const longest = std::max<std::size_t>(cuda::detail::most_reduced_bytes / sizeof(T) / replicas, 1) * replicas;
    std::shared_ptr<memory_type> memory; // may run out, so not once others rely on this replica
    if (!data.empty()) {
        auto const share = (std::min(data.size(), longest) - 1) / replicas + 1;
        auto const bytes = std::bit_ceil(share * replicas * sizeof(T));
        auto const key = detail::hasher{}.add("all_reduce").add(std::uint64_t{bytes}).value();
        memory = channel->template keep<memory_type>(key, [&] { return std::make_shared<memory_type>(bytes); });
    }
    detail::agree_on_reduction<T, Op>(communicator.staged(), data.size());
    if (data.empty()) {
        return;
    }
    for (std::size_t first = 0; first < data.size(); first += longest) {
        cuda::detail::reduce_chunk<Op>(*channel, data.subspan(first, std::min(longest, data.size() - first)),
                                       reinterpret_cast<T*>(memory->parts.data()));
    }
    channel->mark(memory->mark, {memory});
    channel->wait(*memory->mark, communicator.deadline(), "all_reduce");
}

} // namespace tally
