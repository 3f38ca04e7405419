// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What an update costs, counted: one launch and one read of the inputs whatever the number of metrics, by loads of 16
// bytes; no allocation, no copy, no wait.
#include "support/device_array.cuh"
#include "support/device_counters.hpp"

#include <doctest/doctest.h>

#include <tally/cuda.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using tally::testing::counted;
using tally::testing::device_array;

namespace {

using one_metric = tally::mean<>;
using ten_metrics =
    tally::collection<tally::named<"mean", tally::mean<>>, tally::named<"variance", tally::variance<>>,
                      tally::named<"deviation", tally::standard_deviation<>>, tally::named<"sum", tally::total<>>,
                      tally::named<"largest", tally::largest<>>, tally::named<"smallest", tally::smallest<>>,
                      tally::named<"histogram", tally::histogram<tally::linear_bins<64>>>,
                      tally::named<"coarse", tally::histogram<tally::linear_bins<5>>>,
                      tally::named<"where", tally::largest_at<>>,
                      tally::named<"log sum exp", tally::value_log_sum_exp<>>>;
using rows = tally::collection<tally::named<"loss", tally::log_loss<>>, tally::named<"top1", tally::accuracy<>>,
                               tally::named<"top5", tally::accuracy<tally::top_k<5>>>,
                               tally::named<"ece", tally::calibration_error<15>>,
                               tally::named<"confusion", tally::confusion_matrix<tally::dynamic>>>;

/// Counts one update of an already used tracker, so that nothing is counted that happens once.
template <class Tracker, class... Input>
void count_update(Tracker& tracker, Input const&... inputs) {
    tracker.update(inputs...);
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    tally::testing::count_from_here();
    tracker.update(inputs...);
    CHECK(tally::testing::calls_that_wait_or_allocate() == 0);
    tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    CHECK(counted("", "launches") == 1);
    CHECK(counted("", "local_accesses") == 0);
}

void check_loads(char const* kernel, std::size_t input_bytes) {
    auto const loaded = counted(kernel, "global_load_bytes");
    CHECK(loaded >= input_bytes);
    CHECK(static_cast<double>(loaded) <= 1.02 * static_cast<double>(input_bytes));
    CHECK(16.0 * static_cast<double>(tally::testing::loads_of_width(kernel, 16)) >= 0.95 * static_cast<double>(loaded));
}

template <class M, class T>
void check_values(std::size_t n) {
    device_array<T> const input(std::vector<T>(n, static_cast<T>(0.25F)));
    tally::cuda::tracker<M> tracker;
    if constexpr (std::is_same_v<M, ten_metrics>) {
        count_update(tracker, tally::values(input.data(), n), tally::positions(0));
    } else {
        count_update(tracker, tally::values(input.data(), n));
    }
    check_loads("element_kernel", n * sizeof(T));
}

} // namespace

TEST_CASE("one metric and ten metrics: one launch, one read") {
    TALLY_NEEDS_COUNTERS();
    for (std::size_t const n : {std::size_t{1} << 16, (std::size_t{1} << 17) + 5}) {
        CAPTURE(n);
        check_values<one_metric, float>(n);
        check_values<ten_metrics, float>(n);
    }
}

TEST_CASE("elements of 16 bits are loaded 16 bytes at a time too") {
    TALLY_NEEDS_COUNTERS();
    check_values<one_metric, __half>(std::size_t{1} << 17);
    check_values<one_metric, __nv_bfloat16>(std::size_t{1} << 17);
}

TEST_CASE("inputs of different width") {
    TALLY_NEEDS_COUNTERS();
    std::size_t const n = std::size_t{1} << 16;
    device_array<float> const predictions(std::vector<float>(n, 0.5F));
    device_array<__half> const targets(std::vector<__half>(n, __half(0.25F)));
    tally::cuda::tracker<tally::mean_squared_error<>> tracker;
    count_update(tracker, tally::predictions(predictions.data(), n), tally::targets(targets.data(), n));
    check_loads("element_kernel", n * 6);
}

TEST_CASE("a collection over rows of scores: one launch, one read") {
    TALLY_NEEDS_COUNTERS();
    std::size_t const samples = 256;
    std::size_t const classes = 1000;
    std::vector<float> scores(samples * classes);
    std::vector<std::int32_t> labels(samples);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] = static_cast<float>(i * 7919 % 1009) / 100.0F;
    }
    for (std::size_t i = 0; i < samples; ++i) {
        labels[i] = static_cast<std::int32_t>(i * 31 % classes);
    }
    device_array<float> const s(scores);
    device_array<std::int32_t> const l(labels);
    tally::cuda::tracker<rows> tracker{tally::num_classes{classes}};
    count_update(tracker, tally::scores(s.data(), samples, classes), tally::targets(l.data(), samples));
    check_loads("row_kernel", samples * classes * 4 + samples * 4);
}

TEST_CASE("an update in a graph: replayed, it does what it did before") {
    std::size_t const n = 10007;
    device_array<float> const input(std::vector<float>(n, 0.5F));
    cudaStream_t stream = nullptr;
    tally::cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
    {
        tally::cuda::tracker<ten_metrics> captured{stream};
        tally::cuda::tracker<ten_metrics> plain{stream};
        tally::cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
        captured.update(tally::values(input.data(), n), tally::positions(3));
        cudaGraph_t graph = nullptr;
        tally::cuda::check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
        cudaGraphExec_t executable = nullptr;
        tally::cuda::check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
        for (int k = 0; k < 3; ++k) {
            tally::cuda::check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
            plain.update(tally::values(input.data(), n), tally::positions(3));
        }
        using layout = tally::cuda::detail::state_layout<ten_metrics>;
        auto const bytes_of = [](tally::cuda::tracker<ten_metrics> const& tracker) {
            auto const states = tracker.merged();
            std::vector<std::byte> image(layout::bytes(states));
            layout::pack(states, image.data());
            return image;
        };
        CHECK(captured.finalize().samples() == 3 * n);
        CHECK(bytes_of(captured) == bytes_of(plain));
        tally::cuda::check(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
        tally::cuda::check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    }
    tally::cuda::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

namespace {

template <class RowSums>
using loss_by = tally::log_loss<float, tally::default_sum<float>, tally::unweighted, tally::labels::all, RowSums>;

/// So few blocks that twice the rows are not more blocks, whose ends would be counted as well.
struct few_blocks {
    static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.blocks_per_multiprocessor = 1;
        return chosen;
    }
};

/// PTX instructions that one more score costs, executed by warps: 32 for each that any of the lanes takes part in.
template <class M>
double instructions_of_a_score(std::size_t columns) {
    tally::cuda::tracker<M, few_blocks> tracker;
    constexpr std::size_t scores = std::size_t{1} << 21;
    unsigned long long instructions[2] = {};
    for (std::size_t k = 0; k < 2; ++k) {
        std::size_t const rows = (k + 1) * scores / columns;
        std::vector<float> matrix(rows * columns);
        for (std::size_t i = 0; i < matrix.size(); ++i) {
            matrix[i] = static_cast<float>(i * 2654435761U % 1009) / 128.0F;
        }
        device_array<float> const input(matrix);
        device_array<std::int32_t> const labels(std::vector<std::int32_t>(rows, 7));
        tally::testing::count_from_here();
        tracker.update(tally::scores(input.data(), rows, columns), tally::targets(labels.data(), rows));
        tally::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        instructions[k] = 32 * counted("row_kernel", "warp_instructions");
    }
    return static_cast<double>(instructions[1] - instructions[0]) / static_cast<double>(scores);
}

} // namespace

TEST_CASE("cost: instructions of a score, by the policy of row sums" * doctest::test_suite("plain")) {
    TALLY_NEEDS_COUNTERS();
    // The reproducible exponential takes about twenty, the device's own three.
    for (auto const& [columns, most, most_fast] :
         {std::tuple{512U, 50.0, 31.0}, {1000U, 54.0, 34.0}, {8192U, 48.0, 29.0}}) {
        CAPTURE(columns);
        auto const reproducible = instructions_of_a_score<loss_by<tally::row_sums::reproducible>>(columns);
        auto const fast = instructions_of_a_score<loss_by<tally::row_sums::fast>>(columns);
        MESSAGE("rows of " << columns << ": reproducible " << reproducible << ", fast " << fast);
        CHECK(reproducible <= most);
        CHECK(fast <= most_fast);
    }
}
