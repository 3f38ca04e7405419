// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A tuning with blocks so small that a test's samples need many of them.
#pragma once

#include <tally/cuda/tuning.hpp>

namespace tally::testing {

struct small_blocks {
    static constexpr tally::cuda::tuning select(int) {
        tally::cuda::tuning chosen;
        chosen.threads = 64;
        chosen.most_items = 4;
        chosen.blocks_per_multiprocessor = 1;
        return chosen;
    }
};

} // namespace tally::testing
