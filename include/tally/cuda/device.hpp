// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Which device calls go to, and what of it decides how kernels are launched.
#pragma once

#include <tally/cuda/error.hpp>

#include <cstddef>

namespace tally::cuda {

/// The calling thread's current device.
inline int current_device() {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    return device;
}

/// Makes a device current for a scope. Costs one runtime call where it is current already. The destructor can't throw:
/// going back to a device that was current a moment ago does not fail unless the process is lost.
class device_guard {
public:
    explicit device_guard(int device) : previous_{current_device()}, changed_{previous_ != device} {
        if (changed_) {
            check(cudaSetDevice(device), "cudaSetDevice");
        }
    }
    device_guard(device_guard const&) = delete;
    device_guard& operator=(device_guard const&) = delete;
    ~device_guard() {
        if (changed_) {
            (void)cudaSetDevice(previous_);
        }
    }

private:
    int previous_;
    bool changed_;
};

/// The few properties that tuning depends on.
struct device_traits {
    int device = 0;
    int multiprocessors = 1;
    int compute_capability = 75;          ///< 10 * major + minor
    std::size_t shared_bytes = 48 * 1024; ///< dynamic shared memory that a block may ask for
    bool reads_pageable_memory = false;   ///< kernels may read ordinary host memory

    static device_traits of(int device) {
        auto const attribute = [device](cudaDeviceAttr which) {
            int value = 0;
            check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
            return value;
        };
        device_traits traits;
        traits.device = device;
        traits.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
        traits.compute_capability =
            10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
        traits.shared_bytes = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
        traits.reads_pageable_memory = attribute(cudaDevAttrPageableMemoryAccess) != 0;
        return traits;
    }
};

} // namespace tally::cuda
