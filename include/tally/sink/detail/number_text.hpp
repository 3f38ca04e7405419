// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text, the same in every locale: integers with all digits, doubles with the fewest digits that read back as
// the same double. A double always has a point or an exponent, so that it reads back as one.
#pragma once

#include <tally/core/result.hpp>
#include <tally/sink/report.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace tally::detail {

/// How a format spells what is no finite number.
struct special_numbers {
    std::string_view nan;
    std::string_view infinity;
    std::string_view minus_infinity;
    std::string_view missing;
};

template <class T>
    requires std::is_arithmetic_v<T>
void append_number(std::string& out, T value) {
    char text[40];
    auto const end = std::to_chars(text, text + sizeof text, value).ptr;
    std::string_view const digits{text, static_cast<std::size_t>(end - text)};
    out += digits;
    if constexpr (std::is_floating_point_v<T>) {
        if (digits.find_first_of(".en") == std::string_view::npos) { // n: inf, nan
            out += ".0";
        }
    }
}

inline void append_number(std::string& out, report::number const& value, special_numbers const& special) {
    std::visit(
        [&](auto number) {
            if constexpr (std::same_as<decltype(number), reason>) {
                out += special.missing;
            } else if constexpr (std::same_as<decltype(number), double>) {
                if (std::isnan(number)) {
                    out += special.nan;
                } else if (std::isinf(number)) {
                    out += number > 0 ? special.infinity : special.minus_infinity;
                } else {
                    append_number(out, number);
                }
            } else {
                append_number(out, number);
            }
        },
        value);
}

/// Why a number can't be written as digits; empty if it can.
inline std::string_view why_no_digits(report::number const& value) {
    if (auto const* const why = std::get_if<reason>(&value)) {
        return to_string(*why);
    }
    if (auto const* const number = std::get_if<double>(&value); number != nullptr && !std::isfinite(*number)) {
        return std::isnan(*number) ? "NaN" : *number > 0 ? "infinity" : "-infinity";
    }
    return {};
}

} // namespace tally::detail
