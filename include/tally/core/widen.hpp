// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Conversion of input elements to the type that a metric asks for. Only conversions that keep every value are made;
// a lossy one does not compile. One customisation point, `widening<T>`, adds 16-bit and other user types.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/class_index.hpp>
#include <tally/core/half_bits.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace tally {

/// How an element type is widened to an arithmetic type. Specialise it for types of your own:
///   template <> struct tally::widening<my_half> { static float widen(my_half x); };
/// Class types of two bytes that convert to float (CUDA's __half and __nv_bfloat16) need nothing.
template <class T>
struct widening {};

template <class T>
    requires std::is_arithmetic_v<T>
struct widening<T> {
    TALLY_HD static constexpr T widen(T x) { return x; }
};
template <class T>
    requires(std::is_class_v<T> && sizeof(T) == 2 && requires(T const& x) { static_cast<float>(x); })
struct widening<T> {
    TALLY_HD static constexpr float widen(T const& x) { return static_cast<float>(x); }
};
template <>
struct widening<half_bits> {
    TALLY_HD static constexpr float widen(half_bits x) { return widen_bits(x); }
};
template <>
struct widening<bfloat16_bits> {
    TALLY_HD static constexpr float widen(bfloat16_bits x) { return widen_bits(x); }
};
template <>
struct widening<class_index> {
    TALLY_HD static constexpr std::int32_t widen(class_index x) { return x.value; }
};
#if defined(__FLT16_MANT_DIG__) && (defined(__clang__) || __GNUC__ >= 13)
template <>
struct widening<_Float16> {
    TALLY_HD static constexpr float widen(_Float16 x) { return static_cast<float>(x); }
};
#endif

/// Types that can be elements of an input.
template <class T>
concept element = requires(T const& x) { widening<T>::widen(x); };

namespace detail {

template <element T>
using widened_t = decltype(widening<T>::widen(std::declval<T const&>()));

/// True if every value of From is a value of To.
template <class To, class From>
inline constexpr bool keeps_values =
    std::is_same_v<To, From> || std::is_same_v<From, bool> ||
    (std::is_floating_point_v<From>
         ? std::is_floating_point_v<To> && std::numeric_limits<To>::digits >= std::numeric_limits<From>::digits &&
               std::numeric_limits<To>::max_exponent >= std::numeric_limits<From>::max_exponent
         : (std::is_unsigned_v<From> || std::is_signed_v<To>)&&std::numeric_limits<To>::digits >=
               std::numeric_limits<From>::digits);

template <class X>
TALLY_HD constexpr class_index to_class_index(X x) {
    if constexpr (std::is_floating_point_v<X>) {
        // Comparisons with NaN are false, so NaN ends up invalid; 2^31 is exact in every floating-point type.
        if (x >= static_cast<X>(-2147483648.0) && x < static_cast<X>(2147483648.0)) {
            auto const index = static_cast<std::int32_t>(x);
            return static_cast<X>(index) == x ? class_index{index} : class_index::invalid();
        }
        return class_index::invalid();
    } else if constexpr (std::is_same_v<X, bool>) {
        return {static_cast<std::int32_t>(x)};
    } else {
        if constexpr (std::is_signed_v<X>) {
            if (x < X{0}) {
                auto const index = static_cast<std::int32_t>(x);
                return index == x ? class_index{index} : class_index::invalid();
            }
        }
        if (static_cast<std::uint64_t>(x) > static_cast<std::uint64_t>(highest_of<std::int32_t>)) {
            return class_index::invalid();
        }
        return {static_cast<std::int32_t>(x)};
    }
}

} // namespace detail

/// True if an element of type From can be given where a metric asks for To.
template <class To, class From>
inline constexpr bool widens_to = [] {
    if constexpr (!element<From>) {
        return false;
    } else if constexpr (std::is_same_v<To, class_index>) {
        return true;
    } else {
        return detail::keeps_values<To, detail::widened_t<From>>;
    }
}();

/// Converts one element. Exact; class_index takes any number and marks what is no index as invalid.
template <class To, element From>
    requires widens_to<To, From>
TALLY_HD constexpr To widen_to(From const& x) {
    auto const wide = widening<From>::widen(x);
    if constexpr (std::is_same_v<To, class_index>) {
        return detail::to_class_index(wide);
    } else {
        return static_cast<To>(wide);
    }
}

} // namespace tally
