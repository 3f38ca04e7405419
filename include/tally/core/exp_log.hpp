// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The library's own exp, log and log1p: the same bits on the host, with any compiler and any instruction set, and on a
// device. The C library's differ between all of these in their last bits, and a loss would depend on where it was computed.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/exp_log_constants.hpp>
#include <tally/core/multiply_add.hpp>

#include <cstddef>
#include <utility>

namespace tally::math {

namespace detail {

using tally::detail::any_multiply_add;
using tally::detail::bit_cast;
using tally::detail::exp_constants;
using tally::detail::log_constants;
using tally::detail::rounded_product;
using tally::detail::with_multiply_add;

/// Constants::polynomial of x. Its coefficients become literals: device code can't take the address of a host array.
template <class Constants, std::size_t Index>
TALLY_HD constexpr auto coefficient() {
    constexpr auto value = Constants::polynomial[Index];
    return value;
}
template <class Constants, class T, class MultiplyAdd, std::size_t... Index>
[[gnu::always_inline]] TALLY_HD inline T polynomial(T x, MultiplyAdd multiply_add, std::index_sequence<Index...>) {
    T sum = coefficient<Constants, 0>();
    ((sum = multiply_add(sum, x, coefficient<Constants, Index + 1>())), ...);
    return sum;
}
template <class Constants, class T, class MultiplyAdd>
[[gnu::always_inline]] TALLY_HD inline T polynomial(T x, MultiplyAdd multiply_add) {
    return polynomial<Constants>(x, multiply_add, std::make_index_sequence<Constants::terms - 1>{});
}

/// n ln 2 + log1p(f), |f| <= 1/3 or so.
template <class MultiplyAdd>
[[gnu::always_inline]] TALLY_HD inline float scaled_log1p(float f, float n, MultiplyAdd multiply_add) {
    using constants = log_constants<float>;
    float const square = f * f;
    float const log = multiply_add(square, polynomial<constants>(f, multiply_add), f);
    return multiply_add(n, constants::ln2_high, multiply_add(n, constants::ln2_low, log));
}
template <class MultiplyAdd>
[[gnu::always_inline]] TALLY_HD inline double scaled_log1p(double f, double n, MultiplyAdd multiply_add) {
    using constants = log_constants<double>;
    double const half_square = rounded_product(0.5, rounded_product(f, f));
    double const s = f / (2.0 + f);
    double const z = rounded_product(s, s);
    double const rest = rounded_product(z, polynomial<constants>(z, multiply_add));
    // f - s f = f - f^2 / 2 + s f^2 / 2: what is rounded is small against f.
    double const small = rounded_product(s, half_square + rest) + rounded_product(n, constants::ln2_low);
    return rounded_product(n, constants::ln2_high) + (f - (half_square - small));
}

struct exp_function {
    template <class T, class MultiplyAdd>
    [[gnu::always_inline]] TALLY_HD static T of(T x, MultiplyAdd multiply_add) {
        using constants = exp_constants<T>;
        using bits = typename constants::bits;
        T const capped = constants::ceiling < x ? constants::ceiling : x; // a NaN stays
        T const clamped = constants::floor > capped ? constants::floor : capped;
        T const shifted = multiply_add(clamped, constants::log2_e, constants::shifter);
        T const n = shifted - constants::shifter;
        T const r = multiply_add(n, -constants::ln2_low, multiply_add(n, -constants::ln2_high, clamped));
        T const mantissa = polynomial<constants>(r, multiply_add);
        // The power may be one that no T holds while the result is one: halve it there and double the mantissa instead.
        bool const large = capped > constants::large;
        auto power = static_cast<bits>(bit_cast<bits>(shifted) << constants::mantissa_bits);
        power -= large ? bits{1} << constants::mantissa_bits : bits{0};
        return (large ? mantissa + mantissa : mantissa) * bit_cast<T>(power);
    }
};
struct log_function {
    template <class T, class MultiplyAdd>
    [[gnu::always_inline]] TALLY_HD static T of(T x, MultiplyAdd multiply_add) {
        using constants = log_constants<T>;
        using bits = typename constants::bits;
        using signed_bits = typename constants::signed_bits;
        constexpr auto infinity = static_cast<T>(__builtin_huge_val());
        bool const subnormal = x < constants::smallest_normal;
        bits const image = bit_cast<bits>(subnormal ? x * constants::subnormal_scale : x);
        auto const exponent = static_cast<signed_bits>(image - constants::two_thirds) >> constants::mantissa_bits;
        auto const mantissa = static_cast<bits>(image - (static_cast<bits>(exponent) << constants::mantissa_bits));
        auto const n = static_cast<T>(exponent - (subnormal ? constants::subnormal_shift : 0));
        T const log = scaled_log1p(bit_cast<T>(mantissa) - T{1}, n, multiply_add);
        return x > T{0} ? (x < infinity ? log : x) : x == T{0} ? -infinity : static_cast<T>(__builtin_nan(""));
    }
};
struct log1p_function {
    template <class T, class MultiplyAdd>
    [[gnu::always_inline]] TALLY_HD static T of(T x, MultiplyAdd multiply_add) {
        using constants = log_constants<T>;
        using bits = typename constants::bits;
        using signed_bits = typename constants::signed_bits;
        constexpr auto infinity = static_cast<T>(__builtin_huge_val());
        bits const sum = bit_cast<bits>(T{1} + x);
        auto const exponent = static_cast<signed_bits>(sum - constants::two_thirds) >> constants::mantissa_bits;
        bits const shift = static_cast<bits>(exponent) << constants::mantissa_bits;
        // 1 + f = 2^-n (1 + x) without rounding 1 + x. 4 2^-n is normal for every n, and so is x where n is not 0.
        T const scaled_four = bit_cast<T>(static_cast<bits>(constants::four - shift));
        T const scaled = bit_cast<T>(static_cast<bits>(bit_cast<bits>(x) - shift));
        T const f = exponent == 0 ? x : scaled + (T{0.25} * scaled_four - T{1});
        T const log = scaled_log1p(f, static_cast<T>(exponent), multiply_add);
        return x > T{-1}    ? (x < infinity && x != T{0} ? log : x)
               : x == T{-1} ? -infinity
                            : static_cast<T>(__builtin_nan(""));
    }
};

template <class Function>
[[gnu::always_inline]] TALLY_HD inline float evaluate(float x) {
    return with_multiply_add<Function>(x);
}
template <class Function>
[[gnu::always_inline]] TALLY_HD inline double evaluate(double x) {
    return Function::of(x, any_multiply_add{});
}

} // namespace detail

/// e^x for T = float or double. Error below 1 unit (float) and 2 units (double) in the last place of a normal
/// result; results below the smallest normal number may be 0. NaN gives NaN, -inf 0, +inf +inf. About 15 operations.
template <class T>
[[gnu::always_inline]] TALLY_HD inline T exp(T x) {
    return detail::evaluate<detail::exp_function>(x);
}

/// log(x) for T = float or double, subnormal x included. Error below 1 unit in the last place. log(0) is -inf, of
/// negative numbers NaN. About 20 operations; in double one of them is a division.
template <class T>
[[gnu::always_inline]] TALLY_HD inline T log(T x) {
    return detail::evaluate<detail::log_function>(x);
}

/// log(1 + x) for T = float or double, with the digits that 1 + x would lose. Error below 1.7 units in the last place.
/// log1p(-0) is -0, log1p(-1) is -inf, of what is below NaN. About 25 operations; in double one of them is a division.
template <class T>
[[gnu::always_inline]] TALLY_HD inline T log1p(T x) {
    return detail::evaluate<detail::log1p_function>(x);
}

} // namespace tally::math
