// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// One update on the host: tiles of samples, each input read once for all metrics. Within a tile, first the metrics
// whose samples are rows (with row features where asked for), then those whose samples are the elements of a matrix.
#pragma once

#include <tally/core/metric.hpp>
#include <tally/core/roles.hpp>
#include <tally/host/evaluate.hpp>
#include <tally/host/input_set.hpp>
#include <tally/host/load.hpp>
#include <tally/host/row_stage.hpp>
#include <tally/host/selection.hpp>
#include <tally/host/slots.hpp>
#include <tally/state/store.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally::host {

/// Memory that an update needs beside the states: rows converted to float or double. Grows at the first update.
struct workspace {
    std::vector<float> float_rows;
    std::vector<double> double_rows;

    template <class S>
    std::vector<S>& rows() {
        if constexpr (std::is_same_v<S, float>) {
            return float_rows;
        } else {
            return double_rows;
        }
    }
};

namespace detail {

template <class R, class Inputs>
inline constexpr bool from_matrix = [] {
    if constexpr (R::kind == role_kind::cell) {
        return true;
    } else if constexpr (is_element<R, Inputs>) {
        return Inputs::template is_matrix<typename source_of<R>::type>;
    } else {
        return false;
    }
}();

template <class C, class Inputs>
inline constexpr bool samples_are_cells =
    []<class... R>(type_list<R...>) { return (from_matrix<R, Inputs> || ...); }(roles_of<C>{});

/// Keeps the types T of a list for which Predicate<T>::value.
template <template <class> class Predicate, class... T>
using filter_t = concat_t<std::conditional_t<Predicate<T>::value, type_list<T>, type_list<>>...>;

template <class M, class Counters, class... Given>
class updater;

template <class M, class... C, class... Given>
class updater<M, type_list<C...>, Given...> {
    using inputs_type = input_set<Given...>;
    using counters = type_list<C...>;
    using all_roles = unique_t<concat_t<all_roles_of<C>...>>;

    template <class T>
    using is_cell_counter = std::bool_constant<samples_are_cells<T, inputs_type>>;
    template <class T>
    using is_row_counter = std::bool_constant<!samples_are_cells<T, inputs_type>>;
    using cell_counters = filter_t<is_cell_counter, C...>;
    using row_counters = filter_t<is_row_counter, C...>;

    static constexpr bool from_scores = inputs_type::template has<source::scores>;
    static constexpr bool any_target_needed = []<class... R>(type_list<R...>) {
        return (needs_target<R> || ...);
    }(all_roles{});
    static constexpr bool any_row_role = []<class... R>(type_list<R...>) {
        return ((R::kind == role_kind::row && !is_element<R, inputs_type>) || ...);
    }(all_roles{});
    static constexpr unsigned row_needs = []<class... R>(type_list<R...>) {
        return ((is_element<R, inputs_type> ? 0U : needs_of_role<from_scores, R>) | ... | 0U);
    }(all_roles{});
    static constexpr bool uses_rows =
        any_row_role || []<class... R>(type_list<R...>) { return (needs_class_probability<R> || ...); }(all_roles{});

    template <class R>
    using is_row_slot = std::bool_constant<!from_matrix<R, inputs_type>>;
    template <class List>
    struct row_slot_roles;
    template <class... R>
    struct row_slot_roles<type_list<R...>> {
        using type = filter_t<is_row_slot, R...>;
    };
    /// Roles with one value a row.
    using sample_roles =
        unique_t<concat_t<typename row_slot_roles<all_roles>::type,
                          std::conditional_t<any_target_needed, type_list<target<class_index>>, type_list<>>>>;
    template <class List>
    struct roles_of_counters;
    template <class... K>
    struct roles_of_counters<type_list<K...>> {
        using type = unique_t<concat_t<all_roles_of<K>...>>;
    };
    /// Roles of the metrics whose samples are matrix elements.
    using cell_roles = typename roles_of_counters<cell_counters>::type;
    static constexpr bool complete = role_check<inputs_type, all_roles>::run(typename inputs_type::sources{});

public:
    explicit updater(inputs_type const& inputs) : inputs_{inputs} {
        if constexpr (complete) {
            check_elements(all_roles{});
            if constexpr (uses_rows) {
                using rows = typename inputs_type::row_source;
                require_fit<double>(inputs_.template view<rows>(), rows::call.text);
            }
            samples_ = inputs_.samples();
            columns_ = inputs_.columns();
        }
    }

    [[nodiscard]] std::size_t samples() const { return samples_; }
    /// Elements of a sample: the columns of the matrices, or 1.
    [[nodiscard]] std::size_t width() const { return std::max<std::size_t>(columns_, 1); }

    /// Allocates what run() needs, so that running out of memory leaves the states as they were.
    void reserve(workspace& memory) const {
        if constexpr (complete && uses_rows) {
            auto const& view = inputs_.template view<typename inputs_type::row_source>();
            with_feature_type([&]<class S>() { reserve_rows(view, memory.template rows<S>()); });
        }
    }

    /// Deposits samples [begin, end) into `states`.
    void run(states_of<M>& states, workspace& memory, std::size_t begin, std::size_t end) const {
        if constexpr (!complete) {
            return; // the compiler has said what is missing, and shall say no more
        } else if constexpr (uses_rows) {
            with_feature_type([&]<class S>() { run_tiles<S>(states, memory, begin, end); });
        } else {
            run_tiles<void>(states, memory, begin, end);
        }
    }

private:
    /// Calls f.template operator()<S>() with float or double, in which row features are computed.
    template <class F>
    void with_feature_type(F&& f) const {
        auto const& view = inputs_.template view<typename inputs_type::row_source>();
        using view_type = std::remove_cvref_t<decltype(view)>;
        if constexpr (!tally::detail::is_dynamic_v<view_type>) {
            f.template operator()<feature_type<typename view_type::element_type>>();
        } else if (tally::detail::with_element_type(view.type,
                                                    []<class E>() { return std::is_same_v<feature_type<E>, float>; })) {
            f.template operator()<float>();
        } else {
            f.template operator()<double>();
        }
    }

    template <class... R>
    void check_elements(type_list<R...>) const {
        (check_element<R>(), ...);
    }
    template <class R>
    void check_element() const {
        if constexpr (is_element<R, inputs_type>) {
            using wanted = typename source_of<R>::type;
            if constexpr (inputs_type::template has<wanted>) {
                auto const& view = inputs_.template view<wanted>();
                require_fit<typename R::value_type, wanted>(view, wanted::call.text);
                if constexpr (std::is_same_v<R, predicted_class>) {
                    require_labels(view);
                }
            }
        }
        if constexpr (R::kind == role_kind::pairs) {
            require_fit<typename R::value_type::prediction_type>(inputs_.template view<source::predictions>(),
                                                                 source::predictions::call.text);
            require_fit<class_index>(inputs_.template view<source::targets>(), source::targets::call.text);
        }
        if constexpr (needs_target<R> && inputs_type::template has<source::targets>) {
            static_assert(!inputs_type::template is_matrix<source::targets>,
                          "tally: with scores, targets(...) must hold one label a row");
        }
    }

    template <class S>
    void run_tiles(states_of<M>& states, workspace& memory, std::size_t begin, std::size_t end) const {
        slots<sample_roles> row_slots;
        std::size_t const step = tile_size<S>();
        for (std::size_t first = begin; first < end; first += step) {
            run_tile<S>(states, memory, row_slots, first, std::min(step, end - first));
        }
    }

    template <class S>
    [[nodiscard]] std::size_t tile_size() const {
        if constexpr (std::is_void_v<S>) {
            return tile_samples;
        } else {
            return rows_per_tile<S>(inputs_.template view<typename inputs_type::row_source>());
        }
    }

    template <class S>
    void run_tile(states_of<M>& states, workspace& memory, slots<sample_roles>& row_slots, std::size_t first,
                  std::size_t n) const {
        load_elements(row_slots, first, n);
        std::uint32_t kept_indices[tile_samples];
        auto const kept = keep(states, row_slots, first, n, kept_indices);
        auto const* const selection = kept == n ? nullptr : kept_indices;

        using feature = std::conditional_t<std::is_void_v<S>, float, S>;
        row_tile<feature> tile{};
        row_block<feature> rows{};
        if constexpr (uses_rows) {
            rows = load_rows<S>(inputs_.template view<typename inputs_type::row_source>(), first, n,
                                memory.template rows<S>());
            std::int32_t const* targets = nullptr;
            if constexpr (any_target_needed) {
                targets = &row_slots.template role_data<target<class_index>>()->value;
            }
            if constexpr (row_needs != 0) {
                row_features<row_needs>(rows.data, rows.stride, rows.columns, n, targets, tile);
            }
            fill_row_roles(row_slots, tile, rows, targets, n);
        }
        if (selection != nullptr) {
            row_slots.for_each([&]<class R>(slot<R>& s) { s.select(selection, kept); });
        }
        evaluate_all(row_counters{}, states, row_slots, kept);
        if constexpr (cell_counters::size != 0) {
            run_cells(states, row_slots, tile, rows, first, selection, kept);
        }
    }

    void load_elements(slots<sample_roles>& row_slots, std::size_t first, std::size_t n) const {
        row_slots.for_each([&]<class R>(slot<R>& s) {
            if constexpr (is_element<R, inputs_type>) {
                using wanted = typename source_of<R>::type;
                s.data = load<typename R::value_type>(inputs_.template view<wanted>(), first, n, s.buffer);
            } else if constexpr (R::kind == role_kind::pairs) {
                for (std::size_t i = 0; i < n; ++i) {
                    s.buffer[i] = fold_pairs<typename R::value_type>(first + i);
                }
                s.data = s.buffer;
            }
        });
    }

    /// F over the pairs of one row of predictions and targets.
    template <class F>
    [[nodiscard]] F fold_pairs(std::size_t row) const {
        typename F::prediction_type predicted[tile_samples];
        class_index truth[tile_samples];
        F fold{};
        for (std::size_t c = 0; c < columns_;) {
            auto const n = std::min(columns_ - c, tile_samples);
            load_row(inputs_.template view<source::predictions>(), row, c, n, predicted);
            load_row(inputs_.template view<source::targets>(), row, c, n, truth);
            for (std::size_t j = 0; j < n; ++j) {
                fold.take(predicted[j], truth[j]);
            }
            c += n;
        }
        return fold;
    }

    /// Lists the samples that take part, and counts the others.
    std::size_t keep(states_of<M>& states, slots<sample_roles>& row_slots, std::size_t first, std::size_t n,
                     std::uint32_t* kept) const {
        auto& seen = states.template get<0>();
        std::size_t count = n;
        if constexpr (inputs_type::template has<source::mask>) {
            count = list_unmasked(inputs_.template view<source::mask>(), first, n, kept);
            seen.masked.deposit(n - count);
        }
        count = keep_finite_weights(seen, row_slots, n, count, kept);
        seen.samples.deposit(count);
        return count;
    }

    template <class S>
    static void fill_row_roles(slots<sample_roles>& row_slots, row_tile<S> const& tile, row_block<S> const& rows,
                               std::int32_t const* targets, std::size_t n) {
        row_slots.for_each([&]<class R>(slot<R>& s) {
            if constexpr (R::kind == role_kind::row && !is_element<R, inputs_type>) {
                for (std::size_t i = 0; i < n; ++i) {
                    s.buffer[i] = row_role_of<from_scores, R, S>::get(tile, rows, targets, i);
                }
                s.data = s.buffer;
            }
        });
    }

    template <class... K, class Slots>
    static void evaluate_all(type_list<K...>, states_of<M>& states, Slots const& filled, std::size_t n) {
        if (n != 0) {
            (evaluate<K>(filled, n, states.template get<tally::detail::index_of_v<counters, K> + 1>(), roles_of<K>{}),
             ...);
        }
    }

    /// Cuts the kept rows into runs of at most tile_samples matrix elements and evaluates them tile by tile.
    template <class S>
    void run_cells(states_of<M>& states, slots<sample_roles> const& row_slots, row_tile<S> const& tile,
                   row_block<S> const& rows, std::size_t first, std::uint32_t const* selection,
                   std::size_t kept) const {
        slots<cell_roles> cells;
        std::size_t filled = 0;
        for (std::size_t k = 0; k < kept; ++k) {
            std::size_t const i = selection != nullptr ? selection[k] : k;
            for (std::size_t c = 0; c < columns_;) {
                auto const n = std::min(columns_ - c, tile_samples - filled);
                fill_cells(cells, row_slots, tile, rows, first + i, i, k, c, n, filled);
                c += n;
                filled += n;
                if (filled == tile_samples) {
                    evaluate_cells(states, cells, filled);
                    filled = 0;
                }
            }
        }
        evaluate_cells(states, cells, filled);
    }

    static void evaluate_cells(states_of<M>& states, slots<cell_roles>& cells, std::size_t n) {
        if constexpr (inputs_type::template is_matrix<source::weights>) { // weights of rows have been looked at
            std::uint32_t kept[tile_samples];
            auto const finite = keep_finite_weights(states.template get<0>(), cells, n, n, kept);
            if (finite != n) {
                cells.for_each([&]<class R>(slot<R>& s) { s.select(kept, finite); });
                n = finite;
            }
        }
        evaluate_all(cell_counters{}, states, cells, n);
    }

    /// Columns [c, c + n) of one row: `row` in the input, `i` in the tile, `k` among the kept rows of the tile.
    template <class S>
    void fill_cells(slots<cell_roles>& cells, slots<sample_roles> const& row_slots, row_tile<S> const& tile,
                    row_block<S> const& rows, std::size_t row, std::size_t i, std::size_t k, std::size_t c,
                    std::size_t n, std::size_t filled) const {
        cells.for_each([&]<class R>(slot<R>& s) {
            using T = typename R::value_type;
            s.data = s.buffer;
            T* const out = s.buffer + filled;
            if constexpr (std::is_same_v<R, column_index>) {
                for (std::size_t j = 0; j < n; ++j) {
                    out[j] = static_cast<T>(c + j);
                }
            } else if constexpr (needs_class_probability<R>) {
                class_probabilities<from_scores>(tile, rows, i, c, n, out);
            } else if constexpr (from_matrix<R, inputs_type>) {
                load_row<T>(inputs_.template view<typename source_of<R>::type>(), row, c, n, out);
            } else {
                std::fill_n(out, n, row_slots.template role_data<R>()[k]);
            }
        });
    }

    inputs_type inputs_;
    std::size_t samples_ = 0;
    std::size_t columns_ = 0;
};

} // namespace detail
} // namespace tally::host
