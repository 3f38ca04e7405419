// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Vectors by the GCC/Clang vector extensions: one source for every instruction set. All functions are forced inline.
// Vectors go in by reference and come out wrapped in a struct: passed bare, their calling convention depends on the
// target, which both compilers object to.

template <class T, std::size_t Bytes = vector_bytes<level>>
struct simd {
    typedef T vector __attribute__((vector_size(Bytes)));
    static constexpr std::size_t lanes = Bytes / sizeof(T);
    vector v;

    // How memory is accessed: any alignment, any type. A memcpy may become two halves, which then don't forward.
    typedef T anywhere __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));

    using value_type = T;
    using mask = simd<int_like<T>, Bytes>; // comparisons give -1 in the lanes where they hold, else 0

    [[gnu::always_inline]] static simd all(T x) noexcept { return {x - vector{}}; }

    [[gnu::always_inline]] static simd load(T const* p) noexcept { return {*reinterpret_cast<anywhere const*>(p)}; }

    [[gnu::always_inline]] void store(T* p) const noexcept { *reinterpret_cast<anywhere*>(p) = v; }

    /// 0, 1, 2, ... by lane.
    [[gnu::always_inline]] static simd iota() noexcept {
        simd r;
        for (std::size_t i = 0; i < lanes; ++i) r.v[i] = static_cast<T>(i);
        return r;
    }
};

/// `keep` holds ? `a` : `b`, lane by lane.
template <class S>
[[gnu::always_inline]] inline S select(typename S::mask const& keep, S const& a, S const& b) noexcept {
    return {keep.v ? a.v : b.v};
}

/// The same bits as lanes of another type.
template <class To, class From>
[[gnu::always_inline]] inline To reinterpret(From const& x) noexcept {
    return {reinterpret_cast<typename To::vector>(x.v)};
}

/// The greater one; `b` where they can't be compared, so a NaN in `b` survives and one in `a` is dropped.
template <class S>
[[gnu::always_inline]] inline S max(S const& a, S const& b) noexcept {
    return {a.v > b.v ? a.v : b.v};
}

/// Whether a lane of a mask is set.
template <std::size_t Bytes>
[[gnu::always_inline]] inline bool any(simd<std::int32_t, Bytes> const& mask) noexcept {
    if constexpr (Bytes > 16) {
        using half = simd<std::int32_t, Bytes / 2>;
        std::int32_t const* const lanes = reinterpret_cast<std::int32_t const*>(&mask);
        return any(half{half::load(lanes).v | half::load(lanes + half::lanes).v});
    } else {
#if defined(__SSE2__)
        return _mm_movemask_ps(reinterpret<simd<float, Bytes>>(mask).v) != 0;
#else
        std::int32_t some = 0;
        for (std::size_t i = 0; i < simd<std::int32_t, Bytes>::lanes; ++i) some |= mask.v[i];
        return some != 0;
#endif
    }
}

/// Makes the compiler have `x` in a register: rounded, before it is used. No instruction.
template <class V>
[[gnu::always_inline]] inline void keep(V& x) noexcept {
#if defined(__x86_64__)
    asm("" : "+v"(x));
#elif defined(__aarch64__)
    asm("" : "+w"(x));
#else
    asm("" : "+m"(x));
#endif
}

/// `a * b`, rounded, whatever is done with it afterwards.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline simd<T, Bytes> rounded_product(simd<T, Bytes> const& a,
                                                             simd<T, Bytes> const& b) noexcept {
    auto product = a.v * b.v;
    keep(product);
    return {product};
}

/// `a * b + c` with the roundings of tally::detail::multiply_add: one for float, two for double.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline simd<T, Bytes> mul_add(simd<T, Bytes> const& a, simd<T, Bytes> const& b,
                                                     simd<T, Bytes> const& c) noexcept {
    if constexpr (sizeof(T) == sizeof(double)) {
        return {rounded_product(a, b).v + c.v};
#if defined(__x86_64__) || defined(__i386__)
    } else if constexpr (level == isa::avx512) {
        return {reinterpret_cast<typename simd<T, Bytes>::vector>(_mm512_fmadd_ps(a.v, b.v, c.v))};
    } else if constexpr (level == isa::avx2) {
        return {reinterpret_cast<typename simd<T, Bytes>::vector>(_mm256_fmadd_ps(a.v, b.v, c.v))};
#endif
    } else {
#if defined(__FMA__) || defined(__aarch64__)
        simd<T, Bytes> r;
        for (std::size_t i = 0; i < simd<T, Bytes>::lanes; ++i) r.v[i] = __builtin_fmaf(a.v[i], b.v[i], c.v[i]);
        return r;
#else
        // As multiply_add: in double, where only a sum half way between two floats needs a second look.
        using wide = typename simd<double, 2 * Bytes>::vector;
        using words = simd<std::uint32_t, 2 * Bytes>;
        wide const sum = __builtin_convertvector(a.v, wide) * __builtin_convertvector(b.v, wide) +
                         __builtin_convertvector(c.v, wide);
        simd<std::uint64_t, 2 * Bytes> const low_half{simd<std::uint64_t, 2 * Bytes>::all(0x1fffffff).v};
        simd<std::uint64_t, 2 * Bytes> const half_way{simd<std::uint64_t, 2 * Bytes>::all(0x0000000110000000).v};
        words const tail{reinterpret<words>(simd<double, 2 * Bytes>{sum}).v & reinterpret<words>(low_half).v};
        // The upper words are 0 and don't equal 1.
        simd<std::int32_t, 2 * Bytes> const found{tail.v == reinterpret<words>(half_way).v};
        if (any(found)) [[unlikely]] {
            simd<T, Bytes> r;
            for (std::size_t i = 0; i < simd<T, Bytes>::lanes; ++i) r.v[i] = __builtin_fmaf(a.v[i], b.v[i], c.v[i]);
            return r;
        }
        return {__builtin_convertvector(sum, typename simd<T, Bytes>::vector)};
#endif
    }
}

/// Adds 1 to the lanes of `count` where `holds` is set.
template <class M>
[[gnu::always_inline]] inline void count_if(M& count, M const& holds) noexcept {
    if constexpr (level == isa::avx512) {
        count.v = holds.v ? count.v + 1 : count.v; // one masked addition
    } else {
        count.v -= holds.v;
    }
}

struct add_op {
    template <class S>
    [[gnu::always_inline]] S operator()(S const& a, S const& b) const noexcept {
        if constexpr (requires { a.v; }) {
            return {a.v + b.v};
        } else {
            return a + b;
        }
    }
};

template <bool Greater>
struct extreme_op {
    template <class S>
    [[gnu::always_inline]] S operator()(S const& a, S const& b) const noexcept {
        if constexpr (requires { a.v; }) {
            return Greater ? S{a.v > b.v ? a.v : b.v} : S{a.v < b.v ? a.v : b.v};
        } else {
            return (Greater ? a > b : a < b) ? a : b;
        }
    }
};

/// One value from all lanes, by halving: `Op` on ever shorter vectors down to 16 bytes, then on scalars.
template <class Op, class T, std::size_t Bytes>
[[gnu::always_inline]] inline T reduce(simd<T, Bytes> const& x) noexcept {
    if constexpr (Bytes > 16) {
        using half = simd<T, Bytes / 2>;
        T const* const lanes = reinterpret_cast<T const*>(&x);
        return reduce<Op>(Op{}(half::load(lanes), half::load(lanes + half::lanes)));
    } else if constexpr (simd<T, Bytes>::lanes == 4) {
        return Op{}(Op{}(T{x.v[0]}, T{x.v[2]}), Op{}(T{x.v[1]}, T{x.v[3]}));
    } else {
        return Op{}(T{x.v[0]}, T{x.v[1]});
    }
}
