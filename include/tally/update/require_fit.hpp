// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Refuses inputs whose elements a metric can't take without loss: at compile time where the element type is known, by a
// shape_error before anything is deposited where it is not.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/view.hpp>
#include <tally/core/widen.hpp>

#include <string>
#include <type_traits>

namespace tally::detail {

/// True for integers that lose values in every floating-point type that a metric computes in.
template <class Element>
inline constexpr bool is_wide_integer = [] {
    if constexpr (element<Element>) {
        return std::is_integral_v<widened_t<Element>> && !widens_to<double, Element>;
    } else {
        return false;
    }
}();

/// Says what to write instead, which differs with the input: Source, or void for rows of scores.
template <class T, class Element, class Source>
consteval void require_fit() {
    constexpr bool fits = widens_to<T, Element>;
    if constexpr (std::is_void_v<Source>) {
        static_assert(fits,
                      "tally: scores' elements don't fit what a metric asks for without loss: convert them to double");
    } else if constexpr (std::is_same_v<Source, source::weights>) {
        static_assert(fits || is_wide_integer<Element>,
                      "tally: weights' elements don't fit float without loss: use weighted<M, double>");
        static_assert(fits || !is_wide_integer<Element>,
                      "tally: weights' elements don't fit a metric's weights without loss: convert them to double");
    } else if constexpr (std::is_same_v<Source, source::values>) {
        static_assert(fits || is_wide_integer<Element>, "tally: an input's elements don't fit what a metric asks for "
                                                        "without loss: use its wider form, such as mean<double>");
        static_assert(fits || !is_wide_integer<Element>, "tally: 64-bit integers don't fit what a metric asks for "
                                                         "without loss: use an integer T, as in mean<std::int64_t>");
    } else {
        static_assert(fits, "tally: an input's elements don't fit what a metric asks for without loss: widen the "
                            "metric's T to theirs");
    }
}

/// Refuses a run-time element type that does not fit T, before anything is deposited.
template <class T, class Source = void, class View>
void require_fit(View const& view, char const* input) {
    using element = typename View::element_type;
    if constexpr (is_dynamic_v<View>) {
        with_element_type(view.type, [&]<class E>() {
            if constexpr (!widens_to<T, E>) {
                throw shape_error(std::string(input) + ": elements of type " + to_string(view.type) +
                                  " don't fit what a metric asks for without loss");
            }
        });
    } else {
        require_fit<T, element, Source>();
    }
}

} // namespace tally::detail
