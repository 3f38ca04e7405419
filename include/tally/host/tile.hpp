// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How many samples the host engine evaluates at once: few enough for the first-level cache, enough to fill vectors.
#pragma once

#include <cstddef>

namespace tally::host::detail {

inline constexpr std::size_t tile_samples = 512;

} // namespace tally::host::detail
