// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Every call of the CUDA runtime is checked; what fails becomes a cuda::error that says which call, on which device and
// stream, and why.
#pragma once

#include <tally/core/errors.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace tally::cuda {

/// A call of the CUDA runtime failed. States are as they were before the call of tally that threw, unless `sticky()`.
class error : public tally::error {
public:
    error(char const* call, cudaError_t code, int device, cudaStream_t stream)
        : tally::error(describe(call, code, device, stream)), code_{code}, device_{device}, stream_{stream} {}

    [[nodiscard]] cudaError_t code() const { return code_; }
    /// The device that was current, or -1 if even that could not be asked.
    [[nodiscard]] int device() const { return device_; }
    /// The stream the call was for; null for the default stream and for calls that take none.
    [[nodiscard]] cudaStream_t stream() const { return stream_; }
    /// Whether the error has spoilt the device's context: every later call in this process fails as well.
    [[nodiscard]] bool sticky() const {
        switch (code_) {
        case cudaErrorIllegalAddress:
        case cudaErrorMisalignedAddress:
        case cudaErrorLaunchFailure:
        case cudaErrorLaunchTimeout:
        case cudaErrorIllegalInstruction:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorHardwareStackError:
        case cudaErrorAssert:
        case cudaErrorECCUncorrectable: return true;
        default: return false;
        }
    }

private:
    static std::string describe(char const* call, cudaError_t code, int device, cudaStream_t stream) {
        auto text = std::string(call) + " failed on device " + std::to_string(device);
        if (stream != nullptr) {
            text += ", stream " + std::to_string(reinterpret_cast<std::uintptr_t>(stream));
        }
        return text + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")";
    }

    cudaError_t code_;
    int device_;
    cudaStream_t stream_;
};

/// Throws cuda::error unless `code` is cudaSuccess. `call` is the name of what was called.
inline void check(cudaError_t code, char const* call, cudaStream_t stream = nullptr) {
    if (code != cudaSuccess) [[unlikely]] {
        (void)cudaGetLastError(); // an error that is not sticky has been reported with this exception
        int device = -1;
        (void)cudaGetDevice(&device);
        throw error(call, code, device, stream);
    }
}

} // namespace tally::cuda
