// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `nccl_staged`: an NCCL communicator for data in host memory, copied through pinned and device memory on the way. Models
// `communicator` in host memory, so that host trackers and the comparison of layouts work over NCCL unchanged.
#pragma once

#include <tally/comm/agreement_log.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/detail/batching.hpp>
#include <tally/comm/detail/call_batch.hpp>
#include <tally/comm/nccl_channel.hpp>
#include <tally/core/errors.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/memory.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tally {

/// What nccl_communicator::staged() gives: the same group with the same deadline, agreements and failures. A group of
/// calls is one copy to the device, one group of NCCL, one copy back and one wait; the buffers grow to the largest group
/// and are reused. Errors are those of nccl_communicator.
class nccl_staged : public detail::batching<nccl_staged> {
public:
    explicit nccl_staged(std::shared_ptr<detail::nccl_channel> channel)
        : batching(channel->deadline()), channel_(std::move(channel)), mark_(make_mark()) {}
    nccl_staged(nccl_staged const&) = delete;
    nccl_staged& operator=(nccl_staged const&) = delete;
    ~nccl_staged() { channel_->entrust(std::move(memory_)); }

    [[nodiscard]] int rank() const noexcept { return channel_->rank(); }
    [[nodiscard]] int size() const noexcept { return channel_->size(); }
    [[nodiscard]] agreement_log& agreements() noexcept { return channel_->agreements(); }
    [[nodiscard]] std::chrono::milliseconds deadline() const noexcept { return channel_->deadline(); }
    void set_deadline(std::chrono::milliseconds deadline) {
        batching::set_deadline(deadline); // checks it
        channel_->set_deadline(deadline);
    }

private:
    friend class detail::batching<nccl_staged>;
    using kind = detail::pending_call::kind;

    /// The same number of bytes on both sides.
    struct buffers {
        buffers(std::size_t bytes, cudaStream_t stream) : device(bytes), pinned(bytes) {
            // Gaps between the data of calls are copied along; no byte of them is left unwritten.
            cuda::check(cudaMemsetAsync(device.data(), 0, bytes, stream), "cudaMemsetAsync", stream);
        }

        cuda::detail::device_buffer device;
        cuda::detail::pinned_buffer pinned;
    };

    /// Where the data of a call lies in the buffers.
    struct place {
        std::size_t given = 0; // words of reductions are replaced here
        std::size_t gathered = 0;
    };

    [[nodiscard]] std::shared_ptr<detail::nccl_mark> make_mark() const {
        cuda::device_guard const guard{channel_->device()};
        return std::make_shared<detail::nccl_mark>();
    }

    static std::size_t padded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

    void make(std::span<detail::pending_call const> batch) {
        channel_->throw_if_failed();
        // What is sent only, what is sent and received, what is received only: one stretch to copy in each direction.
        places_.assign(batch.size(), {});
        std::size_t used = 0;
        auto const take = [&](std::size_t bytes) { return std::exchange(used, used + padded(bytes)); };
        for (std::size_t i = 0; i != batch.size(); ++i) {
            if (batch[i].what == kind::gather) {
                places_[i].given = take(batch[i].mine.size());
            }
        }
        auto const back = used;
        for (std::size_t i = 0; i != batch.size(); ++i) {
            if (batch[i].what != kind::gather) {
                places_[i].given = take(batch[i].words.size_bytes());
            }
        }
        auto const sent = used;
        for (std::size_t i = 0; i != batch.size(); ++i) {
            if (gathers_here(batch[i])) {
                places_[i].gathered = take(batch[i].all.size());
            }
        }
        cuda::device_guard const guard{channel_->device()};
        reserve(used);
        for (std::size_t i = 0; i != batch.size(); ++i) {
            auto const from = batch[i].what == kind::gather ? batch[i].mine : std::as_bytes(batch[i].words);
            std::copy(from.begin(), from.end(), memory_->pinned.data() + places_[i].given);
        }
        run(batch, back, sent, used);
        for (std::size_t i = 0; i != batch.size(); ++i) {
            if (gathers_here(batch[i])) {
                std::copy_n(memory_->pinned.data() + places_[i].gathered, batch[i].all.size(), batch[i].all.begin());
            } else if (batch[i].what != kind::gather && batch[i].call.received_by(rank())) {
                auto const words = std::as_writable_bytes(batch[i].words);
                std::copy_n(memory_->pinned.data() + places_[i].given, words.size(), words.begin());
            }
        }
    }

    [[nodiscard]] bool gathers_here(detail::pending_call const& each) const {
        return each.what == kind::gather && each.call.received_by(rank());
    }

    void reserve(std::size_t bytes) {
        if (memory_ != nullptr && memory_->device.size() >= bytes) {
            return;
        }
        auto larger = std::make_shared<buffers>(std::max<std::size_t>(2 * bytes, 4096), channel_->stream());
        channel_->entrust(std::exchange(memory_, std::move(larger)));
    }

    void run(std::span<detail::pending_call const> batch, std::size_t back, std::size_t sent, std::size_t used) {
        auto* const device = memory_->device.data();
        auto* const pinned = memory_->pinned.data();
        moved_.assign(batch.begin(), batch.end());
        for (std::size_t i = 0; i != batch.size(); ++i) {
            auto& each = moved_[i];
            if (each.what == kind::gather) {
                each.mine = {device + places_[i].given, each.mine.size()};
                each.all = {device + places_[i].gathered, gathers_here(each) ? each.all.size() : 0};
            } else {
                each.words = {reinterpret_cast<std::uint64_t*>(device + places_[i].given), each.words.size()};
            }
        }
        auto const stream = channel_->stream();
        if (sent != 0) {
            cuda::check(cudaMemcpyAsync(device, pinned, sent, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync",
                        stream);
        }
        channel_->launch(moved_);
        channel_->guarded([&] {
            if (used != back) {
                cuda::check(cudaMemcpyAsync(pinned + back, device + back, used - back, cudaMemcpyDeviceToHost, stream),
                            "cudaMemcpyAsync", stream);
            }
        });
        channel_->mark(mark_, {memory_});
        channel_->wait(*mark_, deadline(), detail::batch_text(batch));
    }

    std::shared_ptr<detail::nccl_channel> channel_;
    std::shared_ptr<detail::nccl_mark> mark_;
    std::shared_ptr<buffers> memory_;
    std::vector<place> places_;
    std::vector<detail::pending_call> moved_;
};

static_assert(host_communicator<nccl_staged>);

} // namespace tally
