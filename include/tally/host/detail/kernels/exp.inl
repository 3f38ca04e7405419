// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// exp and log1p on vectors: the operations of tally::math::exp and log1p (core/exp_log.hpp), lane by lane, so their bits
// are the same. NaN stays NaN, -inf gives 0, and results of exp below the smallest normal number may be flushed to 0.
// And the terms that a row's scores add to its sum of exponentials (update/exponential_sum.hpp).

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

/// What scores add to the trees of a part, lane by lane; see update/exponential_sum.hpp.
template <class T, bool Squares>
struct terms {
    simd<T> exps;

    [[gnu::always_inline]] terms& operator+=(terms const& other) noexcept {
#if defined(__clang__)
#pragma clang fp contract(fast) // with the product in relative_scores, which is exact
#endif
        exps.v += other.exps.v;
        return *this;
    }
};
template <class T>
struct terms<T, true> {
    simd<T> exps, squares;

    [[gnu::always_inline]] terms& operator+=(terms const& other) noexcept {
        exps.v += other.exps.v;
        squares.v += other.squares.v;
        return *this;
    }
};

/// Adds the later half of a tree to the first one, then of that, and so on: the sum, in tree[0].
template <class Terms, std::size_t Size>
[[gnu::always_inline]] inline void add_halves(Terms (&tree)[Size]) noexcept {
    for (std::size_t half = Size / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) tree[i] += tree[i + half];
    }
}

/// Scores of a row relative to the highest one: what they add to the trees, lane by lane, and how many are below it. If
/// `Fast`, the highest score is in the tree as well, a NaN makes it NaN, and nothing is counted.
template <class T, bool Fast>
class relative_scores {
    using V = simd<T>;
    using M = typename V::mask;

public:
    [[gnu::always_inline]] relative_scores() noexcept {
        // Of a maximum with a literal, GCC makes a comparison and a blend; of a masked addition of 1, Clang two
        // instructions.
        keep(floor_.v);
        keep(one_.v);
    }
    [[nodiscard]] [[gnu::always_inline]] M const& below() const noexcept { return below_; }

    /// The terms of all lanes, see tally::detail::term_below, and their squares if asked.
    template <bool Squares>
    [[gnu::always_inline]] terms<T, Squares> take(V const& x) noexcept {
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
        using constants = term_constants<T>;
        V const argument = clamp(x);
        V const shifted = mul_add(argument, V::all(exp_constants<T>::log2_e), V::all(constants::shifter));
        V const n{shifted.v - constants::shifter};
        V const r = mul_add(n, V::all(-constants::ln2), argument);
        auto bits = reinterpret<simd<typename exp_constants<T>::bits>>(shifted);
        bits.v <<= exp_constants<T>::mantissa_bits;
        V const e{polynomial(constants::polynomial, r).v * reinterpret<V>(bits).v}; // exact
        if constexpr (Squares) {
            return {e, rounded_product(e, e)};
        } else {
            return {e};
        }
    }

private:
    /// max(x, floor) for x < 0, which it counts, else `floor`.
    [[gnu::always_inline]] V clamp(V const& x) noexcept {
        if constexpr (Fast) return max(floor_, x);
#if defined(__x86_64__)
        if constexpr (level == isa::avx512 && sizeof(T) == sizeof(float)) { // compilers don't mask a maximum
            using words = simd<long long, sizeof(V)>;                       // what __m512i is
            auto const negative = _mm512_cmp_ps_mask(x.v, __m512{}, _CMP_LT_OQ);
            auto const below = reinterpret<words>(below_).v;
            words const more{_mm512_mask_add_epi32(below, negative, below, reinterpret<words>(one_).v)};
            below_ = reinterpret<M>(more);
            return {_mm512_mask_max_ps(floor_.v, negative, x.v, floor_.v)};
        }
#endif
        M const negative{x.v < T{0}};
        below_.v -= negative.v;
        return max(select(negative, x, floor_), floor_);
    }

    V floor_ = V::all(term_constants<T>::floor);
    M one_ = M::all(1);
    M below_{};
};
