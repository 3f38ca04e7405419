// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// FNV-1a, 64 bits: finds damage and differences, not malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace digits {

/// Of the bytes; several spans one after the other by passing what the one before gave.
constexpr std::uint64_t checksum(std::span<std::byte const> bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
    for (std::byte const byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
    return hash;
}

} // namespace digits
