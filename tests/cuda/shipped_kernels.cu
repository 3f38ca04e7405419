// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of usual collections, compiled for real architectures so that the register table and the check for spills
// have something to look at. Kernels are templates: these stand for what users instantiate.
#include <tally/cuda.hpp>
#include <tally/cuda/all_reduce.cuh>
#include <tally/cuda/gradient_monitor.cuh>

#include <cstddef>
#include <cstdint>
#include <span>

#include <cuda_fp16.h>

namespace {

using summary = tally::collection<tally::named<"mean", tally::mean<>>, tally::named<"variance", tally::variance<>>,
                                  tally::named<"largest", tally::largest<>>,
                                  tally::named<"histogram", tally::histogram<tally::linear_bins<64>>>>;
using errors =
    tally::collection<tally::named<"mae", tally::mean_absolute_error<>>,
                      tally::named<"mse", tally::mean_squared_error<>>, tally::named<"r2", tally::r2_score<>>,
                      tally::named<"pearson", tally::pearson_correlation<>>>;
using evaluation = tally::collection<tally::named<"loss", tally::log_loss<>>, tally::named<"top1", tally::accuracy<>>,
                                     tally::named<"top5", tally::accuracy<tally::top_k<5>>>,
                                     tally::named<"ece", tally::calibration_error<15>>,
                                     tally::named<"confusion", tally::confusion_matrix<tally::dynamic>>>;

} // namespace

// all_reduce needs a communicator on a device; its kernel doesn't.
template __global__ void tally::cuda::detail::reduce_share_kernel<float, tally::op::mean>(float const*, std::size_t,
                                                                                          std::size_t, float*,
                                                                                          std::size_t);
template __global__ void
tally::cuda::detail::reduce_share_kernel<tally::half_bits, tally::op::sum>(tally::half_bits const*, std::size_t,
                                                                           std::size_t, tally::half_bits*, std::size_t);

void summary_of_floats(tally::cuda::tracker<summary>& tracker, float const* x, std::size_t n) {
    tracker.update(tally::values(x, n));
}
void summary_of_halves(tally::cuda::tracker<summary>& tracker, __half const* x, std::size_t n) {
    tracker.update(tally::values(x, n));
}
void weighted_summary(tally::cuda::tracker<tally::weighted<tally::mean<>>>& tracker, float const* x, float const* w,
                      std::uint8_t const* mask, std::size_t n) {
    tracker.update(tally::values(x, n), tally::weights(w, n), tally::mask(mask, n));
}
void errors_of_pairs(tally::cuda::tracker<errors>& tracker, float const* p, float const* t, std::size_t n) {
    tracker.update(tally::predictions(p, n), tally::targets(t, n));
}
void rows_of_scores(tally::cuda::tracker<evaluation>& tracker, float const* scores, std::int64_t const* labels,
                    std::size_t rows, std::size_t columns) {
    tracker.update(tally::scores(scores, rows, columns), tally::targets(labels, rows));
}
void tensors_into_groups(tally::cuda::tracker<tally::grouped<tally::mean<>>>& tracker,
                         std::span<tally::cuda::grouped_tensor<__half> const> tensors) {
    tracker.update_tensors(tensors);
}
void gradients_of_a_step(tally::cuda::gradient_monitor<tally::replicated>& monitor,
                         std::span<tally::gradient_view const> gradients, std::span<tally::gradient_view const> updates,
                         std::span<tally::gradient_view const> weights) {
    monitor.begin_step();
    monitor.observe(gradients);
    monitor.observe_updates(updates, weights);
    monitor.end_step();
}
