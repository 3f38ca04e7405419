// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How the states of a metric lie in device memory: one record with every accumulator that is a field, then the cells of
// the tables. Cells that can be merged part by part are stored as their parts, so that atomics work on them; others as
// they are, with a lock. The same description packs and unpacks them on the host.
#pragma once

#include <tally/collection.hpp>
#include <tally/config.hpp>
#include <tally/core/fields.hpp>
#include <tally/core/metric.hpp>
#include <tally/core/parts.hpp>
#include <tally/core/type_list.hpp>
#include <tally/layout/table.hpp>
#include <tally/state/store.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tally::cuda::detail {

using tally::detail::concat_t;
using tally::detail::is_table_v;

/// Field `Field` of state `State` (0 is the tracker's own bookkeeping): its type, and what observe contributes to it.
template <std::size_t State, std::size_t Field, class F, class X>
struct field {
    static constexpr std::size_t state = State;
    static constexpr std::size_t index = Field;
    static constexpr bool is_table = is_table_v<F>;
    using type = F;
    using contribution = X;
};

template <std::size_t State, class Fields, class Contributions, class Indices>
struct fields_of_state;
template <std::size_t State, class... F, class... X, std::size_t... Index>
struct fields_of_state<State, type_list<F...>, type_list<X...>, std::index_sequence<Index...>> {
    using type = type_list<field<State, Index, F, X>...>;
};

/// The fields of counters C as state number State.
template <std::size_t State, class C>
struct fields_of_counters : fields_of_state<State, field_types<typename C::state>, contributions_of<C>,
                                            std::make_index_sequence<field_count<typename C::state>>> {};

/// The tracker's bookkeeping in the form of counters.
struct bookkeeping_fields : fields_of_state<0, field_types<tally::detail::bookkeeping>, type_list<one_t, one_t, one_t>,
                                            std::make_index_sequence<field_count<tally::detail::bookkeeping>>> {};

template <class Result, std::size_t State, class... C>
struct join_fields {
    using type = Result;
};
template <class... Id, std::size_t State, class Head, class... Tail>
struct join_fields<type_list<Id...>, State, Head, Tail...>
    : join_fields<concat_t<type_list<Id...>, typename fields_of_counters<State, Head>::type>, State + 1, Tail...> {};

template <class Counters>
struct all_fields;
template <class... C>
struct all_fields<type_list<C...>> : join_fields<bookkeeping_fields::type, 1, C...> {};

/// All fields of the states of counters C..., in the order of states_of<M>.
template <class Counters>
using fields_of = typename all_fields<Counters>::type;

/// What stands for a field outside the tables: the accumulator, or of a table the contributions that fell outside.
template <class Id>
using scalar_of = std::conditional_t<Id::is_table, occurrences, typename Id::type>;

template <class Id>
struct scalar_slot {
    scalar_of<Id> value;
};

/// Accumulators of some of the fields: trivially copyable, one slot a field.
template <class Fields>
struct scalar_record;
template <class... Id>
struct scalar_record<type_list<Id...>> : scalar_slot<Id>... {
    template <class Wanted>
    TALLY_HD constexpr auto& of() {
        return static_cast<scalar_slot<Wanted>&>(*this).value;
    }
    template <class Wanted>
    TALLY_HD constexpr auto const& of() const {
        return static_cast<scalar_slot<Wanted> const&>(*this).value;
    }
};

/// Stored as its parts, 64-bit words, where it is merged by parts, else as it is.
template <class Acc>
inline constexpr bool by_parts = tally::detail::merges_by_parts<Acc>;

template <class Acc>
TALLY_HD constexpr std::size_t stored_bytes() {
    if constexpr (by_parts<Acc>) {
        return sizeof(std::uint64_t) * tally::detail::count_parts<Acc>();
    } else {
        return sizeof(Acc);
    }
}

template <class Acc>
TALLY_HD void store(std::byte* to, Acc value) {
    if constexpr (by_parts<Acc>) {
        tally::detail::part_writer writer{reinterpret_cast<std::uint64_t*>(to)};
        tally::detail::visit_parts(value, writer);
    } else {
        *reinterpret_cast<Acc*>(to) = value;
    }
}
template <class Acc>
TALLY_HD Acc load(std::byte const* from) {
    if constexpr (by_parts<Acc>) {
        Acc value{};
        tally::detail::part_reader reader{reinterpret_cast<std::uint64_t const*>(from)};
        tally::detail::visit_parts(value, reader);
        return value;
    } else {
        return *reinterpret_cast<Acc const*>(from);
    }
}

/// The order in which blocks merge such an accumulator does not show: they do it by atomics, as they finish.
template <class Id>
inline constexpr bool in_any_order = tally::detail::merges_in_any_order<scalar_of<Id>>;

template <class Fields>
struct ordered_fields_impl;
template <class... Id>
struct ordered_fields_impl<type_list<Id...>> {
    using type = concat_t<std::conditional_t<in_any_order<Id>, type_list<>, type_list<Id>>...>;
};
/// The fields whose blocks must be merged in order.
template <class Fields>
using ordered_fields = typename ordered_fields_impl<Fields>::type;

template <class Id>
struct resident_slot {
    alignas(8) std::byte bytes[stored_bytes<scalar_of<Id>>()];
};

/// All fields as they are stored on the device.
template <class Fields>
struct resident_record;
template <class... Id>
struct resident_record<type_list<Id...>> : resident_slot<Id>... {
    template <class Wanted>
    TALLY_HD constexpr std::byte* of() {
        return static_cast<resident_slot<Wanted>&>(*this).bytes;
    }
    template <class Wanted>
    TALLY_HD constexpr std::byte const* of() const {
        return static_cast<resident_slot<Wanted> const&>(*this).bytes;
    }
};

/// A table in device memory.
template <class Id>
struct table_slot {
    typename Id::type::extents_type shape;
    std::byte* cells;             ///< stored_bytes each
    unsigned* lock;               ///< for cells that are not merged by parts: one lock for each of them
    std::int32_t shared_offset;   ///< of the block's copy in dynamic shared memory; -1 if there is none
    std::int32_t diagonal_offset; ///< of the block's copy of the diagonal alone, for square tables; -1 if there is none
};

template <class Fields>
struct table_record;
template <class... Id>
struct table_record<type_list<Id...>> : table_slot<Id>... {
    template <class Wanted>
    TALLY_HD constexpr table_slot<Wanted>& of() {
        return *this;
    }
    template <class Wanted>
    TALLY_HD constexpr table_slot<Wanted> const& of() const {
        return *this;
    }
};

template <class Fields>
struct table_fields;
template <class... Id>
struct table_fields<type_list<Id...>> {
    using type = concat_t<std::conditional_t<Id::is_table, type_list<Id>, type_list<>>...>;
};

/// The layout of everything that a tracker of M keeps on a device.
template <class M>
struct state_layout {
    using counters = typename tally::detail::plan<M>::counters;
    using fields = fields_of<counters>;
    using tables = typename table_fields<fields>::type;
    using scalars = resident_record<fields>;

    static constexpr std::size_t alignment = 256;
    static constexpr std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

    /// Bytes of the record and the cells.
    static std::size_t bytes(states_of<M> const& shapes) {
        std::size_t total = padded(sizeof(scalars));
        tally::detail::for_each_type(tables{}, [&]<class Id>() {
            using cell = typename Id::type::cell_type;
            total += padded(field_of<Id>(shapes).cells() * stored_bytes<cell>());
        });
        return total;
    }
    /// Locks that the tables need.
    static std::size_t locks(states_of<M> const& shapes) {
        std::size_t total = 0;
        tally::detail::for_each_type(tables{}, [&]<class Id>() {
            if (!by_parts<typename Id::type::cell_type>) {
                total += field_of<Id>(shapes).cells();
            }
        });
        return total;
    }

    /// Copies states into an image of bytes(states).
    static void pack(states_of<M> const& states, std::byte* image) {
        auto* const record = ::new (static_cast<void*>(image)) scalars{};
        tally::detail::for_each_type(fields{}, [&]<class Id>() {
            auto const& from = field_of<Id>(states);
            if constexpr (Id::is_table) {
                store<occurrences>(record->template of<Id>(), occurrences{from.outside()});
            } else {
                store<typename Id::type>(record->template of<Id>(), from);
            }
        });
        std::byte* next = image + padded(sizeof(scalars));
        tally::detail::for_each_type(tables{}, [&]<class Id>() {
            using cell = typename Id::type::cell_type;
            auto const& from = field_of<Id>(states);
            for (std::size_t i = 0; i < from.cells(); ++i) {
                store<cell>(next + i * stored_bytes<cell>(), from.data()[i]);
            }
            next += padded(from.cells() * stored_bytes<cell>());
        });
    }

    /// Copies an image into states of the same shapes.
    static void unpack(std::byte const* image, states_of<M>& states) {
        auto const* const record = reinterpret_cast<scalars const*>(image);
        tally::detail::for_each_type(fields{}, [&]<class Id>() {
            auto& to = field_of<Id>(states);
            auto const value = load<scalar_of<Id>>(record->template of<Id>());
            if constexpr (Id::is_table) {
                to.set_outside(value.value());
            } else {
                to = value;
            }
        });
        std::byte const* next = image + padded(sizeof(scalars));
        tally::detail::for_each_type(tables{}, [&]<class Id>() {
            using cell = typename Id::type::cell_type;
            auto& to = field_of<Id>(states);
            for (std::size_t i = 0; i < to.cells(); ++i) {
                to.data()[i] = load<cell>(next + i * stored_bytes<cell>());
            }
            next += padded(to.cells() * stored_bytes<cell>());
        });
    }

    template <class Id, class States>
    static auto& field_of(States& states) {
        return with_fields(states.template get<Id::state>(), [](auto&... f) -> auto& { return nth<Id::index>(f...); });
    }

private:
    template <std::size_t Index, class Head, class... Tail>
    static auto& nth(Head& head, Tail&... tail) {
        if constexpr (Index == 0) {
            return head;
        } else {
            return nth<Index - 1>(tail...);
        }
    }
};

} // namespace tally::cuda::detail
