// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// exp and log1p on vectors: the operations of tally::math::exp and log1p (core/exp_log.hpp), lane by lane, so their bits
// are the same. NaN stays NaN, -inf gives 0, and results of exp below the smallest normal number may be flushed to 0.

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

template <class T, std::size_t Terms>
[[gnu::always_inline]] inline simd<T> polynomial(T const (&coefficient)[Terms], simd<T> const& x) noexcept {
    using V = simd<T>;
    V p = V::all(coefficient[0]);
    for (std::size_t i = 1; i < Terms; ++i) p = mul_add(p, x, V::all(coefficient[i]));
    return p;
}

/// For x up to `exp_constants<T>::ceiling`, or NaN. The power is 0 for x at or below `floor`, and may be infinity above
/// `large`.
template <class T>
[[gnu::always_inline]] inline exp_parts<T> split_exp(simd<T> const& x, T floor) noexcept {
    using V = simd<T>;
    using constants = exp_constants<T>;
    V const clamped = max(V::all(floor), x);
    V const shifted = mul_add(clamped, V::all(constants::log2_e), V::all(constants::shifter));
    V const n{shifted.v - constants::shifter};
    V const r = mul_add(n, V::all(-constants::ln2_low), mul_add(n, V::all(-constants::ln2_high), clamped));
    auto bits = reinterpret<simd<typename constants::bits>>(shifted);
    bits.v <<= constants::mantissa_bits;
    return {polynomial(constants::polynomial, r), reinterpret<V>(bits)};
}

/// e^x over the whole range. `floor` and `ceiling` are `exp_floor<T>()` and `exp_ceiling<T>()`.
template <class T>
[[gnu::always_inline]] inline simd<T> exp(simd<T> const& x, T floor, T ceiling) noexcept {
    using V = simd<T>;
    using constants = exp_constants<T>;
    V const cap = V::all(ceiling);
    V const capped{cap.v < x.v ? cap.v : x.v};
    exp_parts<T> const e = split_exp(capped, floor);
    // The power may be one that no T holds while the result is one: halve it there and double the mantissa instead.
    typename V::mask const large{capped.v > constants::large};
    auto bits = reinterpret<simd<typename constants::bits>>(e.power);
    bits.v += reinterpret<simd<typename constants::bits>>(large).v << constants::mantissa_bits;
    return {(large.v ? e.mantissa.v + e.mantissa.v : e.mantissa.v) * reinterpret<V>(bits).v};
}

/// log(1 + x), x >= 0 and finite or NaN, in float: what the sum of a row has over 1.
[[gnu::always_inline]] inline simd<float> log1p(simd<float> const& x) noexcept {
    using V = simd<float>;
    using U = simd<std::uint32_t>;
    using M = typename V::mask;
    using constants = log_constants<float>;
    U const from_two_thirds{reinterpret<U>(V{x.v + 1.0F}).v - constants::two_thirds};
    M const exponent{reinterpret<M>(from_two_thirds).v >> constants::mantissa_bits};
    U const shift{reinterpret<U>(exponent).v << constants::mantissa_bits};
    V const scaled_four = reinterpret<V>(U{constants::four - shift.v});
    V const scaled = reinterpret<V>(U{reinterpret<U>(x).v - shift.v});
    V const f{scaled.v + (0.25F * scaled_four.v - 1.0F)}; // 2^-n (1 + x) - 1: x itself if n = 0
    V const n{__builtin_convertvector(exponent.v, typename V::vector)};
    V const log = mul_add(V{f.v * f.v}, polynomial(constants::polynomial, f), f);
    return mul_add(n, V::all(constants::ln2_high), mul_add(n, V::all(constants::ln2_low), log));
}

/// Sums of terms as integers that may wrap; see update/exponential_sum.hpp.
template <class T>
struct lane_sums {
    using U = simd<typename exp_constants<T>::bits>;
    U high{}, low{};

    /// Adds a * b, which is at most 1. Rounded or not, the product gives the same: what it may lack is far below a unit.
    [[gnu::always_inline]] void add_exact_product(simd<T> const& a, simd<T> const& b) noexcept {
        using grid = term_grid<T>;
        simd<T> const counted{a.v * b.v + grid::high_magic};
        simd<T> const whole{counted.v - grid::high_magic};
        simd<T> const rest{(a.v * b.v - whole.v) + grid::low_magic};
        high.v += reinterpret<U>(counted).v;
        low.v += reinterpret<U>(rest).v;
    }
    /// Adds x^2.
    [[gnu::always_inline]] void add_square(simd<T> const& x) noexcept {
        using grid = term_grid<T>;
        simd<T> const counted = mul_add(x, x, simd<T>::all(grid::high_magic));
        simd<T> const whole{grid::high_magic - counted.v};
        simd<T> const rest{mul_add(x, x, whole).v + grid::low_magic};
        high.v += reinterpret<U>(counted).v;
        low.v += reinterpret<U>(rest).v;
    }
    [[gnu::always_inline]] void add(lane_sums const& other) noexcept {
        high.v += other.high.v;
        low.v += other.low.v;
    }
    /// The sum over all lanes, each of which has taken `terms`.
    [[gnu::always_inline]] term_sum<T> total(std::size_t terms) const noexcept {
        return term_sum<T>::of_bits(reduce<add_op>(high), reduce<add_op>(low),
                                    static_cast<std::uint32_t>(terms * simd<T>::lanes));
    }
};

/// Adds e^x, x <= 0, to `sum` and, if asked, its square to `squares`. `floor` is `exp_floor<T>()`.
template <bool Squares, class T>
[[gnu::always_inline]] inline void add_exp(simd<T> const& x, T floor, lane_sums<T>& sum,
                                           lane_sums<T>& squares) noexcept {
    exp_parts<T> const e = split_exp(x, floor);
    sum.add_exact_product(e.mantissa, e.power);
    if constexpr (Squares) squares.add_square(simd<T>{e.mantissa.v * e.power.v});
}
