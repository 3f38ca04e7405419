// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Windows of NCCL: device memory that all replicas register together, so that its collectives of small messages need no
// copy of their own. From 2.27 on; with an older one, here or at run time, everything works without them.
#pragma once

#include <tally/comm/nccl_handle.hpp>
#include <tally/cuda/memory.hpp>

#include <nccl.h>

#include <cstddef>
#include <memory>

namespace tally::detail {

#if defined(NCCL_WIN_COLL_SYMMETRIC)

using nccl_window = ncclWindow_t;

/// Whether the library that is loaded has windows, as the header has.
inline bool nccl_has_windows() {
    int version = 0;
    return ncclGetVersion(&version) == ncclSuccess && version >= NCCL_VERSION(2, 27, 0);
}

/// Collective, and not at once: the window is there when the communicator has settled. It stays null where the devices
/// can't reach each other's memory, which is no error.
inline ncclResult_t nccl_register(ncclComm_t comm, std::byte* memory, std::size_t bytes, nccl_window& window) {
    return ncclCommWindowRegister(comm, memory, bytes, &window, NCCL_WIN_COLL_SYMMETRIC);
}
inline void nccl_deregister(ncclComm_t comm, nccl_window window) {
    if (window != nullptr) {
        (void)ncclCommWindowDeregister(comm, window);
    }
}

#else

using nccl_window = void*;

inline bool nccl_has_windows() { return false; }
inline ncclResult_t nccl_register(ncclComm_t, std::byte*, std::size_t, nccl_window&) { return ncclSuccess; }
inline void nccl_deregister(ncclComm_t, nccl_window) {}

#endif

/// Device memory of the current device, by NCCL's allocator where it is to become a window. Throws nccl_error, cuda::error.
inline std::shared_ptr<std::byte> nccl_allocate(std::size_t bytes, bool for_window) {
    if (!for_window) {
        auto const memory = std::make_shared<cuda::detail::device_buffer>(bytes);
        return {memory, memory->data()};
    }
    void* memory = nullptr;
    nccl_check(ncclMemAlloc(&memory, bytes), "ncclMemAlloc", nullptr, {-1, cuda::current_device()});
    return {static_cast<std::byte*>(memory), [](std::byte* each) { (void)ncclMemFree(each); }};
}

} // namespace tally::detail
