// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Owners of device memory, of pinned host memory and of events. Destructors never throw and never wait for more than
// the runtime's own release of the memory does.
#pragma once

#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>

#include <cstddef>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

namespace tally::cuda {

namespace detail {

struct release_device {
    void operator()(std::byte* memory) const noexcept { (void)cudaFree(memory); }
};
/// By a thread of its own: freeing pinned memory waits for the work of all devices, and with replicas in threads that work
/// may be a collective that waits for the thread which is about to free.
struct release_pinned {
    void operator()(std::byte* memory) const noexcept {
        try {
            std::thread([memory] { (void)cudaFreeHost(memory); }).detach();
        } catch (...) { // no thread to be had: better a wait than a leak
            (void)cudaFreeHost(memory);
        }
    }
};

/// Bytes that are allocated once. Uninitialised.
template <class Release>
class buffer {
public:
    buffer() = default;
    explicit buffer(std::size_t bytes) : bytes_{bytes} {
        if (bytes != 0) {
            void* memory = nullptr;
            if constexpr (std::is_same_v<Release, release_device>) {
                check(cudaMalloc(&memory, bytes), "cudaMalloc");
            } else {
                check(cudaMallocHost(&memory, bytes), "cudaMallocHost");
            }
            memory_.reset(static_cast<std::byte*>(memory));
        }
    }
    [[nodiscard]] std::byte* data() const { return memory_.get(); }
    [[nodiscard]] std::size_t size() const { return bytes_; }

private:
    std::unique_ptr<std::byte, Release> memory_;
    std::size_t bytes_ = 0;
};

using device_buffer = buffer<release_device>;
using pinned_buffer = buffer<release_pinned>;

/// An event without timing.
class event {
public:
    event() {
        cudaEvent_t made = nullptr;
        check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        event_.reset(made);
    }
    void record(cudaStream_t stream) const { check(cudaEventRecord(event_.get(), stream), "cudaEventRecord", stream); }
    /// Later work of the stream waits for the event.
    void hold_back(cudaStream_t stream) const {
        check(cudaStreamWaitEvent(stream, event_.get(), 0), "cudaStreamWaitEvent", stream);
    }
    void wait() const { check(cudaEventSynchronize(event_.get()), "cudaEventSynchronize"); }
    [[nodiscard]] bool ready() const {
        auto const code = cudaEventQuery(event_.get());
        if (code == cudaErrorNotReady) {
            (void)cudaGetLastError();
            return false;
        }
        check(code, "cudaEventQuery");
        return true;
    }

private:
    struct destroy {
        using pointer = cudaEvent_t;
        void operator()(cudaEvent_t made) const noexcept { (void)cudaEventDestroy(made); }
    };
    std::unique_ptr<cudaEvent_t, destroy> event_;
};

} // namespace detail
} // namespace tally::cuda
