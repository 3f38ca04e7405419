// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Which way of reducing is the fastest? The numbers behind tuning_for and the table strategies:
//
//   accumulator ...       one accumulator over one read of floats; "float sum" is the floor
//   confusion CxC, D %    predictions and targets of C classes into a table, D of 100 on the diagonal, by each strategy;
//                         beside it plain atomics and cub::DeviceHistogram
//   shape                 three metrics of floats, by threads of a block and bytes in flight
//   rows of C             five metrics of rows of scores, by who reads a row: a thread, a warp, a block
//
// All batched with a cold L2.
#include "device/baselines.cuh"
#include "device/cub_baselines.cuh"
#include "device/measure.cuh"
#include "device/memory.cuh"
#include "device/report.hpp"

#include <tally/cuda.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#if __has_include(<tally/accumulator/exact_sum.hpp>)
#include <tally/accumulator/exact_sum.hpp>
#define BENCH_EXACT_SUM
#endif

namespace {

using namespace bench;

std::vector<std::size_t> sizes(report const& out, std::vector<int> const& powers) {
    if (out.quick()) {
        return {std::size_t{1} << (out.counting() ? 18 : 12)};
    }
    std::vector<std::size_t> result;
    for (int const power : powers) {
        result.push_back(std::size_t{1} << power);
    }
    return result;
}

template <class Tracker>
void verify(Tracker const& tracker, std::uint64_t samples, std::string const& work) {
    auto const counted = tracker.finalize().samples();
    if (counted == 0 || counted % samples != 0) {
        throw std::runtime_error(work + ": " + std::to_string(counted) + " samples were counted");
    }
}

/// Floats in device memory, several slices of a size.
struct floats_on_device {
    std::size_t n;
    std::size_t slices;
    memory<float> from;
    memory<float> total;
    floats_on_device(report const& out, cudaStream_t stream, std::size_t size)
        : n{size}, slices{calls_in_batch(size * sizeof(float), out.quick())}, from(n * slices), total(1) {
        fill_numbers<<<blocks_to_fill(from.size()), 256, 0, stream>>>(from.data(), from.size(), 1.0F, 1);
        check(cudaMemsetAsync(total.data(), 0, sizeof(float), stream), "cudaMemsetAsync");
    }
    [[nodiscard]] float const* slice(std::size_t s) const { return from.data() + s * n; }
    [[nodiscard]] task describe(std::string work) const {
        return {std::move(work), "fp32", n, n, n * sizeof(float), slices, true};
    }
    void measure_floor(measurement& timing, std::string work, cudaStream_t stream) const {
        timing.run(describe(std::move(work)),
                   {"float sum", [&](std::size_t s) {
                        float_sum<<<blocks_for_sum(n), sum_threads, 0, stream>>>(slice(s), n, total.data());
                    }});
    }
};

// ---- accumulators ---------------------------------------------------------------------------------------------------

/// Metrics that are one accumulator and nothing else; their values are of no interest.
template <class Accumulator>
struct accumulated {
    struct state {
        Accumulator accumulator;
    };
    TALLY_HD static tally::result<double> finalize(state const&) { return tally::result<double>(0.0); }
};
template <class Accumulator>
struct of_value : accumulated<Accumulator> {
    TALLY_HD static auto observe(tally::value<float> x) { return tally::contribute(x.value); }
};
template <class Accumulator>
struct of_value_and_position : accumulated<Accumulator> {
    TALLY_HD static auto observe(tally::value<float> x, tally::sample_position position) {
        return tally::contribute(tally::located(x.value, position.value));
    }
};
template <class Accumulator>
struct of_value_twice : accumulated<Accumulator> {
    TALLY_HD static auto observe(tally::value<float> x) { return tally::contribute(tally::paired(x.value, x.value)); }
};
/// Counts what is not NaN, so that the values have to be read.
template <class Accumulator>
struct of_numbers : accumulated<Accumulator> {
    TALLY_HD static auto observe(tally::value<float> x) {
        return tally::contribute(when(x.value == x.value, tally::one));
    }
};

template <class M, class Tuning = tally::cuda::default_tuning>
void accumulate(measurement& timing, cudaStream_t stream, floats_on_device const& data, std::string const& work,
                char const* subject) {
    tally::cuda::tracker<M, Tuning> tracker{stream};
    timing.run(data.describe(work),
               {subject, [&](std::size_t s) { tracker.update(tally::values(data.slice(s), data.n)); }});
    verify(tracker, data.n, work);
}

void accumulators(report const& out, measurement& timing, cudaStream_t stream) {
    std::string const work = "accumulator";
    if (!out.wants(work)) {
        return;
    }
    for (auto const n : sizes(out, {16, 20, 24, 28})) {
        floats_on_device const data{out, stream, n};
        data.measure_floor(timing, work, stream);
        auto const measure = [&]<class M>(M const*, char const* subject) {
            accumulate<M>(timing, stream, data, work, subject);
        };
        measure(static_cast<of_numbers<tally::count>*>(nullptr), "count");
        measure(static_cast<of_value<tally::sum<float>>*>(nullptr), "sum<float>");
        measure(static_cast<of_value<tally::sum<double>>*>(nullptr), "sum<double>");
#if defined(BENCH_EXACT_SUM)
        measure(static_cast<of_value<tally::exact_sum<float>>*>(nullptr), "exact_sum<float>");
#endif
        measure(static_cast<of_value<tally::moments>*>(nullptr), "moments");
        measure(static_cast<of_value_twice<tally::co_moments>*>(nullptr), "co_moments");
        measure(static_cast<of_value<tally::maximum<float>>*>(nullptr), "maximum<float>");
        measure(static_cast<of_value<tally::log_sum_exp>*>(nullptr), "log_sum_exp");
        // This one also takes the positions, which are counted and not read.
        using located = of_value_and_position<tally::arg_maximum<float>>;
        tally::cuda::tracker<located> tracker{stream};
        timing.run(data.describe(work), {"arg_maximum<float>", [&](std::size_t s) {
                                             tracker.update(tally::values(data.slice(s), n), tally::positions(0));
                                         }});
        verify(tracker, n, work);
    }
}

// ---- shapes of the element kernel -----------------------------------------------------------------------------------

using three_metrics =
    tally::collection<tally::named<"mean", tally::mean<>>, tally::named<"variance", tally::variance<>>,
                      tally::named<"largest", tally::largest<>>>;

template <int Threads, int Bytes>
struct shaped {
    TALLY_HD static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.threads = Threads;
        chosen.bytes_in_flight = Bytes;
        chosen.most_items = 32;
        return chosen;
    }
};

void shapes(report const& out, measurement& timing, cudaStream_t stream) {
    std::string const work = "shape, 3 metrics";
    if (!out.wants(work)) {
        return;
    }
    for (auto const n : sizes(out, {13, 16, 20, 24, 28})) {
        floats_on_device const data{out, stream, n};
        data.measure_floor(timing, work, stream);
        auto const measure = [&]<class Tuning>(Tuning const*, char const* subject) {
            accumulate<three_metrics, Tuning>(timing, stream, data, work, subject);
        };
        measure(static_cast<tally::cuda::default_tuning*>(nullptr), "default");
        measure(static_cast<shaped<128, 32>*>(nullptr), "128 threads, 32 bytes");
        measure(static_cast<shaped<128, 64>*>(nullptr), "128 threads, 64 bytes");
        measure(static_cast<shaped<256, 32>*>(nullptr), "256 threads, 32 bytes");
        measure(static_cast<shaped<256, 64>*>(nullptr), "256 threads, 64 bytes");
        measure(static_cast<shaped<256, 128>*>(nullptr), "256 threads, 128 bytes");
        measure(static_cast<shaped<512, 64>*>(nullptr), "512 threads, 64 bytes");
    }
}

// ---- tables ---------------------------------------------------------------------------------------------------------

template <tally::cuda::table_strategy Strategy>
struct with_tables {
    TALLY_HD static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.tables = Strategy;
        return chosen;
    }
};

/// What one writes by hand: an atomic addition for each sample.
__global__ void count_cells(std::int32_t const* targets, std::int32_t const* predictions, std::size_t size,
                            std::int32_t classes, unsigned long long* table) {
    auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step) {
        auto const t = targets[i];
        auto const p = predictions[i];
        if (t >= 0 && t < classes && p >= 0 && p < classes) {
            atomicAdd(table + static_cast<std::int64_t>(t) * classes + p, 1ULL);
        }
    }
}

struct cell_of_pair {
    std::int32_t const* targets;
    std::int32_t const* predictions;
    std::int32_t classes;
    __host__ __device__ std::int32_t operator()(std::int64_t i) const { return targets[i] * classes + predictions[i]; }
};

/// Labels in device memory: a slice is the targets, then the predictions.
struct labels_on_device {
    std::size_t n;
    std::size_t slices;
    std::int32_t classes;
    memory<std::int32_t> from;
    labels_on_device(report const& out, cudaStream_t stream, std::size_t size, std::int32_t num_classes,
                     std::uint32_t diagonal)
        : n{size}, slices{calls_in_batch(2 * size * sizeof(std::int32_t), out.quick())}, classes{num_classes},
          from(2 * n * slices) {
        for (std::size_t s = 0; s < slices; ++s) {
            fill_labels<<<blocks_to_fill(n), 256, 0, stream>>>(const_cast<std::int32_t*>(targets(s)),
                                                               const_cast<std::int32_t*>(predictions(s)), n,
                                                               static_cast<std::uint32_t>(num_classes), diagonal);
        }
        check(cudaGetLastError(), "launch of fill_labels");
    }
    [[nodiscard]] std::int32_t const* targets(std::size_t s) const { return from.data() + 2 * s * n; }
    [[nodiscard]] std::int32_t const* predictions(std::size_t s) const { return from.data() + (2 * s + 1) * n; }
};

template <class M, tally::cuda::table_strategy Strategy, class... Sizes>
void count_with(measurement& timing, cudaStream_t stream, labels_on_device const& data, task const& what,
                char const* subject, Sizes... extents) {
    tally::cuda::tracker<M, with_tables<Strategy>> tracker{stream, extents...};
    timing.run(what, {subject, [&](std::size_t s) {
                          tracker.update(tally::targets(data.targets(s), data.n),
                                         tally::predictions(data.predictions(s), data.n));
                      }});
    verify(tracker, data.n, what.work);
}

template <class M, class... Sizes>
void count_in(report const& out, measurement& timing, cudaStream_t stream, std::int32_t classes, Sizes... extents) {
    using tally::cuda::table_strategy;
    constexpr bool few = std::is_same_v<M, tally::confusion_matrix<2>>;
    for (unsigned const diagonal : {0U, 50U, 90U, 99U}) {
        auto const work = "confusion " + std::to_string(classes) + "x" + std::to_string(classes) + ", " +
                          std::to_string(diagonal) + " %";
        if (!out.wants(work)) {
            continue;
        }
        for (auto const n : sizes(out, {16, 20, 24, 26})) {
            labels_on_device const data{out, stream, n, classes, diagonal};
            task const what{work, "int32", n, 2 * n, 2 * n * sizeof(std::int32_t), data.slices, true};
            count_with<M, table_strategy::automatic>(timing, stream, data, what, "automatic", extents...);
            if constexpr (few) {
                count_with<M, table_strategy::registers>(timing, stream, data, what, "registers", extents...);
            }
            auto const cells = static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes);
            if (cells * sizeof(std::uint32_t) <= tally::cuda::tuning{}.shared_table_bytes) {
                count_with<M, table_strategy::shared>(timing, stream, data, what, "shared", extents...);
            }
            count_with<M, table_strategy::global>(timing, stream, data, what, "global", extents...);

            memory<unsigned long long> table(cells);
            check(cudaMemsetAsync(table.data(), 0, table.bytes(), stream), "cudaMemsetAsync");
            timing.run(what, {"plain atomics", [&](std::size_t s) {
                                  count_cells<<<blocks_for_sum(n), sum_threads, 0, stream>>>(
                                      data.targets(s), data.predictions(s), n, classes, table.data());
                              }});
            memory<unsigned> counts(cells);
            cub_calls cub{stream};
            timing.run(what, {"cub histogram", [&](std::size_t s) {
                                  cub.run([&](void* temporary, std::size_t& bytes) {
                                      auto const in = thrust::make_transform_iterator(
                                          thrust::make_counting_iterator(std::int64_t{0}),
                                          cell_of_pair{data.targets(s), data.predictions(s), classes});
                                      auto const last = static_cast<std::int32_t>(cells);
                                      return cub::DeviceHistogram::HistogramEven(temporary, bytes, in, counts.data(),
                                                                                 last + 1, std::int32_t{0}, last,
                                                                                 static_cast<int>(n), stream);
                                  });
                                  cub.sized();
                              }});
            memory<float> total(1);
            check(cudaMemsetAsync(total.data(), 0, sizeof(float), stream), "cudaMemsetAsync");
            timing.run(what, {"float sum", [&](std::size_t s) {
                                  float_sum<<<blocks_for_sum(2 * n), sum_threads, 0, stream>>>(
                                      reinterpret_cast<float const*>(data.targets(s)), 2 * n, total.data());
                              }});
            check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        }
    }
}

// ---- rows -----------------------------------------------------------------------------------------------------------

using row_metrics =
    tally::collection<tally::named<"top-1", tally::accuracy<>>, tally::named<"top-5", tally::accuracy<tally::top_k<5>>>,
                      tally::named<"loss", tally::log_loss<>>,
                      tally::named<"calibration", tally::calibration_error<15>>>;

/// Rows of up to ByThread columns are read by a thread each, up to ByWarp by a warp, longer ones by a block.
template <int ByThread, int ByWarp>
struct teams {
    TALLY_HD static constexpr tally::cuda::tuning select(int compute_capability) {
        auto chosen = tally::cuda::tuning_for(compute_capability);
        chosen.row_columns_by_thread = ByThread;
        chosen.row_columns_by_warp = ByWarp;
        return chosen;
    }
};

void rows(report const& out, measurement& timing, cudaStream_t stream) {
    constexpr int always = std::numeric_limits<int>::max();
    for (std::size_t const columns : {4U, 10U, 32U, 100U, 1000U, 8192U, 32768U, 150000U}) {
        auto const work = "rows of " + std::to_string(columns);
        std::size_t const elements = out.counting() ? 1U << 19 : out.quick() ? 1U << 12 : 1U << 25;
        auto const n = elements / columns / 4 * 4; // so that slices are aligned
        if (!out.wants(work) || n == 0) {
            continue;
        }
        auto const bytes = n * columns * sizeof(float) + n * sizeof(std::int32_t);
        auto const slices = calls_in_batch(bytes, out.quick());
        memory<float> const scores(n * columns * slices);
        memory<std::int32_t> const labels(n * slices);
        fill_numbers<<<blocks_to_fill(scores.size()), 256, 0, stream>>>(scores.data(), scores.size(), 8.0F, 1);
        fill_labels<std::int32_t><<<blocks_to_fill(labels.size()), 256, 0, stream>>>(
            labels.data(), nullptr, labels.size(), static_cast<std::uint32_t>(columns), 0);
        check(cudaGetLastError(), "launch of fill_labels");
        task const what{work, "fp32", n, n * columns, bytes, slices, true};
        auto const measure = [&]<class Tuning>(Tuning const*, char const* subject) {
            tally::cuda::tracker<row_metrics, Tuning> tracker{stream};
            timing.run(what, {subject, [&](std::size_t s) {
                                  tracker.update(tally::scores(scores.data() + s * n * columns, n, columns),
                                                 tally::targets(labels.data() + s * n, n));
                              }});
            verify(tracker, n, work);
        };
        measure(static_cast<tally::cuda::default_tuning*>(nullptr), "default");
        if (columns <= 1000) {
            measure(static_cast<teams<always, always>*>(nullptr), "a thread");
        }
        measure(static_cast<teams<0, always>*>(nullptr), "a warp");
        measure(static_cast<teams<0, 0>*>(nullptr), "a block");
        memory<float> total(1);
        check(cudaMemsetAsync(total.data(), 0, sizeof(float), stream), "cudaMemsetAsync");
        timing.run(what, {"float sum", [&](std::size_t s) {
                              float_sum<<<blocks_for_sum(n * columns), sum_threads, 0, stream>>>(
                                  scores.data() + s * n * columns, n * columns, total.data());
                          }});
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
}

} // namespace

int main(int argc, char** argv) {
    auto const chosen = parse(argc, argv, "Which way of reducing is the fastest?");
    try {
        report out{chosen, "reduce_policy"};
        stream const work;
        measurement timing{out, work.get()};
        accumulators(out, timing, work.get());
        shapes(out, timing, work.get());
        count_in<tally::confusion_matrix<2>>(out, timing, work.get(), 2);
        count_in<tally::confusion_matrix<10>>(out, timing, work.get(), 10);
        count_in<tally::confusion_matrix<tally::dynamic>>(out, timing, work.get(), 100, tally::num_classes{100});
        count_in<tally::confusion_matrix<tally::dynamic>>(out, timing, work.get(), 1000, tally::num_classes{1000});
        rows(out, timing, work.get());
        out.finish();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "reduce_policy: %s\n", error.what());
        return 1;
    }
    return 0;
}
