// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranges for profilers (NVTX): they show in Nsight Systems and cost a few nanoseconds where none is attached. NVTX is
// header-only and comes with the toolkit; without its headers there are no ranges.
#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define TALLY_HAS_NVTX 1
#endif

namespace tally::cuda::detail {

class profiling_range {
public:
#if defined(TALLY_HAS_NVTX)
    explicit profiling_range(char const* name) { nvtxRangePushA(name); }
    ~profiling_range() { nvtxRangePop(); }
#else
    explicit profiling_range(char const*) {}
    ~profiling_range() {}
#endif
    profiling_range(profiling_range const&) = delete;
    profiling_range& operator=(profiling_range const&) = delete;
};

} // namespace tally::cuda::detail
#undef TALLY_HAS_NVTX
