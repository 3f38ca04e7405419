// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What vgpu counted: launches, bytes, calls of the CUDA runtime. On a real GPU there are no counters, and the tests that
// need them are left out.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#if __has_include(<vgpu.h>)
#include <vgpu.h>
#endif

namespace tally::testing {

/// Whether this process runs on vgpu, so that work can be counted.
inline bool counts_work() {
#if __has_include(<vgpu.h>)
    return vgpu_present != nullptr && vgpu_present() != 0;
#else
    return false;
#endif
}

/// A counter of the kernels whose name holds `name`; or with the counters "calls", "bytes", "nccl_calls" and "nccl_bytes"
/// that of the call of this name. 0 if nothing was counted.
inline unsigned long long counted(char const* name, char const* counter) {
    unsigned long long value = 0;
#if __has_include(<vgpu.h>)
    if (vgpu_stats_get(name, counter, &value) == 0) {
        value = 0;
    }
#endif
    (void)name;
    (void)counter;
    return value;
}

/// Accesses of `width` bytes to global memory by loads of the kernels whose name holds `name`.
inline unsigned long long loads_of_width(char const* name, int width) {
    unsigned long long total = 0;
#if __has_include(<vgpu.h>)
    char* const json = vgpu_stats_json();
    std::string const text = json;
    std::free(json);
    auto const key = "\"" + std::to_string(width) + "\":";
    for (std::size_t at = text.find("\"name\""); at != std::string::npos;) {
        auto const next = text.find("\"name\"", at + 1);
        auto const entry = text.substr(at, next == std::string::npos ? next : next - at);
        auto const loads = entry.find("\"global_load\"");
        if (entry.substr(0, loads).find(name) != std::string::npos && loads != std::string::npos) {
            auto const widths = entry.find("\"by_width\"", loads);
            total += std::strtoull(entry.c_str() + entry.find(key, widths) + key.size(), nullptr, 10);
        }
        at = next;
    }
#endif
    (void)name;
    (void)width;
    return total;
}

inline void count_from_here() {
#if __has_include(<vgpu.h>)
    vgpu_stats_reset();
#endif
}

/// Calls of the runtime that allocate, copy, or make the host wait. Not cudaFreeHost: the library leaves it to a thread
/// of its own, for which nothing waits, and the one of an earlier test case may still be at it.
inline unsigned long long calls_that_wait_or_allocate() {
    unsigned long long total = 0;
    for (auto const* call :
         {"cudaMalloc", "cudaMallocAsync", "cudaMallocHost", "cudaHostAlloc", "cudaMallocManaged", "cudaFree",
          "cudaMemcpy", "cudaMemcpyAsync", "cudaMemset", "cudaMemsetAsync", "cudaStreamSynchronize",
          "cudaDeviceSynchronize", "cudaEventSynchronize"}) {
        total += counted(call, "calls");
    }
    return total;
}

} // namespace tally::testing

/// Leaves a test case out where work isn't counted.
#define TALLY_NEEDS_COUNTERS()                                                                                         \
    if (!tally::testing::counts_work()) {                                                                              \
        MESSAGE("skipped: only vgpu counts work");                                                                     \
        return;                                                                                                        \
    }
