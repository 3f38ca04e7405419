// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels shaped by hand: a policy given to the tracker as a template argument.
#include "device.hpp"

#include <tally/cuda.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

// listing-begin
/// Starts from the library's choice. Device code asks as well, so the function is for both.
struct small_blocks {
    TALLY_HD static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.threads = 128;
        chosen.tables = tally::cuda::table_strategy::global;        // no copies in shared memory
        chosen.pointers = tally::cuda::pointer_check::every_update; // for debugging
        return chosen;
    }
};
using tracker = tally::cuda::tracker<tally::confusion_matrix<3>, small_blocks>;
// listing-end

int main() {
    if (!device_present()) {
        return 0;
    }
    on_device<std::int32_t> const predicted({0, 1, 2, 2});
    on_device<std::int32_t> const targets({0, 1, 2, 1});
    tracker confusion;
    confusion.update(tally::predictions(predicted.data(), predicted.size()),
                     tally::targets(targets.data(), targets.size()));
    auto const result = confusion.finalize().get();
    std::printf("class 1 taken for class 2: %d\n", static_cast<int>(result(1, 2)));
    return result(1, 2) == 1 && result(1, 1) == 1 ? 0 : 1;
}
