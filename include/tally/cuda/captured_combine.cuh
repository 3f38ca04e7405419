// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A combine that can be captured in a CUDA graph: everything that allocates, compares or waits is done before, once. What
// is recorded is one kernel, one group of collectives and one copy, which each launch of the graph repeats.
#pragma once

#include <tally/cuda/combine.cuh>
#include <tally/cuda/device.hpp>
#include <tally/results.hpp>
#include <tally/state/store.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace tally::cuda {

/// What tracker.capture_combine(communicator) gives. Keep it, and the communicator, as long as the graph is launched.
///
///     auto recorded = tracker.capture_combine(comm);           // all replicas; before the capture
///     cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
///     tracker.update(stream, tally::values(batch, n));
///     recorded.record(stream);
///     cudaStreamEndCapture(stream, &graph);
///     ...
///     cudaGraphLaunch(launchable, stream);                     // all replicas, as often as one likes
///     auto all = recorded.get(stream);                         // of the last launch
///
/// All replicas must launch their graphs in the same order as their other collectives over this communicator. record()
/// may also be called outside of a capture; then it is an ordinary combine, on this stream, that allocates nothing.
template <class M>
class captured_combine {
public:
    captured_combine(std::function<void(cudaStream_t)> record, std::function<states_of<M>(cudaStream_t)> states,
                     int replicas)
        : record_{std::move(record)}, states_{std::move(states)}, replicas_{replicas} {}

    /// Puts the combine of the states, as they are at this point of the stream, there. Never waits. The result of the
    /// combine before is overwritten when it runs. Throws replica_lost, nccl_error, cuda::error.
    void record(cudaStream_t stream) const { record_(stream); }

    /// Waits until the stream has come to this point, at most for the deadline that the communicator had, and gives the
    /// values of the last combine in it. Not while the stream is captured. Throws deadline_exceeded, replica_lost,
    /// layout_mismatch; the tracker is as it was.
    [[nodiscard]] combined<M> get(cudaStream_t stream) const { return combined<M>(states_(stream), replicas_); }

private:
    std::function<void(cudaStream_t)> record_;
    std::function<states_of<M>(cudaStream_t)> states_;
    int replicas_;
};

namespace detail {

/// The memory of a recorded combine. It is never freed by the thread that lets go of it: freeing would wait for the device.
template <class Line>
class recorded_message {
public:
    explicit recorded_message(Line line)
        : line_{std::move(line)}, memory_{line_.make_memory()}, block_{memory_->new_block()} {}
    recorded_message(recorded_message const&) = delete;
    recorded_message& operator=(recorded_message const&) = delete;
    ~recorded_message() {
        line_.channel().entrust(std::move(memory_));
        line_.channel().entrust(std::move(block_));
    }

    template <device_communicator Communicator>
    void agree(Communicator& communicator) const {
        line_.agree(communicator, *memory_);
    }

    void record(cudaStream_t stream) const {
        auto& channel = line_.channel();
        channel.throw_if_failed();
        device_guard const guard{channel.device()};
        line_.resident()->pack(stream, memory_->lanes(line_.hash()));
        auto const message = line_.calls(*memory_);
        channel.launch(message.calls(), stream);
        channel.guarded([&] { memory_->copy_out(*block_, stream); });
    }

    [[nodiscard]] auto states(cudaStream_t stream, std::chrono::milliseconds deadline) const {
        auto& channel = line_.channel();
        channel.throw_if_failed();
        {
            device_guard const guard{channel.device()};
            require_no_capture(stream);
        }
        channel.mark(block_->mark, {memory_, block_, line_.resident()}, stream);
        channel.wait(*block_->mark, deadline, "a combine in a CUDA graph");
        return line_.unpack(*memory_, *block_);
    }

private:
    Line line_;
    std::shared_ptr<typename Line::memory_type> memory_;
    std::shared_ptr<typename Line::block_type> block_;
};

template <class M, class Resident, device_communicator Communicator>
captured_combine<M> make_captured_combine(std::shared_ptr<Resident> const& resident, Communicator& communicator) {
    auto line = line_of<M>(resident, communicator, std::nullopt);
    device_guard const guard{line.channel().device()};
    using message_type = recorded_message<decltype(line)>;
    auto const message = std::make_shared<message_type>(line);
    message->agree(communicator);
    return {[message](cudaStream_t stream) { message->record(stream); },
            [message, deadline = communicator.deadline()](cudaStream_t stream) {
                return message->states(stream, deadline);
            },
            communicator.size()};
}

} // namespace detail
} // namespace tally::cuda
