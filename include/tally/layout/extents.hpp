// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Shapes of tables. Each extent is fixed<N>, known at compile time, or a type such as num_classes whose value is given
// once to the tracker's constructor and shared by all tables that name it.
#pragma once

#include <tally/config.hpp>
#include <tally/core/errors.hpp>

#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>

namespace tally {

/// An extent known at compile time.
template <std::size_t N>
struct fixed {
    static_assert(N > 0, "tally: a table needs at least one cell along each extent");
    static constexpr std::size_t value = N;
};

/// Extents known only at run time. A user's own is a struct with one member `std::size_t value`.
struct num_classes {
    std::size_t value;
};
struct num_labels {
    std::size_t value;
};
struct num_groups {
    std::size_t value;
};

/// Stands for "known only at run time" where a metric takes a number of classes: confusion_matrix<dynamic>.
inline constexpr std::size_t dynamic = static_cast<std::size_t>(-1);

namespace detail {

template <class E>
inline constexpr bool is_fixed_v = false;
template <std::size_t N>
inline constexpr bool is_fixed_v<fixed<N>> = true;

template <std::size_t N, class RunTime>
struct choose_extent {
    using type = fixed<N>;
};
template <class RunTime>
struct choose_extent<dynamic, RunTime> {
    using type = RunTime;
};

/// fixed<N>, or RunTime if N is `dynamic`.
template <std::size_t N, class RunTime>
using extent_or = typename choose_extent<N, RunTime>::type;

template <class Tag, class... Given>
inline constexpr bool is_given = (std::is_same_v<Tag, Given> || ...);

template <class Tag, class... Given>
std::size_t size_from(std::tuple<Given...> const& sizes) {
    if constexpr (is_fixed_v<Tag>) {
        return Tag::value;
    } else {
        static_assert(is_given<Tag, Given...>, "tally: a run-time extent is missing: give it to the constructor, "
                                               "for example tracker{tally::num_classes{n}}");
        if constexpr (is_given<Tag, Given...>) {
            return static_cast<std::size_t>(std::get<Tag>(sizes).value);
        } else {
            return 0;
        }
    }
}

} // namespace detail

/// A shape. Row-major: the last index varies fastest.
template <class... E>
struct extents {
    static constexpr std::size_t rank = sizeof...(E);
    static_assert(rank > 0, "tally: a table needs at least one extent");
    static constexpr bool is_static = (detail::is_fixed_v<E> && ...);

    std::size_t size[rank];

    template <class... Given>
    static extents from(std::tuple<Given...> const& sizes) {
        extents result{{detail::size_from<E>(sizes)...}};
        result.check();
        return result;
    }

    [[nodiscard]] TALLY_HD constexpr std::size_t cells() const {
        std::size_t product = 1;
        for (auto const n : size) {
            product *= n;
        }
        return product;
    }

    /// Row-major offset of an index, or cells() if the index is outside.
    template <class Index>
    [[nodiscard]] TALLY_HD constexpr std::size_t offset(Index const (&index)[rank]) const {
        std::size_t linear = 0;
        bool inside = true;
        for (std::size_t k = 0; k < rank; ++k) {
            auto const i = static_cast<std::size_t>(index[k]); // a negative index becomes huge
            inside = inside && i < size[k];
            linear = linear * size[k] + i;
        }
        return inside ? linear : cells();
    }

    [[nodiscard]] constexpr bool operator==(extents const&) const = default;

private:
    void check() const {
        std::size_t product = 1;
        for (auto const n : size) {
            if (n == 0) {
                throw configuration_error("a table needs at least one cell along each extent, got an extent of 0");
            }
            if (n > std::numeric_limits<std::size_t>::max() / 4096 / product) {
                throw configuration_error("the extents of a table multiply to more cells than memory can hold");
            }
            product *= n;
        }
    }
};

namespace detail {

template <class Shape>
inline constexpr bool is_extents = false;
template <class... E>
inline constexpr bool is_extents<extents<E...>> = true;

} // namespace detail
} // namespace tally
