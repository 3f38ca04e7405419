// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Row features where a row has few columns: a vector holds one column of several rows, so a lane is a row and nothing
// has to be reduced across lanes. The rows are transposed into a buffer first.

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
        T const floor = exp_floor<T>();
        V const shift{top.v == -infinity<T> ? V{}.v : top.v};
        lane_sums<T> exps, squares;
        M greater{}, equal{}, before{};
        for (std::size_t c = 0; c < columns; ++c) {
            V const s = V::load(buffer + c * V::lanes);
            if constexpr (need::exps) add_exp<need::squares>(V{s.v - shift.v}, floor, exps, squares);
            if constexpr (need::rank) {
                M const same{s.v == target_score.v};
                count_if(greater, M{s.v > target_score.v});
                count_if(equal, same);
                count_if(before, M{same.v & (target.v > static_cast<I>(c))});
            }
        }
        if constexpr (need::exps) {
            auto const terms = static_cast<std::uint32_t>(columns);
            for (std::size_t k = 0; k < V::lanes; ++k) {
                sums.above_one[first + k] = term_sum<T>::of_bits(exps.high.v[k], exps.low.v[k], terms).above_one();
                if constexpr (need::squares) {
                    auto const of_row = term_sum<T>::of_bits(squares.high.v[k], squares.low.v[k], terms);
                    sums.exp_squares[first + k] = of_row.value();
                }
            }
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
