// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features where a row fills vectors: one row at a time, in blocks that stay in the first-level cache between the
// pass that finds the highest score and the pass that counts and sums exponentials relative to it. A higher maximum in
// a later block rescales the sums, so a row of any length is read from memory once.

/// Asks for the cache lines of `bytes` bytes from `p + ahead` on: by address, since that may lie outside of any array.
template <class T>
[[gnu::always_inline]] inline void prefetch(T const* p, std::size_t ahead, std::size_t bytes) noexcept {
    auto const address = reinterpret_cast<std::uintptr_t>(p) + ahead * sizeof(T);
    for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(reinterpret_cast<void const*>(address + i));
}

/// Vectors whose maximum is taken before its place is noted.
inline constexpr std::size_t group = 4;

template <class T>
struct highest {
    T score;
    std::size_t from; // the first occurrence is in the `group` vectors from this index on
};

/// The highest score of [begin, end), NaN ignored; at least one vector long.
template <bool Where, class T>
[[gnu::always_inline]] inline highest<T> highest_of(T const* row, std::size_t begin, std::size_t end) noexcept {
    using V = simd<T>;
    using M = typename V::mask;
    using I = int_like<T>;
    V top = V::all(-infinity<T>);
    M where = M::all(static_cast<I>(begin));
    auto const take = [&](V const& s, std::size_t at) __attribute__((always_inline)) {
        if constexpr (Where) where.v = s.v > top.v ? M::all(static_cast<I>(at)).v : where.v;
        top = max(s, top);
    };
    std::size_t i = begin;
    for (; i + group * V::lanes <= end; i += group * V::lanes) {
        V s[group];
        for (std::size_t k = 0; k < group; ++k) s[k] = V::load(row + i + k * V::lanes);
        take(max(max(s[0], s[1]), max(s[2], s[3])), i);
    }
    for (; i + V::lanes <= end; i += V::lanes) take(V::load(row + i), i);
    if (i < end) take(V::load(row + (end - V::lanes)), end - V::lanes); // overlaps: the maximum does not mind

    T const score = reduce<extreme_op<true>>(top);
    if constexpr (!Where) return {score, begin};
    M const candidates{top.v == score ? where.v : M::all(static_cast<I>(end)).v};
    return {score, static_cast<std::size_t>(reduce<extreme_op<false>>(candidates))};
}

/// The index of the first of the `group` vectors from `from` on that holds `score`, which is there.
template <class T>
[[gnu::always_inline]] inline std::int32_t find_first(T const* row, std::size_t columns, T score,
                                                      std::size_t from) noexcept {
    using V = simd<T>;
    using M = typename V::mask;
    using I = int_like<T>;
    M first = M::all(static_cast<I>(columns));
    for (std::size_t k = group; k-- > 0;) {
        // Never past the end; what comes twice then, or lies before `from`, is lower than `score` or found already.
        std::size_t const wish = from + k * V::lanes, last = columns - V::lanes;
        std::size_t const at = wish < last ? wish : last;
        M const index{M::iota().v + static_cast<I>(at)};
        M const found{V::load(row + at).v == score};
        first = select(found, M{index.v < first.v ? index.v : first.v}, first);
    }
    return static_cast<std::int32_t>(reduce<extreme_op<false>>(first));
}

/// Accumulators of the second pass over a block.
template <class T>
struct row_counts {
    typename simd<T>::mask greater{};
    typename simd<T>::mask equal{};
};

template <class T>
struct block_sums {
    T exps;
    T squares;
};

/// Counts the scores of [begin, end) against `target_score` and sums exp(score - shift). Fetches what lies `ahead`
/// elements further into the cache.
template <unsigned Needs, class T>
[[gnu::always_inline]] inline block_sums<T> count_and_sum(T const* row, std::size_t begin, std::size_t end,
                                                          T target_score, T shift, std::size_t ahead,
                                                          row_counts<T>& counts) noexcept {
    using V = simd<T>;
    using M = typename V::mask;
    using need = needs_of<Needs>;
    T const floor = exp_floor<T>();
    V exps{}, squares{};
    auto const take = [&](V const& s, V(&partial)[2]) __attribute__((always_inline)) {
        if constexpr (need::exps) add_exp<need::squares>(V{s.v - shift}, floor, partial[0], partial[1]);
        if constexpr (need::rank) {
            count_if(counts.greater, M{s.v > target_score});
            count_if(counts.equal, M{s.v == target_score});
        }
    };
    // Two chains of short partial sums: neither latency nor rounding adds up.
    constexpr std::size_t chain = 16;
    std::size_t i = begin;
    while (i + 2 * V::lanes <= end) {
        std::size_t const pairs = (end - i) / (2 * V::lanes);
        std::size_t const stop = i + (pairs < chain ? pairs : chain) * 2 * V::lanes;
        V even[2] = {}, odd[2] = {};
        for (; i < stop; i += 2 * V::lanes) {
            take(V::load(row + i), even);
            take(V::load(row + i + V::lanes), odd);
            prefetch(row + i, ahead, 2 * sizeof(V));
        }
        if constexpr (need::exps) exps.v += even[0].v + odd[0].v;
        if constexpr (need::squares) squares.v += even[1].v + odd[1].v;
    }
    V last[2] = {};
    if (i + V::lanes <= end) {
        take(V::load(row + i), last);
        i += V::lanes;
    }
    if (i < end) {
        // The last full vector of the row, with -inf where a score was taken already. That adds no exponential, and is
        // not above any score; it may equal the target's, which the count must not show.
        std::size_t const at = end - V::lanes;
        M const fresh{M::iota().v >= static_cast<int_like<T>>(i - at)};
        V const s = select(fresh, V::load(row + at), V::all(-infinity<T>));
        M const equal = counts.equal;
        take(s, last);
        counts.equal = select(fresh, counts.equal, equal);
    }
    block_sums<T> sums{};
    if constexpr (need::exps) sums.exps = reduce<add_op>(V{exps.v + last[0].v});
    if constexpr (need::squares) sums.squares = reduce<add_op>(V{squares.v + last[1].v});
    return sums;
}

/// How many scores of [0, end) equal `score`: for the rare target that ties.
template <class T>
[[gnu::always_inline]] inline std::int32_t count_equal(T const* row, std::size_t end, T score) noexcept {
    using V = simd<T>;
    typename V::mask equal{};
    std::size_t i = 0;
    for (; i + V::lanes <= end; i += V::lanes) equal.v -= V::load(row + i).v == score;
    auto n = static_cast<std::int32_t>(reduce<add_op>(equal));
    for (; i < end; ++i) n += row[i] == score ? 1 : 0;
    return n;
}

/// Whether [begin, end) holds a NaN. It may look at scores before `begin`, of which there must be some if it is short.
template <class T>
[[gnu::always_inline]] inline bool any_nan(T const* row, std::size_t begin, std::size_t end) noexcept {
    using V = simd<T>;
    typename V::mask nan{};
    std::size_t i = begin;
    for (; i + V::lanes <= end; i += V::lanes) {
        V const s = V::load(row + i);
        nan.v |= s.v != s.v;
    }
    if (i < end) {
        V const s = V::load(row + (end - V::lanes));
        nan.v |= s.v != s.v;
    }
    return reduce<add_op>(nan) != 0;
}

/// All features of row `r` of the tile. `columns` is at least the lanes of a vector.
template <unsigned Needs, class T>
[[gnu::always_inline]] inline void long_row_features(T const* row, std::size_t columns, std::int32_t target,
                                                     std::size_t r, std::size_t row_stride, row_tile<T>& out,
                                                     row_sums<T>& sums) noexcept {
    using need = needs_of<Needs>;
    constexpr std::size_t block = 8192 / sizeof(T);

    // Fetch a block ahead: in this row, or the same columns of the row that is about a block further.
    std::size_t const ahead = columns >= block ? block : block / columns * row_stride;
    bool const valid = need::target && in_range(target, columns);
    T const target_score = valid ? row[target] : not_a_number<T>;
    highest<T> top{-infinity<T>, 0};
    row_counts<T> counts;
    double exps = 0, squares = 0;
    bool nan = false;
    for (std::size_t begin = 0, end = 0; begin < columns; begin = end) {
        end = columns - begin > block ? begin + block : columns;
        if constexpr (need::top) {
            highest<T> const here = highest_of<need::arg_max>(row, begin, end);
            if (here.score > top.score) {
                if (exps != 0) {
                    double const factor =
                        __builtin_exp(static_cast<double>(top.score) - static_cast<double>(here.score));
                    exps *= factor;
                    squares *= factor * factor;
                }
                top = here;
            }
        }
        if constexpr (need::exps || need::rank) {
            T const shift = top.score == -infinity<T> ? T{0} : top.score;
            block_sums<T> const s = count_and_sum<Needs>(row, begin, end, target_score, shift, ahead, counts);
            exps += static_cast<double>(s.exps);
            squares += static_cast<double>(s.squares);
        }
        if constexpr (!need::exps && (need::top || need::rank)) nan = nan || any_nan(row, begin, end);
    }
    // A NaN made the sum NaN; so did a +inf, whence the second look.
    if (exps != exps) nan = any_nan(row, 0, columns);

    if constexpr (need::top) sums.top[r] = nan ? not_a_number<T> : top.score;
    if constexpr (need::exps) sums.exps[r] = static_cast<T>(exps);
    if constexpr (need::squares) sums.exp_squares[r] = static_cast<T>(squares);
    if constexpr (need::arg_max) {
        out.arg_max[r] = nan ? -1 : find_first(row, columns, top.score, top.from);
    }
    if constexpr (need::rank) {
        bool const ranked = valid && !nan;
        std::int32_t const equal = static_cast<std::int32_t>(reduce<add_op>(counts.equal));
        std::int32_t before = 0;
        if (ranked && equal > 1) before = count_equal(row, static_cast<std::size_t>(target), target_score);
        std::int32_t const greater = static_cast<std::int32_t>(reduce<add_op>(counts.greater));
        out.greater[r] = ranked ? greater : static_cast<std::int32_t>(columns);
        out.equal_before[r] = ranked ? before : 0;
        out.equal_after[r] = ranked ? equal - 1 - before : 0;
    }
    if constexpr (has(Needs, row_need::target_score)) out.target_score[r] = target_score;
}
