// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// One update on the host: tiles of samples, each input read once for all metrics. Within a tile, first the metrics
// whose samples are rows (with row features where asked for), then those whose samples are the elements of a matrix.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/core/metric.hpp>
#include <tally/core/roles.hpp>
#include <tally/host/evaluate.hpp>
#include <tally/host/load.hpp>
#include <tally/host/row_stage.hpp>
#include <tally/host/selection.hpp>
#include <tally/host/slots.hpp>
#include <tally/state/store.hpp>
#include <tally/update/input_set.hpp>
#include <tally/update/role_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
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

using tally::detail::feature_type;
using tally::detail::from_matrix;
using tally::detail::input_set;
using tally::detail::is_element;
using tally::detail::needs_class_probability;
using tally::detail::role_kind;
using tally::detail::source_of;

/// Refuses tensors whose memory the host can't read.
template <class View>
void require_host_memory(View const& view) {
    if constexpr (tally::detail::is_dynamic_v<View>) {
        // Of DLPack: CPU, pinned (CUDA, ROCm), managed.
        auto const device = view.device_type;
        if (device != 1 && device != 3 && device != 11 && device != 13) {
            throw shape_error("a DLPack tensor of device type " + std::to_string(device) +
                              " lies in device memory; the host engine reads host memory");
        }
    }
}

template <class M, class Counters, class... Given>
class updater;

template <class M, class... C, class... Given>
class updater<M, type_list<C...>, Given...> {
    using inputs_type = input_set<Given...>;
    using counters = type_list<C...>;
    using roles = tally::detail::role_plan<counters, inputs_type>;
    using sample_roles = typename roles::sample_roles;
    using cell_roles = typename roles::cell_roles;
    using row_counters = typename roles::row_counters;
    using cell_counters = typename roles::cell_counters;
    static constexpr bool from_scores = roles::from_scores;
    static constexpr bool any_target_needed = roles::any_target_needed;
    static constexpr unsigned row_needs = roles::row_needs;
    static constexpr bool uses_rows = roles::uses_rows;
    static constexpr bool complete = roles::complete;

public:
    explicit updater(inputs_type const& inputs) : inputs_{inputs} {
        if constexpr (complete) {
            roles::check(inputs_);
            inputs_.for_each_view([](auto const& view) { require_host_memory(view); });
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
                    s.buffer[i] = role_of_tile<from_scores, R>(tile, rows, targets, i);
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
