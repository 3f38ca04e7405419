// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The index of a class as metrics see it: 32 bits, negative for anything that is no valid index. Negative labels keep
// their value, so that an ignored label such as -100 can be told from bad data; NaN and fractions become invalid().
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>

#include <cstdint>

namespace tally {

/// Any integer or floating-point label converts to it; what does not fit becomes `invalid()` and is counted by the
/// metric, never used as an index.
struct class_index {
    std::int32_t value = detail::lowest_of<std::int32_t>;

    TALLY_HD static constexpr class_index invalid() { return {}; }
    TALLY_HD constexpr operator std::int32_t() const { return value; } // NOLINT(google-explicit-constructor)
    [[nodiscard]] TALLY_HD constexpr bool valid() const { return value >= 0; }
};

} // namespace tally
