// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of a device averaged over replicas by a communicator that sees host memory only: staged through pinned memory,
// 4 bytes an element there and on the device (and 2 more for 16-bit layers). Waits twice for the stream.
#pragma once

#include <tally/comm/all_reduce.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/cuda/error.hpp>
#include <tally/cuda/memory.hpp>
#include <tally/monitor/detail/gradient_block.hpp>
#include <tally/monitor/gradient_view.hpp>
#include <tally/monitor/layer_registry.hpp>
#include <tally/op/ops.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tally::cuda::detail {

class averaged_gradients {
public:
    /// Allocates, on the current device.
    explicit averaged_gradients(layer_registry const& layers) {
        std::size_t elements = 0;
        std::size_t narrow = 0;
        for (auto const& each : layers) {
            places_.push_back({elements, narrow, each.size});
            elements += each.size;
            narrow += each.type == gradient_type::float32 ? 0 : each.size;
        }
        host_ = pinned_buffer(elements * sizeof(float));
        narrow_ = pinned_buffer(narrow * sizeof(half_bits));
        device_ = device_buffer(elements * sizeof(float));
        elements_ = elements;
    }

    /// All replicas. When it returns, the averages are on their way to the device, in stream order.
    template <host_communicator Communicator>
    void average(Communicator& communicator, std::span<gradient_view const> gradients, cudaStream_t stream) {
        auto const copy = [stream](void* to, void const* from, std::size_t bytes) {
            check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync", stream);
        };
        auto* const floats = reinterpret_cast<float*>(host_.data());
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (gradients[i].size != 0) {
                bool const wide = gradients[i].type == gradient_type::float32;
                copy(wide ? reinterpret_cast<std::byte*>(floats + places_[i].first) : narrow_of(i), gradients[i].data,
                     gradients[i].size * (wide ? sizeof(float) : sizeof(half_bits)));
            }
        }
        copied_.record(stream);
        copied_.wait(); // also for the copy to the device of the call before
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (gradients[i].size == 0) {
                std::fill_n(floats + places_[i].first, places_[i].size, 0.0F);
            } else if (gradients[i].type != gradient_type::float32) {
                auto staged = gradients[i];
                staged.data = narrow_of(i);
                tally::detail::copy_floats(staged, floats + places_[i].first);
            }
        }
        all_reduce(communicator, std::span<float>(floats, elements_), op::mean{});
        copy(device_.data(), floats, elements_ * sizeof(float));
    }

    /// A layer's averages, on the device.
    [[nodiscard]] std::span<float const> layer(std::size_t i) const {
        return {reinterpret_cast<float const*>(device_.data()) + places_[i].first, places_[i].size};
    }

private:
    struct place {
        std::size_t first;  ///< element, among those of all layers
        std::size_t narrow; ///< among those of 16-bit layers
        std::size_t size;
    };
    [[nodiscard]] std::byte* narrow_of(std::size_t i) const {
        return narrow_.data() + places_[i].narrow * sizeof(half_bits);
    }

    std::vector<place> places_;
    std::size_t elements_ = 0;
    pinned_buffer host_;
    pinned_buffer narrow_;
    device_buffer device_;
    event copied_;
};

} // namespace tally::cuda::detail
