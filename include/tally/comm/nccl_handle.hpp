// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Plain functions around NCCL's handles: results as exceptions, waiting for what NCCL does without blocking, and giving
// communicators back without ever waiting for another replica.
#pragma once

#include <tally/comm/detail/patience.hpp>
#include <tally/comm/nccl_error.hpp>
#include <tally/core/errors.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/error.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tally::detail {

/// What has to live as long as the device may use it.
using nccl_memory = std::vector<std::shared_ptr<void const>>;

/// NCCL's name of a result and its text, with what it last complained about, if anything.
inline std::string nccl_text(ncclResult_t result, ncclComm_t comm) {
    static constexpr char const* names[] = {"ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
                                            "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                                            "ncclRemoteError",   "ncclInProgress"};
    auto const number = static_cast<int>(result);
    auto text = std::string(ncclGetErrorString(result)) + " (" +
                (number >= 0 && number < 8 ? names[number] : ("ncclResult " + std::to_string(number)).c_str()) + ")";
    char const* const last = ncclGetLastError(comm);
    return last == nullptr || *last == '\0' ? text : text + "; NCCL's last words: " + last;
}

[[nodiscard]] inline bool nccl_failed(ncclResult_t result) { return result != ncclSuccess && result != ncclInProgress; }

/// Where an error happened.
struct nccl_place {
    int rank = -1;
    int device = -1;

    [[nodiscard]] std::string text() const {
        return " on " + (rank < 0 ? std::string("a replica") : "replica " + std::to_string(rank)) +
               (device < 0 ? std::string{} : ", device " + std::to_string(device));
    }
};

[[noreturn]] inline void throw_nccl_error(char const* call, ncclResult_t result, ncclComm_t comm, nccl_place place) {
    throw nccl_error(std::string(call) + " failed" + place.text() + ": " + nccl_text(result, comm),
                     static_cast<int>(result), place.rank, place.device);
}

inline void nccl_check(ncclResult_t result, char const* call, ncclComm_t comm = nullptr, nccl_place place = {}) {
    if (nccl_failed(result)) {
        throw_nccl_error(call, result, comm, place);
    }
}

/// Waits until what was begun on a non-blocking communicator is no longer in progress; false once the time is over.
/// Throws nccl_error.
inline bool nccl_settle(ncclComm_t comm, patience& waiting, char const* call, nccl_place place) {
    for (;;) {
        ncclResult_t state = ncclSuccess;
        nccl_check(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError", comm, place);
        nccl_check(state, call, comm, place);
        if (state == ncclSuccess) {
            return true;
        }
        if (!waiting.pause()) {
            return false;
        }
    }
}

enum class nccl_ending { destroy, abort };

/// Gives an owned communicator (or none) back, and after it the memory that its operations may have used. Both may wait for work
/// of this device, even of other communicators, so a thread of its own does it; the caller waits no longer than `limit`.
inline void nccl_retire(ncclComm_t comm, nccl_ending how, nccl_memory memory,
                        std::chrono::milliseconds limit) noexcept {
    auto const end = [comm, how] {
        if (comm == nullptr) {
            return;
        }
        (void)(how == nccl_ending::abort ? ncclCommAbort(comm) : ncclCommDestroy(comm));
    };
    // Shared, so that it isn't destroyed here if the thread can't be started.
    std::shared_ptr<nccl_memory> kept;
    try {
        kept = std::make_shared<nccl_memory>(std::move(memory));
        std::promise<void> ended;
        auto const signal = ended.get_future();
        std::thread([end, kept, ended = std::move(ended)]() mutable {
            end();
            ended.set_value();
            kept->clear();
        }).detach();
        signal.wait_for(limit);
    } catch (...) { // no memory or no thread: better a wait than a communicator that still writes
        end();
    }
}

/// A stream that is destroyed with its last owner, or one of the user's.
using nccl_stream = std::shared_ptr<CUstream_st>;

inline nccl_stream make_nccl_stream(int device) {
    cuda::device_guard const guard{device};
    cudaStream_t made = nullptr;
    cuda::check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return {made, [](cudaStream_t stream) { (void)cudaStreamDestroy(stream); }};
}
inline nccl_stream borrow_nccl_stream(cudaStream_t stream) {
    return {stream, [](cudaStream_t) {}};
}

} // namespace tally::detail
