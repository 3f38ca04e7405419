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

/// The last columns of a part where they don't fill a vector, followed by -inf.
template <class T>
class padded_end {
    using V = simd<T>;

public:
    /// `end` columns of the row, at least those of a vector, of which `rest` are wanted.
    [[gnu::always_inline]] padded_end(T const* row, std::size_t end, std::size_t rest) noexcept : rest_{rest} {
        V::load(row + end - V::lanes).store(scores_);
        V::all(-infinity<T>).store(scores_ + V::lanes);
    }
    [[nodiscard]] [[gnu::always_inline]] T const* data() const noexcept { return scores_ + (V::lanes - rest_); }

private:
    T scores_[2 * V::lanes];
    std::size_t rest_;
};

template <class T>
struct part_of_row {
    part_sums<T> sums;
    bool maybe_nan; ///< or scores that equal the highest one, or an infinite one
};

/// Counts the scores of a part against `target_score` and sums e^(score - top). Fetches what lies `ahead` elements further
/// into the cache. -inf that pads the last vector is counted if it equals `target_score`.
template <unsigned Needs, class T>
[[gnu::always_inline]] inline part_of_row<T> count_and_sum(T const* row, std::size_t begin, std::size_t end,
                                                           T target_score, T top, std::size_t ahead,
                                                           row_counts<T>& counts) noexcept {
    using V = simd<T>;
    using M = typename V::mask;
    using need = needs_of<Needs>;
    constexpr std::size_t quarter = tally::detail::part_columns / 4 / V::lanes;
    T const shift = top == -infinity<T> ? T{0} : top;
    std::size_t const whole = (end - begin) / V::lanes, rest = (end - begin) % V::lanes;
    padded_end<T> const padded(row, end, rest);
    relative_scores<T, need::fast> relative;
    auto const take = [&](std::size_t k) __attribute__((always_inline)) {
        T const* const at = row + begin + k * V::lanes;
        V const s = V::load(k == whole ? padded.data() : at);
        prefetch(at, ahead, sizeof(V));
        if constexpr (need::rank) {
            count_if(counts.greater, M{s.v > target_score});
            count_if(counts.equal, M{s.v == target_score});
        }
        if constexpr (need::exps) return relative.template take<need::squares>(V{s.v - shift});
    };
    std::size_t const vectors = whole + (rest != 0 ? 1 : 0);
    part_of_row<T> found{};
    if constexpr (need::exps) {
        terms<T, need::squares> tree[quarter];
        // The columns of a part are four quarters, of which the last ones may be missing.
        auto const take_quarters = [&]<int Present>(std::size_t from, std::size_t to) __attribute__((always_inline)) {
            for (std::size_t j = from; j < to; ++j) {
                auto sum = take(j);
                if constexpr (Present > 2) sum += take(j + 2 * quarter);
                if constexpr (Present > 1) {
                    auto odd = take(j + quarter);
                    if constexpr (Present > 3) odd += take(j + 3 * quarter);
                    sum += odd;
                }
                tree[j] = sum;
            }
        };
        std::size_t const longer = vectors % quarter;
        switch (vectors / quarter) {
        case 4: take_quarters.template operator()<4>(0, quarter); break;
        case 3:
            take_quarters.template operator()<4>(0, longer);
            take_quarters.template operator()<3>(longer, quarter);
            break;
        case 2:
            take_quarters.template operator()<3>(0, longer);
            take_quarters.template operator()<2>(longer, quarter);
            break;
        case 1:
            take_quarters.template operator()<2>(0, longer);
            take_quarters.template operator()<1>(longer, quarter);
            break;
        default: take_quarters.template operator()<1>(0, longer); break;
        }
        for (std::size_t j = vectors; j < quarter; ++j) tree[j] = terms<T, need::squares>{};
        add_halves(tree);
        T const exps = reduce<add_op>(tree[0].exps);
        T squares = 0;
        if constexpr (need::squares) squares = reduce<add_op>(tree[0].squares);
        if constexpr (need::fast) {
            found.sums = {top, exps - T{1}, squares};
            found.maybe_nan = exps != exps;
        } else {
            auto const below = static_cast<std::int32_t>(reduce<add_op>(relative.below()));
            auto const highest = static_cast<std::int32_t>(vectors * V::lanes) - below;
            found.sums = part_sums<T>::of_trees(top, highest, exps, squares);
            found.maybe_nan = highest > (tally::detail::is_finite_top(top) ? 1 : 0);
        }
    } else {
        for (std::size_t k = 0; k < vectors; ++k) take(k);
    }
    return found;
}

/// The parts of a group, and how they become one sum.
template <class T>
class group_sums {
    static constexpr std::size_t parts = tally::detail::group_parts;

public:
    [[nodiscard]] bool full() const noexcept { return count_ == parts; }
    [[gnu::always_inline]] void take(part_sums<T> const& part) noexcept {
        top_[count_] = part.top;
        above_one_[count_] = part.above_one;
        squares_[count_] = part.squares;
        ++count_;
    }
    template <bool Squares>
    [[gnu::always_inline]] void join_to(exponentials<T>& row) noexcept {
        auto const all = count_ == 1 ? part_sums<T>{top_[0], above_one_[0], squares_[0]} : sum<Squares>();
        row.join(all.top, static_cast<double>(all.above_one), Squares ? static_cast<double>(all.squares) : 0.0);
        count_ = 0;
    }

private:
    /// part_sums::within of all parts, and the tree of them.
    template <bool Squares>
    [[nodiscard]] [[gnu::always_inline]] part_sums<T> sum() noexcept {
        using V = simd<T>;
        using M = typename V::mask;
        using I = int_like<T>;
        T highest = top_[0];
        for (std::size_t p = 1; p < count_; ++p) highest = top_[p] > highest ? top_[p] : highest;
        std::size_t const vectors = (count_ + V::lanes - 1) / V::lanes;
        for (std::size_t p = count_; p < vectors * V::lanes; ++p) {
            top_[p] = -infinity<T>;
            above_one_[p] = squares_[p] = T{0};
        }
        std::size_t leader = 0;
        while (top_[leader] != highest) ++leader;
        terms<T, Squares> tree[parts / V::lanes];
        relative_scores<T, false> relative;
        for (std::size_t i = vectors; i < parts / V::lanes; ++i) tree[i] = terms<T, Squares>{};
        for (std::size_t i = 0; i < vectors; ++i) {
            M const part{M::iota().v + static_cast<I>(i * V::lanes)};
            M const present{part.v < static_cast<I>(count_)};
            M const leads{part.v == static_cast<I>(leader)};
            V const top = V::load(top_ + i * V::lanes), above_one = V::load(above_one_ + i * V::lanes);
            V const e = relative.template take<false>(V{top.v - highest}).exps;
            V const factor = select(M{top.v == highest}, V::all(T{1}), e);
            V const scaled = rounded_product(V{above_one.v + T{1}}, factor);
            tree[i].exps = select(present, select(leads, above_one, scaled), V{});
            if constexpr (Squares) {
                V const squares = rounded_product(V::load(squares_ + i * V::lanes), rounded_product(factor, factor));
                tree[i].squares = select(present, squares, V{});
            }
        }
        add_halves(tree);
        T squares = 0;
        if constexpr (Squares) squares = reduce<add_op>(tree[0].squares);
        return {highest, reduce<add_op>(tree[0].exps), squares};
    }

    std::size_t count_ = 0;
    T top_[parts], above_one_[parts], squares_[parts];
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
    auto const end_of_part = [&](std::size_t begin) { return columns - begin > part ? begin + part : columns; };
    auto const highest_from = [&](std::size_t begin) __attribute__((always_inline)) {
        if constexpr (need::top) return highest_of<need::arg_max>(row, begin, end_of_part(begin));
        return highest<T>{-infinity<T>, begin};
    };
    highest<T> next = highest_from(0);
    for (std::size_t begin = 0, end = 0; begin < columns; begin = end) {
        end = end_of_part(begin);
        highest<T> const here = next;
        if (end != columns) next = highest_from(end); // early: what follows need not wait for it
        if constexpr (need::top) {
            if (here.score > top.score) top = here;
        }
        if constexpr (need::exps || need::rank) {
            part_of_row<T> const of_part =
                count_and_sum<Needs>(row, begin, end, target_score, here.score, ahead, counts);
            if constexpr (need::exps) {
                if (of_part.maybe_nan) nan = nan || any_nan(row, begin, end);
                if (nan) continue;
                parts.take(of_part.sums);
                if (parts.full() || end == columns) parts.template join_to<need::squares>(exps);
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
        std::int32_t equal = static_cast<std::int32_t>(reduce<add_op>(counts.equal));
        constexpr std::size_t lanes = simd<T>::lanes;
        if (target_score == -infinity<T>) equal -= static_cast<std::int32_t>((lanes - columns % lanes) % lanes);
        std::int32_t before = 0;
        if (ranked && equal > 1) before = count_equal(row, static_cast<std::size_t>(target), target_score);
        std::int32_t const greater = static_cast<std::int32_t>(reduce<add_op>(counts.greater));
        out.greater[r] = ranked ? greater : static_cast<std::int32_t>(columns);
        out.equal_before[r] = ranked ? before : 0;
        out.equal_after[r] = ranked ? equal - 1 - before : 0;
    }
    if constexpr (has(Needs, row_need::target_score)) out.target_score[r] = target_score;
}
