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

/// `a * b + c`, fused where the target can: one expression, so that both compilers may contract it.
template <class S>
[[gnu::always_inline]] inline S mul_add(S const& a, S const& b, S const& c) noexcept {
    return {a.v * b.v + c.v};
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
