// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Inside a trainer that has an ncclComm_t and a stream already: tally borrows both.
#include "../cuda/device.hpp"

#include <tally/cuda.hpp>
#include <tally/nccl.hpp>

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace tally::literals;

// listing-begin
class validation {
    using metrics =
        tally::collection<tally::named<"loss", tally::log_loss<>>, tally::named<"top-1", tally::accuracy<>>>;

public:
    validation(ncclComm_t comm, cudaStream_t stream) : comm_{comm, stream}, tracker_{stream} {} // comm stays yours

    /// After each forward pass, on every rank: one kernel on the stream, no wait.
    void batch(float const* logits, std::int32_t const* labels, std::size_t rows, std::size_t classes) {
        tracker_.update(tally::scores(logits, rows, classes), tally::targets(labels, rows));
    }
    /// At the end of an epoch, on every rank, also those without a batch: the values of all ranks, on all ranks.
    tally::combined<metrics> end_of_epoch() {
        auto all = tracker_.combine(comm_);
        tracker_.reset();
        return all;
    }

private:
    tally::nccl_communicator comm_;
    tally::cuda::tracker<metrics> tracker_;
};
// listing-end

int main() {
    if (!device_present()) {
        return 0;
    }
    // What a trainer has; of one rank, to be short.
    ncclComm_t comm = nullptr;
    int const device = 0;
    if (ncclCommInitAll(&comm, 1, &device) != ncclSuccess) {
        return 1;
    }
    cudaStream_t stream = nullptr;
    tally::cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
    bool right = false;
    {
        on_device<float> const logits(std::vector<float>{2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 0, 0});
        on_device<std::int32_t> const labels(std::vector<std::int32_t>{0, 1, 2, 1});
        validation epoch{comm, stream};
        epoch.batch(logits.data(), labels.data(), 4, 3);
        auto const all = epoch.end_of_epoch();
        std::printf("top-1 %.2f, loss %.3f\n", all["top-1"_metric].value(), all["loss"_metric].value());
        right = all["top-1"_metric].value() == 0.75 && epoch.end_of_epoch().samples() == 0;
    }
    tally::cuda::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return ncclCommDestroy(comm) == ncclSuccess && right ? 0 : 1;
}
