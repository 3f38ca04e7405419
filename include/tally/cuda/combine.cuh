// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Combining the states of a device tracker over a communicator in device memory: one kernel packs them, one group of at
// most three collectives joins them, one copy brings the result to pinned memory. Nothing waits before the handle's get.
#pragma once

#include <tally/comm/agreement.hpp>
#include <tally/comm/combine.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/detail/call_batch.hpp>
#include <tally/core/errors.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/memory.hpp>
#include <tally/cuda/pack.cuh>
#include <tally/results.hpp>
#include <tally/state/fingerprint.hpp>
#include <tally/state/message.hpp>
#include <tally/state/store.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally::cuda {

/// A communicator whose buffers are device memory, such as nccl_communicator. `staged()` is the same group for data in
/// host memory, `shared_channel()` puts collectives on its stream without waiting for them.
template <class C>
concept device_communicator =
    communicator<C> && std::same_as<typename C::memory_space, device_space> && requires(C& c) {
        requires host_communicator<std::remove_cvref_t<decltype(c.staged())>>;
        c.shared_channel();
    };

namespace detail {

/// The device memory in which messages of one layout are made, once for each (communicator, layout), and the pinned
/// blocks in which their results arrive, one for each handle that is kept.
template <class Channel>
class message_memory {
public:
    struct block {
        pinned_buffer memory;
        std::shared_ptr<typename Channel::mark_type> mark;
    };

    message_memory(lane_sizes const& lanes, int replicas)
        : lanes_{lanes}, sums_{padded(lanes.bytes)}, maxes_{sums_ + padded((lanes.sums + 1) * sizeof(std::uint64_t))},
          all_{maxes_ + padded(lanes.maxes * sizeof(std::uint64_t))},
          device_(all_ + lanes.bytes * static_cast<std::size_t>(replicas)) {}

    /// The result of all lanes in one stretch: what is copied, and where the lanes begin in the copy.
    [[nodiscard]] std::byte* results() const { return device_.data() + sums_; }
    [[nodiscard]] std::size_t result_bytes() const { return device_.size() - sums_; }
    [[nodiscard]] std::size_t maxes_in_results() const { return maxes_ - sums_; }
    [[nodiscard]] std::size_t bytes_in_results() const { return all_ - sums_; }

    [[nodiscard]] std::span<std::uint64_t> sums() const { return words(sums_, lanes_.sums + 1); }
    [[nodiscard]] std::span<std::uint64_t> maxes() const { return words(maxes_, lanes_.maxes); }
    [[nodiscard]] std::span<std::byte> mine() const { return {device_.data(), lanes_.bytes}; }
    [[nodiscard]] std::span<std::byte> all() const { return {device_.data() + all_, device_.size() - all_}; }

    /// The kernel that packs comes after the last copy out of this memory, and before the collectives.
    template <class Pack>
    void pack(cudaStream_t stream, cudaStream_t collectives, std::uint64_t hash, Pack run_kernel) {
        copied_.hold_back(stream); // no-op before the first time
        run_kernel(message_lanes{sums().data(), maxes().data(), mine().data(), hash});
        packed_.record(stream);
        packed_.hold_back(collectives);
    }
    void copy_out(block& to, cudaStream_t stream) {
        check(cudaMemcpyAsync(to.memory.data(), results(), result_bytes(), cudaMemcpyDeviceToHost, stream),
              "cudaMemcpyAsync", stream);
    }
    void free_from(cudaStream_t stream) { copied_.record(stream); }

    std::shared_ptr<block> free_block(Channel& channel) {
        for (auto const& each : blocks_) {
            if (channel.ready(*each->mark) && each.use_count() == 1) {
                return each;
            }
        }
        blocks_.push_back(std::make_shared<block>(
            block{pinned_buffer(result_bytes()), std::make_shared<typename Channel::mark_type>()}));
        return blocks_.back();
    }

private:
    static std::size_t padded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

    [[nodiscard]] std::span<std::uint64_t> words(std::size_t offset, std::size_t count) const {
        return {reinterpret_cast<std::uint64_t*>(device_.data() + offset), count};
    }

    lane_sizes lanes_;
    std::size_t sums_;
    std::size_t maxes_;
    std::size_t all_;
    device_buffer device_;
    event packed_;
    event copied_;
    std::vector<std::shared_ptr<block>> blocks_;
};

/// The three collectives, as few of them as there are lanes.
template <class Channel>
std::vector<tally::detail::pending_call> calls_of(message_memory<Channel> const& memory, bool receives,
                                                  std::optional<int> root) {
    using call = tally::detail::pending_call;
    std::vector<call> batch;
    auto const sums = memory.sums();
    auto const maxes = memory.maxes();
    batch.push_back({call::kind::sum, {root ? "reduce_sum" : "all_reduce_sum", sums.size_bytes(), root}, {}, {}, sums});
    if (!maxes.empty()) {
        batch.push_back(
            {call::kind::max, {root ? "reduce_max" : "all_reduce_max", maxes.size_bytes(), root}, {}, {}, maxes});
    }
    if (auto const mine = memory.mine(); !mine.empty()) {
        auto const all = receives ? memory.all() : std::span<std::byte>{};
        batch.push_back({call::kind::gather, {root ? "gather" : "all_gather", mine.size(), root}, mine, all, {}});
    }
    return batch;
}

/// Sends the states of `resident` as they are at this point of the stream. Returns two functions: whether the result is
/// there, and the result (none where it isn't received), which waits. Everything that may fail for lack of memory comes
/// before the first collective, so that a replica that throws here may call again.
template <class M, class Resident, device_communicator Communicator>
auto start_exchange(cudaStream_t stream, std::shared_ptr<Resident> const& resident, Communicator& communicator,
                    std::optional<int> root) {
    auto const channel = communicator.shared_channel();
    using channel_type = std::remove_cvref_t<decltype(*channel)>;
    if (resident->device() != channel->device()) {
        throw configuration_error("a tracker on device " + std::to_string(resident->device()) +
                                  " can't be combined over a communicator on device " +
                                  std::to_string(channel->device()));
    }
    auto const& blank = resident->blank();
    auto const hash = layout_hash<M>(blank);
    auto const lanes = tally::detail::lanes_of_states(blank);
    auto const replicas = channel->size();
    bool const receives = !root || *root == channel->rank();
    device_guard const guard{channel->device()};

    using memory_type = message_memory<channel_type>;
    auto const memory =
        channel->template keep<memory_type>(hash, [&] { return std::make_shared<memory_type>(lanes, replicas); });
    auto const block = memory->free_block(*channel);
    auto const batch = calls_of(*memory, receives, root);
    tally::detail::agree<M>(communicator.staged(), blank, hash);

    memory->pack(stream, channel->stream(), hash, [&](message_lanes const& to) { resident->pack(stream, to); });
    channel->launch(batch);
    channel->guarded([&] {
        if (receives) {
            memory->copy_out(*block, channel->stream());
        }
        memory->free_from(channel->stream());
    });
    // The tracker's memory is kept as well: freeing it would wait for the collectives.
    channel->mark(block->mark, {memory, block, resident});

    auto ready = [channel, block] { return channel->ready(*block->mark); };
    auto get = [channel, block, blank, lanes, hash, replicas, receives, maxes = memory->maxes_in_results(),
                bytes = memory->bytes_in_results(), deadline = communicator.deadline(),
                what = "combine: " + tally::detail::batch_text(batch)]() -> std::optional<states_of<M>> {
        channel->wait(*block->mark, deadline, what);
        if (!receives) {
            return std::nullopt;
        }
        auto const* const results = block->memory.data();
        auto const* const sums = reinterpret_cast<std::uint64_t const*>(results);
        if (sums[lanes.sums] != hash * static_cast<std::uint64_t>(replicas)) {
            tally::detail::throw_different_combines();
        }
        auto states = blank;
        tally::detail::unpack(states, sums, reinterpret_cast<std::uint64_t const*>(results + maxes), results + bytes,
                              lanes.bytes, replicas);
        return states;
    };
    return std::pair{std::move(ready), std::move(get)};
}

} // namespace detail

/// A combine on its way, like a future. Dropping it waits for nothing. Keep the communicator until it is ready: a
/// communicator that is destroyed gives up what is in flight.
template <class M>
class pending_combined {
public:
    pending_combined(std::function<bool()> ready, std::function<std::optional<states_of<M>>()> states, int replicas)
        : ready_{std::move(ready)}, states_{std::move(states)}, replicas_{replicas} {}

    /// Whether get() would return or throw at once.
    [[nodiscard]] bool ready() const { return ready_(); }
    /// Waits for the other replicas, at most for the deadline that the communicator had. May be called again. Throws
    /// deadline_exceeded, replica_lost, layout_mismatch; the tracker is as it was.
    [[nodiscard]] combined<M> get() const { return combined<M>(*states_(), replicas_); }

private:
    std::function<bool()> ready_;
    std::function<std::optional<states_of<M>>()> states_;
    int replicas_;
};

} // namespace tally::cuda
