// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the cells of each table are updated: decided at compile time for fixed extents, at construction of the tracker
// for those known only then.
#pragma once

#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/cuda/state_layout.hpp>
#include <tally/cuda/tuning.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/guarded_extent.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

/// Cells of a table whose counters fit in registers.
inline constexpr std::size_t register_cells = 8;

/// The architecture that this pass of the compiler generates code for, 10 * major + minor; 0 for the host.
#if defined(__CUDA_ARCH__)
inline constexpr int compiled_arch = __CUDA_ARCH__ / 10;
#else
inline constexpr int compiled_arch = 0;
#endif

/// A shape that is known to the compiler, so that offsets are computed with constants.
template <class Extents>
struct constant_shape {
    static constexpr bool known = false;
};
template <std::size_t... N>
struct constant_shape<extents<fixed<N>...>> {
    static constexpr bool known = true;
    TALLY_HD static constexpr extents<fixed<N>...> make() { return {{N...}}; }
};
template <std::size_t N>
struct constant_shape<guarded_extent<fixed<N>>> {
    static constexpr bool known = true;
    TALLY_HD static constexpr guarded_extent<fixed<N>> make() { return {{N, N}}; }
};

/// The shape of a table: the constant one if there is one.
template <class Table>
TALLY_HD constexpr typename Table::extents_type shape_of(typename Table::extents_type const& stored) {
    using constant = constant_shape<typename Table::extents_type>;
    if constexpr (constant::known) {
        return constant::make();
    } else {
        return stored;
    }
}

template <class X>
inline constexpr bool adds_one = false;
template <std::size_t Rank>
inline constexpr bool adds_one<cell<Rank, one_t>> = true;

template <class Acc>
inline constexpr bool is_count = false;
template <tally::detail::weights_in_count Weights>
inline constexpr bool is_count<basic_count<Weights>> = true;

/// Tables of counts to which every sample adds one: their private copies have cells of 32 bits.
template <class Id>
inline constexpr bool counts_ones = [] {
    if constexpr (Id::is_table) {
        return is_count<typename Id::type::cell_type> &&
               adds_one<typename tally::detail::kept<typename Id::contribution>::type>;
    } else {
        return false;
    }
}();

/// Square tables of counts, such as confusion matrices: most of the mass may lie on the diagonal, on a few addresses, so
/// each block counts the diagonal apart where the table itself is too large to be copied.
template <class Id>
inline constexpr bool may_be_square = [] {
    if constexpr (counts_ones<Id>) {
        return tally::detail::is_extents<typename Id::type::extents_type> && Id::type::rank == 2;
    } else {
        return false;
    }
}();

/// Bytes of one cell in a block's private copy; 0 if there can be none.
template <class Id>
TALLY_HD constexpr std::size_t private_cell_bytes() {
    using cell = typename Id::type::cell_type;
    if constexpr (counts_ones<Id>) {
        return sizeof(std::uint32_t);
    } else if constexpr (by_parts<cell>) {
        return stored_bytes<cell>();
    } else {
        return 0;
    }
}

/// The strategy of a table: automatic is left only where the extents are known at run time.
template <class Id, class Tuning>
inline constexpr table_strategy strategy_of = [] {
    if constexpr (!Id::is_table) {
        return table_strategy::automatic;
    } else {
        constexpr auto wish = Tuning::select(compiled_arch).tables;
        using constant = constant_shape<typename Id::type::extents_type>;
        if constexpr (constant::known && counts_ones<Id>) {
            if (constant::make().cells() <= register_cells &&
                (wish == table_strategy::automatic || wish == table_strategy::registers)) {
                return table_strategy::registers;
            }
        }
        return wish == table_strategy::registers ? table_strategy::automatic : wish;
    }
}();

template <class Fields, std::size_t State, std::size_t Field>
struct find_field_impl;
template <class... Id, std::size_t State, std::size_t Field>
struct find_field_impl<type_list<Id...>, State, Field> {
    static constexpr std::size_t position = [] {
        std::size_t index = 0;
        bool found = false;
        (void)((found = Id::state == State && Id::index == Field, index += found ? 0U : 1U, found) || ...);
        return index;
    }();
    using type = tally::detail::at_t<type_list<Id...>, position>;
};
/// The description of a field by its place.
template <class Fields, std::size_t State, std::size_t Field>
using find_field = typename find_field_impl<Fields, State, Field>::type;

} // namespace tally::cuda::detail
