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
        // The engine loads every other role; a matrix of weights has no single value for each sample of a vector.
        constexpr bool loaded = tally::detail::contains_v<type_list<R...>, Q>;
        static_assert(loaded,
                      "tally: weights(...) is a matrix and the weighted input is none: give one weight a sample");
        if constexpr (loaded) {
            return static_cast<slot<Q> const&>(*this).data;
        } else {
            return static_cast<typename Q::value_type const*>(nullptr);
        }
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
