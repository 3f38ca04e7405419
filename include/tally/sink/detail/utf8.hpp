// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether bytes are UTF-8 (RFC 3629). Readers of logs refuse a whole file for one string that is not.
#pragma once

#include <cstddef>
#include <string_view>

namespace tally::detail {

/// No overlong forms, no surrogates, nothing above U+10FFFF.
constexpr bool is_utf8(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size()) {
        auto const lead = static_cast<unsigned char>(text[i]);
        std::size_t const length = lead < 0x80   ? 1
                                   : lead < 0xc2 ? 0
                                   : lead < 0xe0 ? 2
                                   : lead < 0xf0 ? 3
                                   : lead < 0xf5 ? 4
                                                 : 0;
        if (length == 0 || text.size() - i < length) {
            return false;
        }
        // Only the second byte of these four leads has a narrower range than 80..bf.
        unsigned const lowest = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        unsigned const highest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        for (std::size_t k = 1; k < length; ++k) {
            auto const byte = static_cast<unsigned char>(text[i + k]);
            if (byte < (k == 1 ? lowest : 0x80U) || byte > (k == 1 ? highest : 0xbfU)) {
                return false;
            }
        }
        i += length;
    }
    return true;
}

} // namespace tally::detail
