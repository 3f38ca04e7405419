// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How kernels are shaped: an aggregate of numbers, chosen by the compute capability of the device that code is generated
// for, or given by the user as a template argument of the tracker.
#pragma once

#include <tally/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::cuda {

/// Where the cells of a table are updated.
enum class table_strategy : std::uint8_t {
    automatic, ///< registers, shared or global, by the bytes of the table
    registers, ///< a counter in each thread for each cell: tables of up to 8 counts
    shared,    ///< a copy in each block's shared memory, added to the table at the end of the update
    global,    ///< the table itself, by atomics; a warp's equal cells are added up first
};

/// When update asks whether its pointers may be read by the device. The question costs about a microsecond an input.
enum class pointer_check : std::uint8_t {
    first_update, ///< once for each tracker
    every_update, ///< for debugging
    never,
};

/// Shape of the update kernels. `threads` is a power of two between 64 and 1024.
struct tuning {
    int threads = 256;                 ///< threads of a block
    int bytes_in_flight = 64;          ///< of each input's elements, loaded by a thread before it evaluates them
    int most_items = 16;               ///< samples that a thread evaluates at once, at most
    int blocks_per_multiprocessor = 8; ///< at most; fewer where registers or shared memory say so
    table_strategy tables = table_strategy::automatic;
    std::size_t shared_table_bytes = 48 * 1024;                  ///< tables beyond this are not copied to shared memory
    std::uint64_t samples_before_flush = std::uint64_t{1} << 31; ///< 32-bit counts are flushed before they can wrap
    int row_columns_by_thread = 32;   ///< rows of up to so many columns are read by one thread each
    int row_columns_by_warp = 8192;   ///< up to so many by a warp, longer ones by a block
    int row_columns_by_block = 32768; ///< of longer rows, read at a time; of few rows, by several blocks
    pointer_check pointers = pointer_check::first_update;
};

/// The tuning for a compute capability, 10 * major + minor. From the widths of the memory systems; sm_75 has half the
/// registers and threads of a multiprocessor that the others have.
TALLY_HD constexpr tuning tuning_for(int compute_capability) {
    tuning chosen;
    if (compute_capability < 80) {
        chosen.blocks_per_multiprocessor = 4;
        chosen.bytes_in_flight = 32;
        chosen.most_items = 8;
    }
    return chosen;
}

/// Chooses by the architecture. A user's own policy is a struct with such a function, which device code calls as well.
struct default_tuning {
    TALLY_HD static constexpr tuning select(int compute_capability) { return tuning_for(compute_capability); }
};

} // namespace tally::cuda
