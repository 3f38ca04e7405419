// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Per-role storage of a tile: a pointer to the values, which lie in the user's memory or in the slot's own buffer.
#pragma once

#include <tally/core/type_list.hpp>
#include <tally/host/tile.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::host::detail {

template <class R>
struct slot {
    using T = typename R::value_type;
    T const* data = nullptr;
    T buffer[tile_samples];

    /// Keeps the elements whose indices are listed (ascending).
    void select(std::uint32_t const* indices, std::size_t n) {
        for (std::size_t k = 0; k < n; ++k) {
            buffer[k] = data[indices[k]];
        }
        data = buffer;
    }
};

template <class Roles>
struct slots;
template <class... R>
struct slots<type_list<R...>> : slot<R>... {
    template <class Q>
    [[nodiscard]] auto const* role_data() const {
        return static_cast<slot<Q> const&>(*this).data;
    }
    template <class Q>
    [[nodiscard]] slot<Q>& of() {
        return *this;
    }
    template <class F>
    void for_each(F&& f) {
        (f.template operator()<R>(static_cast<slot<R>&>(*this)), ...);
    }
};

} // namespace tally::host::detail
