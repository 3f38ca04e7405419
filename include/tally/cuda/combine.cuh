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

/// A communicator whose buffers are device memory, such as nccl_communicator. `shared_channel()` puts collectives on its
/// stream without waiting for them.
template <class C>
concept device_communicator = staged_communicator<C> && requires(C& c) { c.shared_channel(); };

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

    message_memory(Channel const& channel, lane_sizes const& lanes)
        : lanes_{lanes}, sums_{padded(lanes.bytes)}, maxes_{sums_ + padded((lanes.sums + 1) * sizeof(std::uint64_t))},
          all_{maxes_ + padded(lanes.maxes * sizeof(std::uint64_t))},
          bytes_{all_ + lanes.bytes * static_cast<std::size_t>(channel.size())}, device_{channel.memory(bytes_)} {}

    /// Once, on all replicas, after they have found that their messages are alike.
    void publish(Channel& channel) {
        if (!published_) {
            channel.publish(device_.get(), bytes_);
            published_ = true;
        }
    }

    /// The result of all lanes in one stretch: what is copied, and where the lanes begin in the copy.
    [[nodiscard]] std::byte* results() const { return device_.get() + sums_; }
    [[nodiscard]] std::size_t result_bytes() const { return bytes_ - sums_; }
    [[nodiscard]] std::size_t maxes_in_results() const { return maxes_ - sums_; }
    [[nodiscard]] std::size_t bytes_in_results() const { return all_ - sums_; }

    [[nodiscard]] std::span<std::uint64_t> sums() const { return words(sums_, lanes_.sums + 1); }
    [[nodiscard]] std::span<std::uint64_t> maxes() const { return words(maxes_, lanes_.maxes); }
    [[nodiscard]] std::span<std::byte> mine() const { return {device_.get(), lanes_.bytes}; }
    [[nodiscard]] std::span<std::byte> all() const { return {device_.get() + all_, bytes_ - all_}; }

    /// The kernel that packs comes after the last copy out of this memory, and before the collectives.
    template <class Pack>
    void pack(cudaStream_t stream, cudaStream_t collectives, std::uint64_t hash, Pack run_kernel) {
        copied_.hold_back(stream); // no-op before the first time
        run_kernel(lanes(hash));
        packed_.record(stream);
        packed_.hold_back(collectives);
    }
    [[nodiscard]] message_lanes lanes(std::uint64_t hash) const {
        return {sums().data(), maxes().data(), mine().data(), hash};
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
        blocks_.push_back(new_block());
        return blocks_.back();
    }
    [[nodiscard]] std::shared_ptr<block> new_block() const {
        return std::make_shared<block>(
            block{pinned_buffer(result_bytes()), std::make_shared<typename Channel::mark_type>()});
    }

private:
    static std::size_t padded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

    [[nodiscard]] std::span<std::uint64_t> words(std::size_t offset, std::size_t count) const {
        return {reinterpret_cast<std::uint64_t*>(device_.get() + offset), count};
    }

    lane_sizes lanes_;
    std::size_t sums_;
    std::size_t maxes_;
    std::size_t all_;
    std::size_t bytes_;
    std::shared_ptr<std::byte> device_;
    bool published_ = false;
    event packed_;
    event copied_;
    std::vector<std::shared_ptr<block>> blocks_;
};

inline void require_no_capture(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing", stream);
    if (status != cudaStreamCaptureStatusNone) {
        throw configuration_error(
            "a combine of its own can't be captured in a CUDA graph: call tracker.capture_combine("
            "communicator) before the capture and record() what it gives in it");
    }
}

/// A tracker's end of one kind of message over a channel: what each combine of this layout has in common.
template <class M, class Resident, class Channel>
class message_line {
public:
    using memory_type = message_memory<Channel>;
    using block_type = typename memory_type::block;

    template <device_communicator Communicator>
    message_line(std::shared_ptr<Resident> resident, Communicator& communicator, std::optional<int> root)
        : channel_{communicator.shared_channel()}, resident_{std::move(resident)}, hash_{resident_->hash()},
          lanes_{tally::detail::lanes_of_states(resident_->blank())}, root_{root} {
        if (resident_->device() != channel_->device()) {
            throw configuration_error("a tracker on device " + std::to_string(resident_->device()) +
                                      " can't be combined over a communicator on device " +
                                      std::to_string(channel_->device()));
        }
    }

    [[nodiscard]] Channel& channel() const { return *channel_; }
    [[nodiscard]] std::shared_ptr<Channel> const& shared_channel() const { return channel_; }
    [[nodiscard]] std::shared_ptr<Resident> const& resident() const { return resident_; }
    [[nodiscard]] std::uint64_t hash() const { return hash_; }
    [[nodiscard]] bool receives() const { return !root_ || *root_ == channel_->rank(); }
    [[nodiscard]] std::shared_ptr<memory_type> make_memory() const {
        return std::make_shared<memory_type>(*channel_, lanes_);
    }
    /// The three collectives, as few of them as there are lanes.
    [[nodiscard]] tally::detail::message_calls calls(memory_type const& memory) const {
        tally::detail::message_calls calls{lanes_.sums + 1, lanes_.maxes, lanes_.bytes, root_};
        calls.with(memory.sums(), memory.maxes(), memory.mine(), receives() ? memory.all() : std::span<std::byte>{});
        return calls;
    }
    template <device_communicator Communicator>
    void agree(Communicator& communicator, memory_type& memory) const {
        tally::detail::agree<M>(communicator.staged(), resident_->blank(), hash_);
        memory.publish(*channel_);
    }

    /// What has arrived. Throws layout_mismatch.
    [[nodiscard]] states_of<M> unpack(memory_type const& memory, block_type const& block) const {
        auto const* const results = block.memory.data();
        auto const* const sums = reinterpret_cast<std::uint64_t const*>(results);
        auto const* const maxes = reinterpret_cast<std::uint64_t const*>(results + memory.maxes_in_results());
        if (sums[lanes_.sums] != hash_ * static_cast<std::uint64_t>(channel_->size())) {
            tally::detail::throw_different_combines();
        }
        auto states = resident_->blank();
        tally::detail::unpack(states, sums, maxes, results + memory.bytes_in_results(), lanes_.bytes, channel_->size());
        return states;
    }

private:
    std::shared_ptr<Channel> channel_;
    std::shared_ptr<Resident> resident_;
    std::uint64_t hash_;
    lane_sizes lanes_;
    std::optional<int> root_;
};

template <class M, class Resident, device_communicator Communicator>
auto line_of(std::shared_ptr<Resident> const& resident, Communicator& communicator, std::optional<int> root) {
    using channel_type = std::remove_cvref_t<decltype(*communicator.shared_channel())>;
    return message_line<M, Resident, channel_type>(resident, communicator, root);
}

/// Sends the states of `resident` as they are at this point of the stream. Returns two functions: whether the result is
/// there, and the result (none where it isn't received), which waits. Everything that may fail for lack of memory comes
/// before the first collective, so that a replica that throws here may call again.
template <class M, class Resident, device_communicator Communicator>
auto start_exchange(cudaStream_t stream, std::shared_ptr<Resident> const& resident, Communicator& communicator,
                    std::optional<int> root) {
    auto const line = line_of<M>(resident, communicator, root);
    auto& channel = line.channel();
    using memory_type = typename decltype(line)::memory_type;
    device_guard const guard{channel.device()};
    require_no_capture(stream);

    auto const memory = channel.template keep<memory_type>(line.hash(), [&] { return line.make_memory(); });
    auto const block = memory->free_block(channel);
    auto const message = line.calls(*memory);
    auto const batch = message.calls();
    line.agree(communicator, *memory);

    memory->pack(stream, channel.stream(), line.hash(), [&](message_lanes const& to) { resident->pack(stream, to); });
    channel.launch(batch);
    channel.guarded([&] {
        if (line.receives()) {
            memory->copy_out(*block, channel.stream());
        }
        memory->free_from(channel.stream());
    });
    // The tracker's memory is kept as well: freeing it would wait for the collectives.
    channel.mark(block->mark, {memory, block, resident});

    auto ready = [line, block] { return line.channel().ready(*block->mark); };
    auto get = [line, memory, block, deadline = communicator.deadline(),
                what = "combine: " + tally::detail::batch_text(batch)]() -> std::optional<states_of<M>> {
        line.channel().wait(*block->mark, deadline, what);
        return line.receives() ? std::optional(line.unpack(*memory, *block)) : std::nullopt;
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
