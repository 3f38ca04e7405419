// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// table<Acc, Extents>: an array of accumulators, for example one per class or per bin. A field of a state, like an
// accumulator. The engine owns the cells (host memory, device memory, a private copy) and binds the table to them.
// Never writes outside: contributions with an index out of range are counted in `outside`.
#pragma once

#include <tally/config.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/wire.hpp>
#include <tally/layout/extents.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally {

/// Memory: sizeof(Acc) a cell, in the engine's storage. The table itself is a trivially copyable view.
template <class Acc, class Extents>
class table {
    static_assert(accumulator<Acc>, "tally: the first argument of table<Acc, Extents> must be an accumulator");

public:
    using cell_type = Acc;
    using extents_type = Extents;
    static constexpr std::size_t rank = Extents::rank;

    table() = default;

    /// Called by engines: the shape, and memory for shape.cells() accumulators.
    TALLY_HD constexpr void bind(Extents shape, Acc* cells) {
        extents_ = shape;
        cells_ = cells;
    }

    template <class X>
        requires accepts<Acc, X>
    TALLY_HD constexpr void deposit(cell<rank, X> const& contribution) {
        auto const offset = extents_.offset(contribution.index);
        if (offset == extents_.cells()) {
            ++outside_;
        } else {
            cells_[offset].deposit(contribution.value);
        }
    }
    template <class X, class Weight>
        requires accepts_weighted<Acc, X, Weight>
    TALLY_HD constexpr void deposit(cell<rank, X> const& contribution, Weight const& weight) {
        auto const offset = extents_.offset(contribution.index);
        if (offset == extents_.cells()) {
            ++outside_;
        } else {
            cells_[offset].deposit(contribution.value, weight);
        }
    }
    TALLY_HD constexpr void merge(table const& other) {
        for (std::size_t i = 0; i < extents_.cells(); ++i) {
            cells_[i].merge(other.cells_[i]);
        }
        outside_ += other.outside_;
    }
    /// Back to identity, cell by cell.
    TALLY_HD constexpr void reset() {
        for (std::size_t i = 0; i < extents_.cells(); ++i) {
            cells_[i] = Acc{};
        }
        outside_ = 0;
    }

    template <class... Index>
        requires(sizeof...(Index) == rank)
    [[nodiscard]] TALLY_HD constexpr Acc const& operator()(Index... index) const {
        std::size_t const indices[rank] = {static_cast<std::size_t>(index)...};
        return cells_[extents_.offset(indices)];
    }
    /// The cells in row-major order.
    [[nodiscard]] TALLY_HD constexpr Acc const* data() const { return cells_; }
    [[nodiscard]] TALLY_HD constexpr Acc* data() { return cells_; }
    [[nodiscard]] TALLY_HD constexpr std::size_t cells() const { return extents_.cells(); }
    [[nodiscard]] TALLY_HD constexpr std::size_t extent(std::size_t k) const { return extents_.size[k]; }
    [[nodiscard]] TALLY_HD constexpr Extents shape() const { return extents_; }
    /// Contributions whose index was out of range.
    [[nodiscard]] TALLY_HD constexpr std::uint64_t outside() const { return outside_; }
    TALLY_HD constexpr void add_outside(std::uint64_t n) { outside_ += n; }
    TALLY_HD constexpr void set_outside(std::uint64_t n) { outside_ = n; }

private:
    Acc* cells_ = nullptr;
    Extents extents_{};
    std::uint64_t outside_ = 0;
};

namespace detail {

template <class T>
inline constexpr bool is_table_v = false;
template <class Acc, class Extents>
inline constexpr bool is_table_v<table<Acc, Extents>> = true;

} // namespace detail
} // namespace tally
