// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What does an update cost on a device, next to the fastest read of the same bytes and to what a user would write instead?
//
//   tally                 one cuda::tracker, fused
//   tally, one each       one tracker for each metric
//   cub, one each         a cub::DeviceReduce (histogram, segmented reduction) for each metric
//   cub sum               one cub::DeviceReduce::Sum of the same bytes
//   float sum             a hand-written kernel that adds the same bytes up as floats
//   copy                  a device-to-device copy of the same bytes
//   empty kernel          one launch that does nothing
//
// GB/s are those of the inputs, read once; a copy also writes them.
#include "device/baselines.cuh"
#include "device/cub_baselines.cuh"
#include "device/measure.cuh"
#include "device/memory.cuh"
#include "device/report.hpp"

#include <tally/cuda.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using namespace bench;

// ---- the metrics ----------------------------------------------------------------------------------------------------

template <class... Named>
using list = tally::collection<Named...>;

using one_value = list<tally::named<"mean", tally::mean<>>>;
using three_values = list<tally::named<"mean", tally::mean<>>, tally::named<"variance", tally::variance<>>,
                          tally::named<"largest", tally::largest<>>>;
using ten_values =
    list<tally::named<"mean", tally::mean<>>, tally::named<"variance", tally::variance<>>,
         tally::named<"largest", tally::largest<>>, tally::named<"deviation", tally::standard_deviation<>>,
         tally::named<"sum", tally::total<>>, tally::named<"smallest", tally::smallest<>>,
         tally::named<"histogram", tally::histogram<tally::linear_bins<64>>>,
         tally::named<"coarse", tally::histogram<tally::linear_bins<5>>>, tally::named<"where", tally::largest_at<>>,
         tally::named<"log sum exp", tally::value_log_sum_exp<>>>;
using ten_pairs =
    list<tally::named<"mse", tally::mean_squared_error<>>, tally::named<"rmse", tally::root_mean_squared_error<>>,
         tally::named<"mae", tally::mean_absolute_error<>>, tally::named<"bias", tally::mean_error<>>,
         tally::named<"max error", tally::max_error<>>, tally::named<"r2", tally::r2_score<>>,
         tally::named<"explained variance", tally::explained_variance<>>,
         tally::named<"pearson", tally::pearson_correlation<>>, tally::named<"covariance", tally::covariance<>>,
         tally::named<"concordance", tally::concordance<>>>;
using four_rows =
    list<tally::named<"top-1", tally::accuracy<>>, tally::named<"top-5", tally::accuracy<tally::top_k<5>>>,
         tally::named<"loss", tally::log_loss<>>, tally::named<"calibration", tally::calibration_error<15>>>;
using five_rows =
    list<tally::named<"top-1", tally::accuracy<>>, tally::named<"top-5", tally::accuracy<tally::top_k<5>>>,
         tally::named<"loss", tally::log_loss<>>, tally::named<"calibration", tally::calibration_error<15>>,
         tally::named<"confusion", tally::confusion_matrix<tally::dynamic>>>;

template <class M>
struct separate_trackers;
template <class... Named>
struct separate_trackers<tally::collection<Named...>> {
    std::tuple<tally::cuda::tracker<typename Named::metric>...> trackers;
    explicit separate_trackers(cudaStream_t stream)
        : trackers{tally::cuda::tracker<typename Named::metric>(stream)...} {}
    template <class Values, class Positions>
    void update(Values const& values, Positions const& positions) {
        std::apply([&](auto&... tracker) { (update_one(tracker, values, positions), ...); }, trackers);
    }

private:
    template <class M, class Values, class Positions>
    static void update_one(tally::cuda::tracker<M>& tracker, Values const& values, Positions const& positions) {
        if constexpr (std::is_same_v<M, tally::largest_at<>>) {
            tracker.update(values, positions);
        } else {
            tracker.update(values);
        }
    }
};

// ---- subjects of all works ------------------------------------------------------------------------------------------

void wait(cudaStream_t stream) { check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", stream); }

/// Everything a tracker was given has been counted.
template <class Tracker>
void verify(Tracker const& tracker, std::uint64_t samples, std::string const& work) {
    auto const counted = tracker.finalize().samples();
    if (counted == 0 || counted % samples != 0) {
        throw std::runtime_error(work + ": " + std::to_string(counted) + " samples were counted");
    }
}

__global__ void nothing() {}

/// The baselines that know only bytes.
template <class T>
class plain_subjects {
public:
    plain_subjects(cudaStream_t stream, T const* from, std::size_t elements, std::size_t slices)
        : stream_{stream}, from_{from}, elements_{elements}, sum_{stream}, total_(1), copy_(elements * slices) {
        check(cudaMemsetAsync(total_.data(), 0, sizeof(float), stream), "cudaMemsetAsync");
    }
    void measure(measurement& timing, task const& what) {
        timing.run(what, {"cub sum", [this](std::size_t s) { sum_.call(from_ + s * elements_, elements_); }});
        timing.run(what, {"float sum", [this](std::size_t s) {
                              float_sum<<<blocks_for_sum(elements_), sum_threads, 0, stream_>>>(
                                  from_ + s * elements_, elements_, total_.data());
                          }});
        timing.run(what, {"copy", [this](std::size_t s) {
                              check(cudaMemcpyAsync(copy_.data() + s * elements_, from_ + s * elements_,
                                                    elements_ * sizeof(T), cudaMemcpyDeviceToDevice, stream_),
                                    "cudaMemcpyAsync");
                          }});
        timing.run(what, {"empty kernel", [this](std::size_t) { nothing<<<1, 1, 0, stream_>>>(); }});
        check(cudaGetLastError(), "launch of a baseline", stream_);
    }

private:
    cudaStream_t stream_;
    T const* from_;
    std::size_t elements_;
    cub_sum<T> sum_;
    memory<float> total_;
    memory<T> copy_;
};

std::vector<std::size_t> sizes(report const& out) {
    if (out.quick()) {
        return {std::size_t{1} << (out.counting() ? 18 : 13)};
    }
    std::vector<std::size_t> result;
    for (int const power : {13, 16, 18, 20, 22, 24, 26, 28}) {
        // The largest work: three slices of pairs of floats, and room to copy them.
        if ((std::uint64_t{48} << power) < out.where().memory_bytes / 10 * 8) {
            result.push_back(std::size_t{1} << power);
        }
    }
    return result;
}

// ---- values ---------------------------------------------------------------------------------------------------------

template <class M, class T>
void values_of(report const& out, measurement& timing, cudaStream_t stream, T const* from, task what, int metrics) {
    what.work = "values, " + std::to_string(metrics) + (metrics == 1 ? " metric" : " metrics");
    if (!out.wants(what.work)) {
        return;
    }
    auto const n = static_cast<std::size_t>(what.size);
    auto const given = [&](std::size_t s) { return tally::values(from + s * n, n); };
    auto const positions = [&](std::size_t s) { return tally::positions(static_cast<std::uint64_t>(s * n)); };
    tally::cuda::tracker<M> tracker{stream};
    timing.run(what, {"tally", [&](std::size_t s) {
                          if constexpr (std::is_same_v<M, ten_values>) {
                              tracker.update(given(s), positions(s));
                          } else {
                              tracker.update(given(s));
                          }
                      }});
    verify(tracker, what.size, what.work);
    if constexpr (std::is_same_v<M, ten_values> && std::is_same_v<T, float>) {
        separate_trackers<M> separate{stream};
        timing.run(what, {"tally, one each", [&](std::size_t s) { separate.update(given(s), positions(s)); }});
        wait(stream);
    }
    cub_values<T> cub{stream};
    timing.run(what, {"cub, one each", [&](std::size_t s) { cub.call(from + s * n, n, metrics); }});

    // The same number by both, as a sign that both read all of it.
    if constexpr (std::is_same_v<M, one_value>) {
        tracker.reset();
        tracker.update(given(0));
        cub.call(from, n, 1);
        auto const ours = tracker.finalize()[tally::metric_name<"mean">{}].value() * static_cast<double>(n);
        if (std::fabs(ours - cub.total()) > 1e-9 * ours) {
            throw std::runtime_error("tally and CUB differ in a sum");
        }
    }
}

template <class T>
void values(report const& out, measurement& timing, cudaStream_t stream) {
    for (auto const n : sizes(out)) {
        auto const bytes = n * sizeof(T);
        auto const slices = calls_in_batch(bytes, out.quick());
        memory<T> const from(n * slices);
        fill_numbers<<<blocks_to_fill(from.size()), 256, 0, stream>>>(from.data(), from.size(), 1.0F, 1);
        check(cudaGetLastError(), "launch of fill_numbers");
        task what{"values", element_name<T>, n, n, bytes, slices};
        if (out.wants("values")) {
            plain_subjects<T>(stream, from.data(), n, slices).measure(timing, what);
        }
        values_of<one_value, T>(out, timing, stream, from.data(), what, 1);
        values_of<three_values, T>(out, timing, stream, from.data(), what, 3);
        values_of<ten_values, T>(out, timing, stream, from.data(), what, 10);
    }
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

template <class T>
void pairs(report const& out, measurement& timing, cudaStream_t stream) {
    if (!out.wants("pairs, 10 metrics")) {
        return;
    }
    for (auto const n : sizes(out)) {
        auto const bytes = 2 * n * sizeof(T);
        auto const slices = calls_in_batch(bytes, out.quick());
        memory<T> const from(2 * n * slices); // a slice: the predictions, then the targets
        fill_numbers<<<blocks_to_fill(from.size()), 256, 0, stream>>>(from.data(), from.size(), 1.0F, 1);
        check(cudaGetLastError(), "launch of fill_numbers");
        task const what{"pairs, 10 metrics", element_name<T>, n, 2 * n, bytes, slices};
        auto const predictions = [&](std::size_t s) { return from.data() + 2 * s * n; };
        auto const targets = [&](std::size_t s) { return from.data() + (2 * s + 1) * n; };
        tally::cuda::tracker<ten_pairs> tracker{stream};
        timing.run(what, {"tally", [&](std::size_t s) {
                              tracker.update(tally::predictions(predictions(s), n), tally::targets(targets(s), n));
                          }});
        verify(tracker, n, what.work);
        cub_pairs<T> cub{stream};
        timing.run(what, {"cub, one each", [&](std::size_t s) { cub.call(predictions(s), targets(s), n); }});
        plain_subjects<T>(stream, from.data(), 2 * n, slices).measure(timing, what);
    }
}

// ---- rows of scores -------------------------------------------------------------------------------------------------

template <class M, class T>
void rows_of(report const& out, measurement& timing, cudaStream_t stream, std::size_t rows, std::size_t columns) {
    constexpr bool confusion = std::is_same_v<M, five_rows>;
    auto const work =
        "rows " + std::to_string(rows) + "x" + std::to_string(columns) + (confusion ? ", 5 metrics" : ", 4 metrics");
    if (!out.wants(work)) {
        return;
    }
    auto const elements = rows * columns;
    auto const bytes = elements * sizeof(T) + rows * sizeof(std::int32_t);
    auto const slices = calls_in_batch(bytes, out.quick());
    memory<T> const scores(elements * slices);
    memory<std::int32_t> const labels(rows * slices);
    fill_numbers<<<blocks_to_fill(scores.size()), 256, 0, stream>>>(scores.data(), scores.size(), 8.0F, 1);
    fill_labels<std::int32_t><<<blocks_to_fill(labels.size()), 256, 0, stream>>>(
        labels.data(), nullptr, labels.size(), static_cast<std::uint32_t>(columns), 0);
    check(cudaGetLastError(), "launch of fill_labels");
    task const what{work, element_name<T>, rows, elements, bytes, slices};
    auto tracker = [&] {
        if constexpr (confusion) {
            return tally::cuda::tracker<M>{stream, tally::num_classes{columns}};
        } else {
            return tally::cuda::tracker<M>{stream};
        }
    }();
    timing.run(what, {"tally", [&](std::size_t s) {
                          tracker.update(tally::scores(scores.data() + s * elements, rows, columns),
                                         tally::targets(labels.data() + s * rows, rows));
                      }});
    verify(tracker, rows, work);
    cub_rows<T> cub{stream, rows};
    timing.run(what, {"cub, one each", [&](std::size_t s) {
                          cub.call(scores.data() + s * elements, labels.data() + s * rows,
                                   static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns), confusion);
                      }});
    plain_subjects<T>(stream, scores.data(), elements, slices).measure(timing, what);
}

template <class T>
void all_works(report const& out, measurement& timing, cudaStream_t stream) {
    values<T>(out, timing, stream);
    pairs<T>(out, timing, stream);
    if (out.counting()) {
        rows_of<five_rows, T>(out, timing, stream, 16384, 10);
        rows_of<five_rows, T>(out, timing, stream, 512, 1000);
        rows_of<four_rows, T>(out, timing, stream, 4, 150000);
    } else if (out.quick()) {
        rows_of<five_rows, T>(out, timing, stream, 64, 10);
        rows_of<five_rows, T>(out, timing, stream, 16, 1000);
        rows_of<four_rows, T>(out, timing, stream, 4, 10000);
    } else {
        rows_of<five_rows, T>(out, timing, stream, 65536, 10);
        rows_of<five_rows, T>(out, timing, stream, 8192, 1000);
        rows_of<four_rows, T>(out, timing, stream, 64, 150000);
    }
}

} // namespace

int main(int argc, char** argv) {
    auto const chosen = parse(argc, argv, "What does an update cost on a device?");
    try {
        report out{chosen, "device_update"};
        stream const work;
        measurement timing{out, work.get()};
        all_works<float>(out, timing, work.get());
        all_works<__half>(out, timing, work.get());
        all_works<__nv_bfloat16>(out, timing, work.get());
        out.finish();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "device_update: %s\n", error.what());
        return 1;
    }
    return 0;
}
