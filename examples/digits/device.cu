// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "device.hpp"

#include <tally/cuda.hpp>

#include <cstddef>
#include <utility>

namespace digits {

namespace {

using tally::cuda::check;

/// Device memory that grows when a batch is larger than all before.
template <class T>
class batch_memory {
public:
    batch_memory() = default;
    batch_memory(batch_memory const&) = delete;
    batch_memory& operator=(batch_memory const&) = delete;
    ~batch_memory() { (void)cudaFree(data_); }

    /// The copy is ordered behind earlier work of the stream, so what that still reads is not overwritten.
    std::span<T const> copy(std::span<T const> values, cudaStream_t stream) {
        if (values.size() > size_) {
            check(cudaFree(std::exchange(data_, nullptr)), "cudaFree");
            check(cudaMalloc(&data_, values.size_bytes()), "cudaMalloc");
            size_ = values.size();
        }
        check(cudaMemcpyAsync(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream),
              "cudaMemcpyAsync", stream);
        return {data_, values.size()};
    }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace

std::string device_name() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return {};
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, tally::cuda::current_device()), "cudaGetDeviceProperties");
    return properties.name;
}

struct device_evaluator::implementation {
    basic_evaluator<tally::cuda::engine<>> metrics;
    batch_memory<float> logits;
    batch_memory<std::int32_t> labels;
};

device_evaluator::device_evaluator() : implementation_{std::make_unique<implementation>()} {}
device_evaluator::~device_evaluator() = default;

void device_evaluator::update(std::span<float const> logits, std::span<std::int32_t const> labels) {
    auto const stream = cudaStream_t{}; // the tracker's
    implementation_->metrics.update(implementation_->logits.copy(logits, stream),
                                    implementation_->labels.copy(labels, stream));
}

tally::combined<evaluation> device_evaluator::combine(tally::thread_communicator& comm) const {
    return implementation_->metrics.combine(comm);
}

} // namespace digits
