// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Metrics on one GPU: the same metric types as on the host, updated from device memory by one kernel a batch.
#include "device.hpp"

#include <tally/cuda.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

using namespace tally::literals;

// listing-begin
using evaluation = tally::collection<tally::named<"loss", tally::log_loss<>>,                 //
                                     tally::named<"top-1", tally::accuracy<>>,                //
                                     tally::named<"top-2", tally::accuracy<tally::top_k<2>>>, //
                                     tally::named<"confusion", tally::confusion_matrix<3>>>;

/// `logits` and `labels` are device memory, written by earlier work of the stream.
double evaluate(cudaStream_t stream, float const* logits, std::int32_t const* labels, std::size_t rows) {
    tally::cuda::tracker<evaluation> tracker{stream};
    for (std::size_t first = 0; first < rows; first += 2) { // batches of two rows
        auto const n = first + 2 <= rows ? std::size_t{2} : rows - first;
        tracker.update(tally::scores(logits + 3 * first, n, 3), tally::targets(labels + first, n)); // no wait
    }
    auto const pending = tracker.finalize_async(); // the values as of here; what comes later doesn't change them
    auto const result = pending.get();             // waits for the stream to come this far
    std::printf("top-1 %.2f  top-2 %.2f  loss %.4f, %llu samples\n", result["top-1"_metric].value(),
                result["top-2"_metric].value(), result["loss"_metric].value(),
                static_cast<unsigned long long>(result.samples()));
    return result["top-1"_metric].value();
}
// listing-end

int main() {
    if (!device_present()) {
        return 0;
    }
    on_device<float> const logits({2, 1, 0, /**/ 0, 3, 1, /**/ 1, 2, 0, /**/ 0, 1, 4, /**/ 1, 0, 3});
    on_device<std::int32_t> const labels({0, 1, 0, 2, 1});
    return evaluate(cudaStream_t{}, logits.data(), labels.data(), labels.size()) == 0.6 ? 0 : 1;
}
