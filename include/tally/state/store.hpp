// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Owns the state of one metric on the host: the aggregate and the cells of its tables. Copies are deep.
// The shape is fixed at construction; nothing allocates afterwards except copying.
#pragma once

#include <tally/collection.hpp>
#include <tally/core/fields.hpp>
#include <tally/core/wire.hpp>
#include <tally/layout/table.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tally {

template <class State>
class state_store {
public:
    /// Shapes of all tables from the run-time extents given, all accumulators at their identity.
    /// Throws configuration_error for an extent of zero and std::bad_alloc.
    template <class... Sizes>
    explicit state_store(std::tuple<Sizes...> const& sizes) {
        visit([&]<class F>(F& field) {
            if constexpr (detail::is_table_v<F>) {
                field.bind(F::extents_type::from(sizes), nullptr);
            }
        });
        allocate();
        reset();
    }
    state_store(state_store const& other) : state_{other.state_} {
        allocate();
        copy_cells(other);
    }
    state_store(state_store&& other) noexcept = default;
    state_store& operator=(state_store const& other) {
        if (this != &other) {
            *this = state_store(other);
        }
        return *this;
    }
    state_store& operator=(state_store&& other) noexcept = default;
    ~state_store() = default;

    [[nodiscard]] State const& get() const { return state_; }
    [[nodiscard]] State& get() { return state_; }

    /// All accumulators back to their identity. Does not allocate.
    void reset() {
        visit([]<class F>(F& field) {
            if constexpr (detail::is_table_v<F>) {
                field.reset();
            } else {
                field = F{};
            }
        });
    }

    /// Joins a partial state of the same replica. Both must have the same shape.
    void merge(state_store const& other) {
        visit_with(other, [](auto& mine, auto const& theirs) { mine.merge(theirs); });
    }

    /// Calls f(field) for each field of the state.
    template <class F>
    void visit(F&& f) {
        with_fields(state_, [&](auto&... field) { (f(field), ...); });
    }
    template <class F>
    void visit(F&& f) const {
        with_fields(state_, [&](auto const&... field) { (f(field), ...); });
    }

private:
    struct release {
        void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{alignment}); }
    };
    static constexpr std::size_t alignment = 64;

    static std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

    void allocate() {
        std::size_t bytes = 0;
        visit([&]<class F>(F& field) {
            if constexpr (detail::is_table_v<F>) {
                bytes += padded(field.cells() * sizeof(typename F::cell_type));
            }
        });
        if (bytes == 0) {
            return;
        }
        cells_.reset(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment})));
        std::byte* next = cells_.get();
        visit([&]<class F>(F& field) {
            if constexpr (detail::is_table_v<F>) {
                using cell_type = typename F::cell_type;
                auto const n = field.cells();
                auto* const cells = std::uninitialized_default_construct_n(reinterpret_cast<cell_type*>(next), 0);
                for (std::size_t i = 0; i < n; ++i) {
                    ::new (static_cast<void*>(cells + i)) cell_type{};
                }
                field.bind(field.shape(), cells);
                next += padded(n * sizeof(cell_type));
            }
        });
    }

    void copy_cells(state_store const& other) {
        visit_with(other, []<class F>(F& mine, F const& theirs) {
            if constexpr (detail::is_table_v<F>) {
                std::memcpy(static_cast<void*>(mine.data()), theirs.data(),
                            mine.cells() * sizeof(typename F::cell_type));
            }
        });
    }

    template <class F>
    void visit_with(state_store const& other, F&& f) {
        with_fields(state_, [&](auto&... mine) {
            with_fields(other.state_, [&](auto const&... theirs) { (f(mine, theirs), ...); });
        });
    }

    State state_{};
    std::unique_ptr<std::byte, release> cells_;
};

/// The states of all counters of a metric or collection, preceded by the tracker's own bookkeeping.
template <class... State>
class state_tuple {
public:
    template <class... Sizes>
    explicit state_tuple(std::tuple<Sizes...> const& sizes) : stores_{state_store<State>(sizes)...} {}

    template <std::size_t Index>
    [[nodiscard]] auto& get() {
        return std::get<Index>(stores_).get();
    }
    template <std::size_t Index>
    [[nodiscard]] auto const& get() const {
        return std::get<Index>(stores_).get();
    }
    void reset() {
        std::apply([](auto&... store) { (store.reset(), ...); }, stores_);
    }
    void merge(state_tuple const& other) { merge(other, std::index_sequence_for<State...>{}); }

    /// Calls f(field) for each field of each state, in order.
    template <class F>
    void visit(F&& f) {
        std::apply([&](auto&... store) { (store.visit(f), ...); }, stores_);
    }
    template <class F>
    void visit(F&& f) const {
        std::apply([&](auto const&... store) { (store.visit(f), ...); }, stores_);
    }

private:
    template <std::size_t... Index>
    void merge(state_tuple const& other, std::index_sequence<Index...>) {
        (std::get<Index>(stores_).merge(std::get<Index>(other.stores_)), ...);
    }

    std::tuple<state_store<State>...> stores_;
};

namespace detail {

template <class Counters>
struct states_for;
template <class... C>
struct states_for<type_list<C...>> {
    using type = state_tuple<bookkeeping, typename C::state...>;
};

} // namespace detail

/// Storage for everything a tracker of M accumulates.
template <class M>
using states_of = typename detail::states_for<typename detail::plan<M>::counters>::type;

} // namespace tally
