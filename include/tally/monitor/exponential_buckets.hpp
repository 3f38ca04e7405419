// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The buckets of an OpenTelemetry exponential histogram: base 2^(2^-scale), bucket i holds magnitudes in
// (base^i, base^(i+1)]. Filled from logarithmic bins; tally sends nothing anywhere, it only offers the numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace tally {

/// Counts of one sign: counts[k] belongs to bucket offset + k. Empty where there is none; no empty outer buckets.
struct exponential_range {
    std::int32_t offset = 0;
    std::vector<std::uint64_t> counts;
    friend bool operator==(exponential_range const&, exponential_range const&) = default;
};

/// What an OpenTelemetry data point asks for. NaN and infinities have no place in it: they are reported beside it.
struct exponential_buckets {
    std::int32_t scale = 0;
    std::uint64_t zero_count = 0; ///< zero and tiny numbers
    double zero_threshold = 0;    ///< magnitudes below it were counted as zero
    exponential_range positive;
    exponential_range negative;
};

} // namespace tally
