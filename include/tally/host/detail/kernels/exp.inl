// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// exp on vectors: argument reduction by ln 2, then a polynomial (constants in ../exp_constants.hpp). Errors stay below
// 1.2 ulp. NaN stays NaN, -inf gives 0, and results below the smallest normal number may be flushed to 0.

/// e^x as `mantissa` * `power`: e^r, in about [0.7, 1.42], and 2^n, where x = n ln 2 + r.
template <class T>
struct exp_parts {
    simd<T> mantissa;
    simd<T> power;
};

/// The argument below which exponentials are 0, and the one above which they are infinite, as values that the compiler
/// can't see: of a maximum with a literal, GCC makes a comparison and a blend.
template <class T>
[[gnu::always_inline]] inline T exp_floor() noexcept {
    T const volatile floor = exp_constants<T>::floor;
    return floor;
}
template <class T>
[[gnu::always_inline]] inline T exp_ceiling() noexcept {
    T const volatile ceiling = exp_constants<T>::ceiling;
    return ceiling;
}

/// For x up to `exp_constants<T>::ceiling`, or NaN. The power is 0 for x at or below `floor`, and may be infinity above
/// `large`. Without `Exact` the reduction takes one step, which is like rounding x once more: right for a sum of terms
/// e^x <= 1, where x is a rounded difference anyway.
template <bool Exact, class T>
[[gnu::always_inline]] inline exp_parts<T> split_exp(simd<T> const& x, T floor) noexcept {
    using V = simd<T>;
    using constants = exp_constants<T>;
    V const clamped = max(V::all(floor), x);
    V const shifted = mul_add(clamped, V::all(constants::log2_e), V::all(constants::shifter));
    V const n{shifted.v - constants::shifter};
    V r;
    if constexpr (Exact) {
        r = mul_add(n, V::all(-constants::ln2_low), mul_add(n, V::all(-constants::ln2_high), clamped));
    } else {
        r = mul_add(n, V::all(-constants::ln2), clamped);
    }
    V p = V::all(constants::polynomial[0]);
    for (std::size_t i = 1; i < constants::terms; ++i) p = mul_add(p, r, V::all(constants::polynomial[i]));
    auto bits = reinterpret<simd<typename constants::bits>>(shifted);
    bits.v <<= constants::mantissa_bits;
    return {p, reinterpret<V>(bits)};
}

/// e^x over the whole range. `floor` and `ceiling` are `exp_floor<T>()` and `exp_ceiling<T>()`.
template <class T>
[[gnu::always_inline]] inline simd<T> exp(simd<T> const& x, T floor, T ceiling) noexcept {
    using V = simd<T>;
    using constants = exp_constants<T>;
    V const cap = V::all(ceiling);
    V const capped{cap.v < x.v ? cap.v : x.v};
    exp_parts<T> const e = split_exp<true>(capped, floor);
    // The power may be one that no T holds while the result is one: halve it there and double the mantissa instead.
    typename V::mask const large{capped.v > constants::large};
    auto bits = reinterpret<simd<typename constants::bits>>(e.power);
    bits.v += reinterpret<simd<typename constants::bits>>(large).v << constants::mantissa_bits;
    return {(large.v ? e.mantissa.v + e.mantissa.v : e.mantissa.v) * reinterpret<V>(bits).v};
}

/// Adds e^x, x <= 0 or NaN, to `sum` and, if asked, its square to `squares`. `floor` is `exp_floor<T>()`.
template <bool Squares, class T>
[[gnu::always_inline]] inline void add_exp(simd<T> const& x, T floor, simd<T>& sum, simd<T>& squares) noexcept {
    exp_parts<T> const e = split_exp<false>(x, floor);
    if constexpr (Squares) {
        simd<T> const y{e.mantissa.v * e.power.v};
        sum.v += y.v;
        squares = mul_add(y, y, squares);
    } else {
        sum = mul_add(e.mantissa, e.power, sum);
    }
}
