// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli; RFC 3720), and the masked form that stands in TFRecord files. Eight tables, eight bytes a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tally::tensorboard {

namespace detail {

using crc_tables = std::array<std::array<std::uint32_t, 256>, 8>;

consteval crc_tables make_crc_tables() {
    crc_tables tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
        }
        tables[0][i] = crc;
    }
    for (std::size_t t = 1; t < tables.size(); ++t) {
        for (std::size_t i = 0; i < 256; ++i) {
            tables[t][i] = (tables[t - 1][i] >> 8U) ^ tables[0][tables[t - 1][i] & 255U];
        }
    }
    return tables;
}

inline constexpr crc_tables crc_table = make_crc_tables();

} // namespace detail

constexpr std::uint32_t crc32c(std::string_view bytes) {
    auto const& table = detail::crc_table;
    auto const byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at])); };
    std::uint32_t crc = 0xffffffffU;
    std::size_t i = 0;
    for (; bytes.size() - i >= 8; i += 8) {
        crc ^= byte(i) | byte(i + 1) << 8U | byte(i + 2) << 16U | byte(i + 3) << 24U;
        crc = table[7][crc & 255U] ^ table[6][(crc >> 8U) & 255U] ^ table[5][(crc >> 16U) & 255U] ^
              table[4][crc >> 24U] ^ table[3][byte(i + 4)] ^ table[2][byte(i + 5)] ^ table[1][byte(i + 6)] ^
              table[0][byte(i + 7)];
    }
    for (; i < bytes.size(); ++i) {
        crc = (crc >> 8U) ^ table[0][(crc ^ byte(i)) & 255U];
    }
    return ~crc;
}

/// Rotated and shifted by a constant, since a CRC over data that holds CRCs is weak.
constexpr std::uint32_t masked(std::uint32_t crc) { return (crc >> 15U | crc << 17U) + 0xa282ead8U; }

} // namespace tally::tensorboard
