// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Inputs in unusual memory: a class shaped like std::mdspan with any strides, and DLPack tensors that own their shape.
#pragma once

#include <dlpack/dlpack.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tally::testing {

/// Shaped like std::mdspan with layout_stride, but strides may be zero or negative.
template <class T, std::size_t Rank>
class strided {
public:
    using element_type = T;

    strided(T* data, std::array<std::size_t, Rank> extents, std::array<std::ptrdiff_t, Rank> strides)
        : data_{data}, extents_{extents}, strides_{strides} {}

    static constexpr std::size_t rank() { return Rank; }
    [[nodiscard]] std::size_t extent(std::size_t k) const { return extents_[k]; }
    [[nodiscard]] std::ptrdiff_t stride(std::size_t k) const { return strides_[k]; }
    [[nodiscard]] T* data_handle() const { return data_; }

private:
    T* data_;
    std::array<std::size_t, Rank> extents_;
    std::array<std::ptrdiff_t, Rank> strides_;
};

/// A DLTensor of `Rank` dimensions in the memory of the CPU; null strides mean row-major, as DLPack says.
template <std::size_t Rank>
class dlpack_tensor {
public:
    dlpack_tensor(void const* data, DLDataType type, std::array<std::int64_t, Rank> shape) : shape_{shape} {
        tensor_.data = const_cast<void*>(data);
        tensor_.device = {kDLCPU, 0};
        tensor_.ndim = static_cast<int>(Rank);
        tensor_.dtype = type;
        tensor_.shape = shape_.data();
        tensor_.strides = nullptr;
        tensor_.byte_offset = 0;
    }
    dlpack_tensor(void const* data, DLDataType type, std::array<std::int64_t, Rank> shape,
                  std::array<std::int64_t, Rank> strides)
        : dlpack_tensor(data, type, shape) {
        strides_ = strides;
        tensor_.strides = strides_.data();
    }
    dlpack_tensor(dlpack_tensor const&) = delete; // the tensor refers to members
    dlpack_tensor& operator=(dlpack_tensor const&) = delete;

    [[nodiscard]] DLTensor& get() { return tensor_; }

private:
    std::array<std::int64_t, Rank> shape_;
    std::array<std::int64_t, Rank> strides_{};
    DLTensor tensor_{};
};

inline constexpr DLDataType float32{kDLFloat, 32, 1};
inline constexpr DLDataType float64{kDLFloat, 64, 1};
inline constexpr DLDataType float16{kDLFloat, 16, 1};
inline constexpr DLDataType bfloat16{kDLBfloat, 16, 1};
inline constexpr DLDataType boolean{6, 8, 1}; // kDLBool, which older headers of DLPack don't name

} // namespace tally::testing
