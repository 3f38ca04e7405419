// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A layer's gradient (or update, or weights) in the user's memory: address, number of elements, element type. Does not
// own anything; a default-constructed one says that the layer has no gradient here.
#pragma once

#include <tally/core/half_bits.hpp>
#include <tally/core/inputs.hpp>
#include <tally/core/widen.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace tally {

enum class gradient_type : std::uint8_t { float32, float16, bfloat16 };

constexpr char const* to_string(gradient_type type) {
    switch (type) {
    case gradient_type::float32: return "float32";
    case gradient_type::float16: return "float16";
    case gradient_type::bfloat16: return "bfloat16";
    }
    return "unknown type";
}

/// Elements of a gradient: float, half_bits, bfloat16_bits, and class types of two bytes that convert to float (CUDA's
/// __half and __nv_bfloat16).
template <class T>
concept gradient_element =
    element<T> && std::same_as<detail::widened_t<T>, float> && (sizeof(T) == 4 || sizeof(T) == 2);

/// The element type of T. Of foreign 16-bit types the conversion to float tells: one bit pattern is 1 in either format.
template <gradient_element T>
gradient_type gradient_type_of() {
    if constexpr (sizeof(T) == 4) {
        return gradient_type::float32;
    } else {
        std::uint16_t const one_as_half = 0x3c00;
        T x;
        std::memcpy(static_cast<void*>(&x), &one_as_half, sizeof(x));
        return widening<T>::widen(x) == 1.0F ? gradient_type::float16 : gradient_type::bfloat16;
    }
}

struct gradient_view {
    gradient_view() = default;
    template <gradient_element T, std::integral N>
    gradient_view(T const* elements, N n) : data{elements}, size{detail::to_size(n)}, type{gradient_type_of<T>()} {}
    /// A contiguous range: std::vector, std::array, std::span, a C array.
    template <detail::contiguous Range>
        requires gradient_element<std::remove_cvref_t<decltype(*std::data(std::declval<Range const&>()))>>
    gradient_view(Range const& range) // NOLINT(google-explicit-constructor): what is passed to observe
        : gradient_view(std::data(range), std::size(range)) {}

    /// Whether there is no gradient here: a layer that this replica does not hold, or that got none in this step.
    [[nodiscard]] bool missing() const { return data == nullptr && size == 0; }

    void const* data = nullptr;
    std::size_t size = 0;
    gradient_type type = gradient_type::float32;
};

} // namespace tally
