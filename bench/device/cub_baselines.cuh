// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What one writes today for a metric on a device: a call of CUB each. Sums are formed in double, as tally does. Nothing
// is allocated while these run; what remains to be done with the results (a division, a root) is not in their time.
#pragma once

#include "memory.cuh"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace bench {

/// N sums, added up together.
template <int N>
struct sums {
    double of[N];
    __host__ __device__ friend sums operator+(sums const& a, sums const& b) {
        sums result;
        for (int k = 0; k < N; ++k) {
            result.of[k] = a.of[k] + b.of[k];
        }
        return result;
    }
};
struct add {
    template <class T>
    __host__ __device__ T operator()(T const& a, T const& b) const {
        return a + b;
    }
};
struct larger {
    template <class T>
    __host__ __device__ T operator()(T const& a, T const& b) const {
        return a < b ? b : a;
    }
};
struct smaller {
    template <class T>
    __host__ __device__ T operator()(T const& a, T const& b) const {
        return b < a ? b : a;
    }
};
struct as_float {
    template <class T>
    __host__ __device__ float operator()(T const& x) const {
        return static_cast<float>(x);
    }
};
struct as_double {
    template <class T>
    __host__ __device__ double operator()(T const& x) const {
        return static_cast<double>(static_cast<float>(x));
    }
};
struct with_square {
    template <class T>
    __host__ __device__ sums<2> operator()(T const& x) const {
        auto const y = static_cast<double>(static_cast<float>(x));
        return {{y, y * y}};
    }
};
struct exponential {
    template <class T>
    __host__ __device__ double operator()(T const& x) const {
        return static_cast<double>(expf(static_cast<float>(x)));
    }
};

/// Elements as floats: the pointer itself where they are.
template <class T>
auto floats(T const* from) {
    if constexpr (std::is_same_v<T, float>) {
        return from;
    } else {
        return thrust::make_transform_iterator(from, as_float{});
    }
}

/// The temporary memory of all calls, grown before anything is timed, and a place for results.
class cub_calls {
public:
    explicit cub_calls(cudaStream_t stream) : stream_{stream}, results_(1024) {}

    /// `call(temporary, bytes)` as CUB has it: without memory it says how much it needs.
    template <class Call>
    void run(Call const& call) {
        std::size_t bytes = 0;
        if (!sized_) {
            check(call(nullptr, bytes), "the size of CUB's memory", stream_);
            if (bytes > temporary_bytes_) {
                temporary_ = std::make_unique<memory<std::byte>>(bytes);
                temporary_bytes_ = bytes;
            }
        }
        bytes = temporary_bytes_;
        check(call(temporary_->data(), bytes), "CUB", stream_);
    }
    /// The first round asks for sizes, later ones don't.
    void sized() { sized_ = true; }

    template <class T>
    [[nodiscard]] T* result(int slot) const {
        return reinterpret_cast<T*>(results_.data() + 16 * slot);
    }
    [[nodiscard]] cudaStream_t stream() const { return stream_; }

    template <class In, class T, class Op, class Transform>
    void reduce(In in, std::size_t size, T start, Op op, Transform transform, int slot) {
        run([&](void* temporary, std::size_t& bytes) {
            return cub::DeviceReduce::TransformReduce(temporary, bytes, in, result<T>(slot),
                                                      static_cast<std::int64_t>(size), op, transform, start, stream_);
        });
    }

private:
    cudaStream_t stream_;
    memory<double> results_;
    std::unique_ptr<memory<std::byte>> temporary_;
    std::size_t temporary_bytes_ = 0;
    bool sized_ = false;
};

// ---- metrics of values ----------------------------------------------------------------------------------------------

/// The metrics of device_update.cu's value collections, the first `metrics` of them.
template <class T>
class cub_values {
public:
    explicit cub_values(cudaStream_t stream) : calls_{stream}, counts_(64) {}

    void call(T const* x, std::size_t n, int metrics) {
        calls_.reduce(x, n, 0.0, add{}, as_double{}, 0); // mean
        if (metrics > 1) {
            calls_.reduce(x, n, sums<2>{}, add{}, with_square{}, 1);              // variance
            calls_.reduce(x, n, -__builtin_huge_valf(), larger{}, as_float{}, 2); // largest
        }
        if (metrics > 3) {
            calls_.reduce(x, n, sums<2>{}, add{}, with_square{}, 3);              // standard deviation
            calls_.reduce(x, n, 0.0, add{}, as_double{}, 4);                      // sum
            calls_.reduce(x, n, __builtin_huge_valf(), smaller{}, as_float{}, 5); // smallest
            histogram(x, n, 64);
            histogram(x, n, 5);
            calls_.run([&](void* temporary, std::size_t& bytes) { // the largest and where it is
                return cub::DeviceReduce::ArgMax(temporary, bytes, floats(x), calls_.template result<float>(6),
                                                 calls_.template result<std::int64_t>(7), static_cast<std::int64_t>(n),
                                                 calls_.stream());
            });
            calls_.reduce(x, n, 0.0, add{}, exponential{}, 8); // log of the sum of exponentials, without scaling
        }
        calls_.sized();
    }
    [[nodiscard]] double total() const {
        double value = 0.0;
        check(cudaMemcpyAsync(&value, calls_.template result<double>(0), sizeof value, cudaMemcpyDeviceToHost,
                              calls_.stream()),
              "cudaMemcpyAsync");
        check(cudaStreamSynchronize(calls_.stream()), "cudaStreamSynchronize");
        return value;
    }

private:
    void histogram(T const* x, std::size_t n, int bins) {
        calls_.run([&](void* temporary, std::size_t& bytes) {
            return cub::DeviceHistogram::HistogramEven(temporary, bytes, floats(x), counts_.data(), bins + 1, 0.0F,
                                                       1.0F, static_cast<int>(n), calls_.stream());
        });
    }

    cub_calls calls_;
    memory<unsigned> counts_;
};

/// The sum alone, over all bytes of a slice: what the fused update is held against.
template <class T>
class cub_sum {
public:
    explicit cub_sum(cudaStream_t stream) : calls_{stream} {}
    void call(T const* x, std::size_t n) {
        if constexpr (std::is_same_v<T, float>) {
            calls_.run([&](void* temporary, std::size_t& bytes) {
                return cub::DeviceReduce::Sum(temporary, bytes, x, calls_.template result<float>(0),
                                              static_cast<std::int64_t>(n), calls_.stream());
            });
        } else {
            calls_.reduce(x, n, 0.0F, add{}, as_float{}, 0);
        }
        calls_.sized();
    }

private:
    cub_calls calls_;
};

// ---- metrics of pairs -----------------------------------------------------------------------------------------------

/// What each metric sums up of a prediction and a target.
struct squared_error {
    __host__ __device__ double operator()(double p, double t) const { return (p - t) * (p - t); }
};
struct absolute_error {
    __host__ __device__ double operator()(double p, double t) const { return fabs(p - t); }
};
struct plain_error {
    __host__ __device__ double operator()(double p, double t) const { return p - t; }
};
struct error_and_targets {
    __host__ __device__ sums<3> operator()(double p, double t) const { return {{(p - t) * (p - t), t, t * t}}; }
};
struct errors_and_targets {
    __host__ __device__ sums<4> operator()(double p, double t) const { return {{p - t, (p - t) * (p - t), t, t * t}}; }
};
struct products {
    __host__ __device__ sums<5> operator()(double p, double t) const { return {{p, t, p * p, t * t, p * t}}; }
};
struct product_alone {
    __host__ __device__ sums<3> operator()(double p, double t) const { return {{p, t, p * t}}; }
};

/// `Term` of pair i.
template <class T, class Term>
struct term_of_pair {
    T const* predictions;
    T const* targets;
    __host__ __device__ auto operator()(std::int64_t i) const {
        return Term{}(static_cast<double>(static_cast<float>(predictions[i])),
                      static_cast<double>(static_cast<float>(targets[i])));
    }
};

template <class T>
class cub_pairs {
public:
    explicit cub_pairs(cudaStream_t stream) : calls_{stream} {}

    void call(T const* p, T const* t, std::size_t n) {
        reduce<squared_error>(p, t, n, 0.0, add{}, 0);
        reduce<squared_error>(p, t, n, 0.0, add{}, 1); // and its root
        reduce<absolute_error>(p, t, n, 0.0, add{}, 2);
        reduce<plain_error>(p, t, n, 0.0, add{}, 3);
        reduce<absolute_error>(p, t, n, 0.0, larger{}, 4);        // the largest
        reduce<error_and_targets>(p, t, n, sums<3>{}, add{}, 5);  // R2
        reduce<errors_and_targets>(p, t, n, sums<4>{}, add{}, 7); // explained variance
        reduce<products>(p, t, n, sums<5>{}, add{}, 9);           // Pearson
        reduce<product_alone>(p, t, n, sums<3>{}, add{}, 12);     // covariance
        reduce<products>(p, t, n, sums<5>{}, add{}, 14);          // concordance
        calls_.sized();
    }

private:
    template <class Term, class R, class Op>
    void reduce(T const* p, T const* t, std::size_t n, R start, Op op, int slot) {
        calls_.reduce(thrust::make_counting_iterator(std::int64_t{0}), n, start, op, term_of_pair<T, Term>{p, t}, slot);
    }

    cub_calls calls_;
};

// ---- metrics of rows of scores --------------------------------------------------------------------------------------

struct begin_of_row {
    std::int32_t columns;
    __host__ __device__ std::int32_t operator()(std::int32_t row) const { return row * columns; }
};
/// 1 for scores above that of the row's label.
template <class T>
struct above_target {
    T const* scores;
    std::int32_t const* labels;
    std::int32_t columns;
    __host__ __device__ int operator()(std::int32_t i) const {
        auto const row = i / columns;
        return static_cast<float>(scores[i]) > static_cast<float>(scores[row * columns + labels[row]]) ? 1 : 0;
    }
};
/// exp(score - the row's largest)
template <class T>
struct scaled_exponential {
    T const* scores;
    float const* largest;
    std::int32_t columns;
    __host__ __device__ float operator()(std::int32_t i) const {
        return expf(static_cast<float>(scores[i]) - largest[i / columns]);
    }
};

/// Segmented reductions, one row a segment. Only those over the scores: the small kernels over the rows that would make
/// metrics of them are left out.
template <class T>
class cub_rows {
public:
    cub_rows(cudaStream_t stream, std::size_t rows)
        : calls_{stream}, best_(rows), largest_(rows), sums_(rows), counts_(rows) {}

    void call(T const* scores, std::int32_t const* labels, std::int32_t rows, std::int32_t columns, bool confusion) {
        best(scores, rows, columns);                                                   // top-1
        each(above_target<T>{scores, labels, columns}, rows, columns, counts_.data()); // top-5
        calls_.run([&](void* temporary, std::size_t& bytes) {                          // cross-entropy
            auto const begin =
                thrust::make_transform_iterator(thrust::make_counting_iterator(0), begin_of_row{columns});
            return cub::DeviceSegmentedReduce::Max(temporary, bytes, floats(scores), largest_.data(), rows, begin,
                                                   begin + 1, calls_.stream());
        });
        each(scaled_exponential<T>{scores, largest_.data(), columns}, rows, columns, sums_.data());
        best(scores, rows, columns); // calibration
        each(scaled_exponential<T>{scores, largest_.data(), columns}, rows, columns, sums_.data());
        if (confusion) {
            best(scores, rows, columns);
        }
        calls_.sized();
    }

private:
    void best(T const* scores, std::int32_t rows, std::int32_t columns) {
        calls_.run([&](void* temporary, std::size_t& bytes) {
            auto const begin =
                thrust::make_transform_iterator(thrust::make_counting_iterator(0), begin_of_row{columns});
            return cub::DeviceSegmentedReduce::ArgMax(temporary, bytes, floats(scores), best_.data(), rows, begin,
                                                      begin + 1, calls_.stream());
        });
    }
    template <class Term, class R>
    void each(Term term, std::int32_t rows, std::int32_t columns, R* to) {
        calls_.run([&](void* temporary, std::size_t& bytes) {
            auto const begin =
                thrust::make_transform_iterator(thrust::make_counting_iterator(0), begin_of_row{columns});
            auto const terms = thrust::make_transform_iterator(thrust::make_counting_iterator(0), term);
            return cub::DeviceSegmentedReduce::Sum(temporary, bytes, terms, to, rows, begin, begin + 1,
                                                   calls_.stream());
        });
    }

    cub_calls calls_;
    memory<cub::KeyValuePair<int, float>> best_;
    memory<float> largest_;
    memory<float> sums_;
    memory<int> counts_;
};

} // namespace bench
