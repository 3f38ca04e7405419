// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of NCCL share: replicas as threads of this process, each with a device of its own.
#pragma once

#include "support/communicator_laws.hpp"

#include <tally/comm/nccl.hpp>
#include <tally/core/errors.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/memory.hpp>

#include <doctest/doctest.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tally::testing {

/// Data on the current device.
template <class T>
class law_buffer<device_space, T> {
public:
    explicit law_buffer(std::vector<T> const& values) : size_(values.size()), memory_(values.size() * sizeof(T)) {
        if (size_ != 0) {
            cuda::check(cudaMemcpy(memory_.data(), values.data(), memory_.size(), cudaMemcpyHostToDevice),
                        "cudaMemcpy");
            cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        }
    }
    [[nodiscard]] std::span<T> span() { return {reinterpret_cast<T*>(memory_.data()), size_}; }
    [[nodiscard]] std::vector<T> read() const {
        std::vector<T> values(size_);
        if (size_ != 0) {
            cuda::check(cudaMemcpy(values.data(), memory_.data(), memory_.size(), cudaMemcpyDeviceToHost),
                        "cudaMemcpy");
        }
        return values;
    }

private:
    std::size_t size_;
    cuda::detail::device_buffer memory_;
};

/// Devices in this machine, or of vgpu.
inline int devices_here() {
    int count = 0;
    cuda::check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    return count;
}

/// The sizes of groups that there are devices for. One is always there, so no test is silent.
inline std::vector<int> group_sizes() {
    std::vector<int> sizes;
    for (auto const size : {1, 2, 4, 8}) {
        if (size <= devices_here()) {
            sizes.push_back(size);
        }
    }
    return sizes;
}

inline std::vector<nccl_communicator> make_group(int size,
                                                 std::chrono::milliseconds deadline = std::chrono::seconds{60}) {
    std::vector<int> devices(static_cast<std::size_t>(size));
    std::iota(devices.begin(), devices.end(), 0);
    return nccl_communicators(devices, deadline);
}

/// Calls function(rank) in a thread for each rank, on the device of this number; rethrows the first exception.
template <class Function>
void on_devices(int size, Function function) {
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank != size; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                cuda::check(cudaSetDevice(rank), "cudaSetDevice");
                function(rank);
            } catch (...) {
                failures[static_cast<std::size_t>(rank)] = std::current_exception();
            }
        });
    }
    for (auto& each : threads) {
        each.join();
    }
    for (auto const& each : failures) {
        if (each) {
            std::rethrow_exception(each);
        }
    }
}

/// The same with the communicators of a group.
template <class Function>
void on_group(std::vector<nccl_communicator>& group, Function function) {
    on_devices(static_cast<int>(group.size()), [&](int rank) { function(group[static_cast<std::size_t>(rank)]); });
}

/// The text of the `Exception` that `function` throws; anything else is a text that fails the test.
template <class Exception, class Function>
std::string text_of(Function function) {
    try {
        function();
    } catch (Exception const& caught) {
        return caught.what();
    } catch (std::exception const& caught) {
        return std::string{"another exception: "} + caught.what();
    }
    return "no exception";
}

[[nodiscard]] inline bool contains(std::string const& text, char const* part) {
    return text.find(part) != std::string::npos;
}

/// Whether all replicas of `comm` can still talk: a sum over all of them.
inline bool works(nccl_communicator& comm) {
    std::vector<std::uint64_t> ones{1};
    comm.staged().all_reduce_sum(ones);
    return ones[0] == static_cast<std::uint64_t>(comm.size());
}

/// How long a call took.
class stopwatch {
public:
    [[nodiscard]] std::chrono::milliseconds elapsed() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin_);
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace tally::testing
