// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a ranking buffer has seen beside the samples it holds, and the type of the values it gives: nothing that is
// missing from a value is missing silently.
#pragma once

#include <tally/core/result.hpp>

#include <cstdint>

namespace tally {

/// Numbers of samples. Each sample is in exactly one of them.
struct ranking_counts {
    std::uint64_t samples = 0;      ///< held by the buffer: what values are computed from
    std::uint64_t masked = 0;       ///< not taken because of the mask
    std::uint64_t weights_lost = 0; ///< left out because their weight is NaN or infinite
    std::uint64_t dropped = 0;      ///< NaN scores, labels other than 0 and 1, negative weights
    std::uint64_t overflow = 0;     ///< valid, but beyond the capacity

    constexpr ranking_counts& operator+=(ranking_counts const& other) {
        samples += other.samples;
        masked += other.masked;
        weights_lost += other.weights_lost;
        dropped += other.dropped;
        overflow += other.overflow;
        return *this;
    }
    [[nodiscard]] constexpr bool operator==(ranking_counts const&) const = default;
};

/// A value or the reason why there is none. dropped() counts all samples that the value lacks, overflow() those of them
/// that were valid and did not fit the buffer: unless it is 0, the value is that of the samples that did.
class ranked_value : public result<double> {
public:
    ranked_value(result<double> value, std::uint64_t left_out, std::uint64_t overflow)
        : result<double>{value.with_dropped(left_out + overflow)}, overflow_{overflow} {}

    [[nodiscard]] std::uint64_t overflow() const { return overflow_; }

private:
    std::uint64_t overflow_;
};

namespace detail {

/// Samples of all replicas that can be ranked together: sums over pairs stay below 2^63, positions fit 32 bits.
inline constexpr std::uint64_t most_ranked = (std::uint64_t{1} << 31) - 1;

} // namespace detail
} // namespace tally
