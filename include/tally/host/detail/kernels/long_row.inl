// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features where a row fills vectors: one row at a time, in parts that stay in the first-level cache between the
// pass that finds the highest score and the pass that counts and sums exponentials relative to it. The parts are joined
// as update/exponential_sum.hpp says, so a row of any length is read from memory once.

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

/// The highest score of [begin, end), NaN ignored. `end` is at least the lanes of a vector.
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
    if (i < end) { // overlaps what was seen already, perhaps in another part
        std::size_t const at = end - V::lanes;
        M const fresh{M::iota().v >= static_cast<I>(i - at)};
        take(select(fresh, V::load(row + at), V::all(-infinity<T>)), at);
    }

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

/// What a part adds up to.
template <class T>
struct part_sums {
    term_sum<T> exps;
    term_sum<T> squares;
    bool maybe_nan; // there is a NaN, or `shift` is infinite
};

/// Counts the scores of [begin, end) against `target_score` and sums exp(score - shift). Fetches what lies `ahead`
/// elements further into the cache.
template <unsigned Needs, class T>
[[gnu::always_inline]] inline part_sums<T> count_and_sum(T const* row, std::size_t begin, std::size_t end,
                                                         T target_score, T shift, std::size_t ahead,
                                                         row_counts<T>& counts) noexcept {
    using V = simd<T>;
    using M = typename V::mask;
    using need = needs_of<Needs>;
    T const floor = exp_floor<T>();
    struct chain {
        lane_sums<T> exps, squares;
        V arguments{}; // their sum: NaN if one of them is
    };
    auto const take = [&](V const& s, chain& sums) __attribute__((always_inline)) {
        if constexpr (need::exps) {
            V const x{s.v - shift};
            sums.arguments.v += x.v;
            add_exp<need::squares>(x, floor, sums.exps, sums.squares);
        }
        if constexpr (need::rank) {
            count_if(counts.greater, M{s.v > target_score});
            count_if(counts.equal, M{s.v == target_score});
        }
    };
    chain even, odd; // two, so that latency does not add up
    std::size_t i = begin, vectors = 0;
    for (; i + 2 * V::lanes <= end; i += 2 * V::lanes, vectors += 2) {
        take(V::load(row + i), even);
        take(V::load(row + i + V::lanes), odd);
        prefetch(row + i, ahead, 2 * sizeof(V));
    }
    if (i + V::lanes <= end) {
        take(V::load(row + i), even);
        i += V::lanes;
        ++vectors;
    }
    if (i < end) {
        // The last full vector of the row, with -inf where a score was taken already. That adds no exponential, and is
        // not above any score; it may equal the target's, which the count must not show.
        std::size_t const at = end - V::lanes;
        M const fresh{M::iota().v >= static_cast<int_like<T>>(i - at)};
        V const s = select(fresh, V::load(row + at), V::all(-infinity<T>));
        M const equal = counts.equal;
        take(s, odd);
        counts.equal = select(fresh, counts.equal, equal);
        ++vectors;
    }
    part_sums<T> sums{};
    if constexpr (need::exps) {
        even.exps.add(odd.exps);
        sums.exps = even.exps.total(vectors);
        V const arguments{even.arguments.v + odd.arguments.v};
        M const nan{arguments.v != arguments.v};
        sums.maybe_nan = reduce<add_op>(nan) != 0;
    }
    if constexpr (need::squares) {
        even.squares.add(odd.squares);
        sums.squares = even.squares.total(vectors);
    }
    return sums;
}

/// The parts of a group, and how they become one sum.
template <class T>
struct group_sums {
    std::size_t count = 0;
    T top[tally::detail::group_parts];
    term_sum<T> exps[tally::detail::group_parts];
    term_sum<T> squares[tally::detail::group_parts];

    template <bool Squares>
    [[gnu::always_inline]] void add(T part_top, part_sums<T> const& sums) noexcept {
        top[count] = part_top;
        exps[count] = sums.exps;
        if constexpr (Squares) squares[count] = sums.squares;
        ++count;
    }
    template <bool Squares>
    [[gnu::always_inline]] void join_to(exponentials<T>& row) noexcept {
        T highest = top[0];
        for (std::size_t p = 1; p < count; ++p) highest = top[p] > highest ? top[p] : highest;
        term_sum<T> sum, sum_of_squares;
        for (std::size_t p = 0; p < count; ++p) {
            if (!tally::detail::is_finite_top(highest) || !tally::detail::is_finite_top(top[p])) continue;
            double const factor = top[p] == highest ? 1.0 : tally::detail::rescaling(top[p], highest);
            sum.add(exps[p].times(factor));
            if constexpr (Squares) sum_of_squares.add(squares[p].times(tally::detail::rounded_product(factor, factor)));
        }
        row.join(highest, sum.above_one(), sum_of_squares.value());
        count = 0;
    }
};

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
    constexpr std::size_t part = tally::detail::part_columns;
    constexpr std::size_t block = 8192 / sizeof(T);

    // Fetch a block ahead: in this row, or the same columns of the row that is about a block further.
    std::size_t const ahead = columns >= block ? block : block / columns * row_stride;
    bool const valid = need::target && in_range(target, columns);
    T const target_score = valid ? row[target] : not_a_number<T>;
    highest<T> top{-infinity<T>, 0};
    row_counts<T> counts;
    group_sums<T> parts;
    exponentials<T> exps;
    bool nan = false;
    for (std::size_t begin = 0, end = 0; begin < columns; begin = end) {
        end = columns - begin > part ? begin + part : columns;
        highest<T> here{-infinity<T>, begin};
        if constexpr (need::top) {
            here = highest_of<need::arg_max>(row, begin, end);
            if (here.score > top.score) top = here;
        }
        if constexpr (need::exps || need::rank) {
            T const shift = here.score == -infinity<T> ? T{0} : here.score;
            part_sums<T> const of_part = count_and_sum<Needs>(row, begin, end, target_score, shift, ahead, counts);
            if constexpr (need::exps) {
                if (of_part.maybe_nan) nan = nan || any_nan(row, begin, end);
                if (nan) continue;
                parts.template add<need::squares>(here.score, of_part);
                if (parts.count == tally::detail::group_parts || end == columns) {
                    parts.template join_to<need::squares>(exps);
                }
            }
        }
        if constexpr (!need::exps && (need::top || need::rank)) nan = nan || any_nan(row, begin, end);
    }

    if constexpr (need::top) sums.top[r] = nan ? not_a_number<T> : top.score;
    if constexpr (need::exps) sums.above_one[r] = nan ? 0.0 : exps.above_one;
    if constexpr (need::squares) sums.exp_squares[r] = nan ? 0.0 : exps.squares;
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
