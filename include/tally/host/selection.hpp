// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Which samples of a tile take part: those that are not masked and whose weights are finite. The others are counted.
#pragma once

#include <tally/collection.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/view.hpp>
#include <tally/core/widen.hpp>
#include <tally/host/slots.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::host::detail {

/// Lists those of the samples [first, first + n) whose mask element is not zero, as offsets from `first`; returns how many.
template <class T>
std::size_t list_unmasked(vector_view<T> const& mask, std::size_t first, std::size_t n, std::uint32_t* kept) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        auto const x = mask.data[static_cast<std::ptrdiff_t>(first + i) * mask.stride];
        kept[count] = static_cast<std::uint32_t>(i);
        count += static_cast<std::size_t>(widening<T>::widen(x) != 0);
    }
    return count;
}
inline std::size_t list_unmasked(dynamic_view<1> const& mask, std::size_t first, std::size_t n, std::uint32_t* kept) {
    return tally::detail::with_element_type(
        mask.type, [&]<class T>() { return list_unmasked(tally::detail::typed<T>(mask), first, n, kept); });
}
template <class View>
    requires(View::rank == 2)
std::size_t list_unmasked(View const&, std::size_t, std::size_t, std::uint32_t*) {
    static_assert(View::rank == 1, "tally: mask(...) holds one element a sample: give it as a vector");
    return 0;
}

template <class R>
inline constexpr bool is_weight_role = false;
template <class T>
inline constexpr bool is_weight_role<weight<T>> = true;

/// Keeps those of n samples, of which `kept` lists `count` unless it are all, whose weights are finite.
template <class Slots>
std::size_t keep_finite_weights(tally::detail::bookkeeping& seen, Slots& filled, std::size_t n, std::size_t count,
                                std::uint32_t* kept) {
    filled.for_each([&]<class R>(slot<R>& s) {
        if constexpr (is_weight_role<R>) {
            auto const before = count;
            auto const* const sample = count == n ? nullptr : kept;
            std::size_t finite = 0;
            for (std::size_t k = 0; k < before; ++k) {
                auto const i = sample != nullptr ? sample[k] : static_cast<std::uint32_t>(k);
                auto const weight = s.data[i];
                kept[finite] = i;
                finite += static_cast<std::size_t>(weight - weight == 0); // false for NaN and infinities
            }
            seen.weights_lost.deposit(before - finite);
            count = finite;
        }
    });
    return count;
}

} // namespace tally::host::detail
