// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// cuda::tracker for tests that hold their samples in host memory: each input is copied to device memory of its own, of
// exactly its size, so that a checker sees every access outside it; strides and alignment stay as they are.
#pragma once

#include <tally/core/inputs.hpp>
#include <tally/core/view.hpp>
#include <tally/cuda/engine.cuh>
#include <tally/cuda/error.hpp>
#include <tally/cuda/memory.hpp>
#include <tally/update/input_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tally::testing {

/// A copy in device memory whose address equals the original's modulo 16.
class device_copy {
public:
    device_copy() = default;
    device_copy(std::byte const* from, std::size_t bytes)
        : lead_{reinterpret_cast<std::uintptr_t>(from) % 16}, memory_{lead_ + bytes} {
        cuda::check(cudaMemcpy(memory_.data() + lead_, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    [[nodiscard]] std::byte const* data() const { return memory_.data() + lead_; }

private:
    std::size_t lead_ = 0;
    cuda::detail::device_buffer memory_;
};

/// The elements that a view reaches, counted from its first one.
struct reach {
    std::ptrdiff_t lowest = 0;
    std::ptrdiff_t highest = 0;
    bool any = true;

    void add(std::size_t size, std::ptrdiff_t stride) {
        any = any && size != 0;
        auto const last = (static_cast<std::ptrdiff_t>(size) - 1) * stride;
        lowest += std::min<std::ptrdiff_t>(last, 0);
        highest += std::max<std::ptrdiff_t>(last, 0);
    }
};

template <class T>
reach reach_of(vector_view<T> const& view) {
    reach result;
    result.add(view.size, view.stride);
    return result;
}
template <class T>
reach reach_of(matrix_view<T> const& view) {
    reach result;
    result.add(view.rows, view.row_stride);
    result.add(view.columns, view.column_stride);
    return result;
}
template <std::size_t Rank>
reach reach_of(dynamic_view<Rank> const& view) {
    reach result;
    for (std::size_t k = 0; k < Rank; ++k) {
        result.add(view.size[k], view.stride[k]);
    }
    return result;
}

/// An input whose memory has been copied to the device.
template <class Given>
class input_on_device {
public:
    explicit input_on_device(Given const& host) : input_{host} {
        using view_type = typename Given::view_type;
        if constexpr (requires { host.view.data; }) {
            auto const reached = reach_of(host.view);
            if (!reached.any) {
                return;
            }
            std::ptrdiff_t element = 0;
            if constexpr (tally::detail::is_dynamic_v<view_type>) {
                element = host.view.type.bits / 8;
            } else {
                element = static_cast<std::ptrdiff_t>(sizeof(typename view_type::element_type));
            }
            auto const* const begin = reinterpret_cast<std::byte const*>(host.view.data) + reached.lowest * element;
            copy_ = device_copy(begin, static_cast<std::size_t>((reached.highest - reached.lowest + 1) * element));
            input_.view.data = reinterpret_cast<decltype(input_.view.data)>(copy_.data() - reached.lowest * element);
        }
    }
    [[nodiscard]] Given const& get() const { return input_; }

private:
    Given input_;
    device_copy copy_;
};

template <class M>
class device_tracker : public cuda::tracker<M> {
    using base = cuda::tracker<M>;

public:
    template <class... Sizes>
    explicit device_tracker(Sizes... sizes) : base(sizes...) {}

    /// Takes samples in host memory, and waits until they have been taken.
    template <class... Source, class... View>
    void update(given<Source, View> const&... inputs) {
        // Sizes that differ are refused before memory of that size is believed to exist.
        (void)tally::detail::input_set<given<Source, View>...>{inputs...}.samples();
        update_from(input_on_device<given<Source, View>>(inputs)...);
    }

private:
    template <class... Input>
    void update_from(Input const&... inputs) {
        base::update(inputs.get()...);
        cuda::check(cudaStreamSynchronize(base::stream()), "cudaStreamSynchronize", base::stream());
    }
};

/// The device engine for host memory. Models engine.
struct device_engine {
    using memory_space = tally::device_space;
    template <class M>
    using tracker = device_tracker<M>;
};

} // namespace tally::testing
