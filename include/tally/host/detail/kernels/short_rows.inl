// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features where a row has few columns: a vector holds one column of several rows, so a lane is a row and nothing
// has to be reduced across lanes. The rows are transposed into a buffer first.

/// Up to this many columns a lane is a row. At least the lanes of a vector, which a long row must fill.
inline constexpr std::size_t short_columns = 48;

template <class M>
[[gnu::always_inline]] inline void store_int32(M const& x, std::int32_t* to) noexcept {
    if constexpr (sizeof(typename M::value_type) == sizeof(std::int32_t)) {
        x.store(to);
    } else {
        for (std::size_t i = 0; i < M::lanes; ++i) to[i] = static_cast<std::int32_t>(x.v[i]);
    }
}

/// The features of as many rows as a vector has lanes. `buffer[c * lanes + r]` is the score of row r in column c.
template <unsigned Needs, class T>
[[gnu::always_inline]] inline void short_rows_features(T const* buffer, std::size_t columns, int_like<T> const* targets,
                                                       std::size_t first, row_tile<T>& out,
                                                       row_sums<T>& sums) noexcept {
    using V = simd<T>;
    using M = typename V::mask;
    using I = int_like<T>;
    using need = needs_of<Needs>;

    V top = V::all(-infinity<T>);
    V target_score = V::all(not_a_number<T>);
    M const target = need::target ? M::load(targets) : M{};
    M arg_max{}, nan{};
    for (std::size_t c = 0; c < columns; ++c) {
        V const s = V::load(buffer + c * V::lanes);
        I const column = static_cast<I>(c);
        nan.v |= s.v != s.v;
        if constexpr (need::arg_max) arg_max.v = s.v > top.v ? M::all(column).v : arg_max.v;
        if constexpr (need::top) top = max(s, top);
        if constexpr (need::target) target_score.v = target.v == column ? s.v : target_score.v;
    }
    if constexpr (need::rank || need::exps) {
        V const shift{top.v == -infinity<T> ? V{}.v : top.v};
        M greater{}, equal{}, before{};
        relative_scores<T, need::fast> relative;
        auto const take = [&](std::size_t c) __attribute__((always_inline)) {
            V const s = V::load(buffer + c * V::lanes);
            if constexpr (need::rank) {
                M const same{s.v == target_score.v};
                count_if(greater, M{s.v > target_score.v});
                count_if(equal, same);
                count_if(before, M{same.v & (target.v > static_cast<I>(c))});
            }
            if constexpr (need::exps) return relative.template take<need::squares>(V{s.v - shift.v});
        };
        if constexpr (need::exps) {
            // The tree over 64 columns, of which those from `columns` on are not there.
            constexpr std::size_t quarter = 16;
            static_assert(short_columns <= 3 * quarter);
            terms<T, need::squares> tree[quarter];
            std::size_t left = columns < quarter ? columns : quarter;
            for (std::size_t c = 0; c < left; ++c) {
                tree[c] = take(c);
                if (c + 2 * quarter < columns) tree[c] += take(c + 2 * quarter);
                if (c + quarter < columns) tree[c] += take(c + quarter);
            }
            for (std::size_t half = quarter / 2; half > 0; half /= 2) {
                for (std::size_t c = 0; c + half < left; ++c) tree[c] += tree[c + half];
                left = left < half ? left : half;
            }
            if (columns == 0) tree[0] = terms<T, need::squares>{};
            for (std::size_t k = 0; k < V::lanes; ++k) {
                T squares = 0;
                if constexpr (need::squares) squares = tree[0].squares.v[k];
                part_sums<T> of_row{top.v[k], tree[0].exps.v[k] - T{1}, squares};
                if constexpr (!need::fast) {
                    auto const highest = static_cast<std::int32_t>(static_cast<I>(columns) - relative.below().v[k]);
                    of_row = part_sums<T>::of_trees(top.v[k], highest, tree[0].exps.v[k], squares);
                }
                sums.above_one[first + k] = static_cast<double>(of_row.above_one);
                if constexpr (need::squares) sums.exp_squares[first + k] = static_cast<double>(of_row.squares);
            }
        } else {
            for (std::size_t c = 0; c < columns; ++c) take(c);
        }
        if constexpr (need::rank) {
            M const ranked{(nan.v == 0) & (equal.v != 0)}; // the target equals itself, where it is in range
            M const after{equal.v - before.v - 1};
            store_int32(select(ranked, greater, M::all(static_cast<I>(columns))), out.greater + first);
            store_int32(M{ranked.v & before.v}, out.equal_before + first);
            store_int32(M{ranked.v & after.v}, out.equal_after + first);
        }
    }
    if constexpr (need::top) V{nan.v ? V::all(not_a_number<T>).v : top.v}.store(sums.top + first);
    if constexpr (need::arg_max) store_int32(M{arg_max.v | nan.v}, out.arg_max + first);
    if constexpr (has(Needs, row_need::target_score)) target_score.store(out.target_score + first);
}
