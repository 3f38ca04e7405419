// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A string that can be a template argument: names of metrics, of user inputs and of policies.
#pragma once

#include <cstddef>
#include <string_view>

namespace tally {

template <std::size_t Size>
struct fixed_string {
    char text[Size]{};

    consteval fixed_string(char const (&literal)[Size]) { // NOLINT(google-explicit-constructor): a literal is the name
        for (std::size_t i = 0; i < Size; ++i) {
            text[i] = literal[i];
        }
    }

    /// The characters without the terminating zero.
    [[nodiscard]] constexpr std::string_view view() const { return {text, Size - 1}; }

    template <std::size_t Other>
    [[nodiscard]] constexpr bool operator==(fixed_string<Other> const& other) const {
        return view() == other.view();
    }
};

} // namespace tally
