// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// score_bins: bins that keep the order of scores, for ranking metrics (AUROC, average precision) from bounded memory.
//
// | expression      | returns      | meaning                                                                   |
// |-----------------|--------------|---------------------------------------------------------------------------|
// | B::bins         | std::size_t  | number of bins, a constant                                                |
// | B::index(score) | std::int32_t | bin of a score, never lower for a higher score; -1 for one that is not    |
// |                 |              | valid. O(1)                                                               |
// | B::lower(bin)   | double       | lower edge of a bin, for the thresholds of curves. O(1)                   |
//
// Models: probability_bins for scores in [0, 1], logit_bins for scores on the whole line.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/fixed_string.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tally {

template <class B>
concept score_bins = requires(float score, std::size_t bin) {
    { B::bins } -> std::convertible_to<std::size_t>;
    { B::index(score) } -> std::same_as<std::int32_t>;
    { B::lower(bin) } -> std::same_as<double>;
};

/// Bins of equal width on [0, 1], both ends included. Scores outside and NaN are invalid: they are not clamped.
/// 1000 by default: with scores spread over [0, 1] the bracket of an AUROC is about 0.001 wide, for 16,000 bytes.
template <std::size_t Bins = 1000>
struct probability_bins {
    static_assert(Bins > 0 && Bins <= (1U << 20), "tally: probability_bins takes 1 to 2^20 bins");
    static constexpr fixed_string name = "probability_bins";
    static constexpr std::size_t bins = Bins;

    /// The product is rounded, which never changes the order of two scores.
    template <std::floating_point T>
    [[nodiscard]] TALLY_HD static constexpr std::int32_t index(T score) {
        bool const valid = score >= T{0} && score <= T{1};
        auto const bin = static_cast<std::int32_t>((valid ? score : T{0}) * static_cast<T>(Bins));
        auto const last = static_cast<std::int32_t>(Bins - 1);
        return valid ? (bin < last ? bin : last) : -1;
    }
    [[nodiscard]] TALLY_HD static constexpr double lower(std::size_t bin) {
        return static_cast<double>(bin) / static_cast<double>(Bins);
    }
};

/// Bins for logits, without a sigmoid, which would make 98 and 99 the same. They are spaced like floating-point
/// numbers: PerOctave of equal width in each octave [2^k, 2^(k+1)) from 2^Lowest to 2^Highest, PerOctave of equal width
/// between 0 and 2^Lowest, and the mirror image below 0. Magnitudes from 2^Highest on, infinities included, are in the
/// outermost bins; only NaN is invalid.
/// By default 1408 bins, 22,528 bytes for an AUROC: 1/64 wide below a magnitude of 2, 1/16 below 8, 1 below 128.
/// Probabilities of rare events can use it as well: logit_bins<64, -20, 0> resolves 1.6% of each probability.
template <std::size_t PerOctave = 64, int Lowest = 0, int Highest = 10>
struct logit_bins {
    static_assert(std::has_single_bit(PerOctave) && PerOctave <= (1U << 16),
                  "tally: logit_bins takes a power of two, at most 2^16, of bins in an octave");
    static_assert(-126 <= Lowest && Lowest < Highest && Highest <= 127,
                  "tally: logit_bins takes octaves from 2^-126 to 2^127, the lowest below the highest");
    static constexpr fixed_string name = "logit_bins";

private:
    static constexpr auto per_sign = PerOctave * static_cast<std::size_t>(1 + Highest - Lowest);
    static constexpr int shift = 23 - std::bit_width(PerOctave - 1);
    static constexpr auto first_octave = static_cast<std::uint32_t>(127 + Lowest) << 23;
    static constexpr auto beyond = static_cast<std::uint32_t>(127 + Highest) << 23;

public:
    static constexpr std::size_t bins = 2 * per_sign;
    static_assert(bins <= (1U << 24), "tally: logit_bins has too many octaves for so many bins in each of them");

    template <std::floating_point T>
    [[nodiscard]] TALLY_HD static constexpr std::int32_t index(T score) {
        constexpr auto highest = detail::bit_cast<float>(beyond - 1);
        constexpr auto scale = static_cast<float>(PerOctave) / detail::bit_cast<float>(first_octave);
        T const size = score < T{0} ? -score : score;
        // NaN fails the comparison as well. Rounding a double to float keeps the order.
        auto const magnitude = size < static_cast<T>(highest) ? static_cast<float>(size) : highest;
        auto const bits = detail::bit_cast<std::uint32_t>(magnitude) & 0x7fff'ffffU; // -0 is 0
        bool const small = bits < first_octave;
        auto const below = static_cast<std::int32_t>((small ? magnitude : 0.0F) * scale);
        auto const above = static_cast<std::int32_t>(bits >> shift) - static_cast<std::int32_t>(first_octave >> shift) +
                           static_cast<std::int32_t>(PerOctave);
        auto const step = small ? below : above;
        auto const zero = static_cast<std::int32_t>(per_sign);
        return score == score ? (score < T{0} ? zero - 1 - step : zero + step) : -1;
    }
    /// -infinity for the first bin. Bins below zero do not contain their lower edge.
    [[nodiscard]] TALLY_HD static constexpr double lower(std::size_t bin) {
        return bin >= per_sign ? edge(bin - per_sign) : (bin == 0 ? -detail::positive_infinity : -edge(per_sign - bin));
    }

private:
    TALLY_HD static constexpr double edge(std::size_t step) {
        if (step < PerOctave) {
            return static_cast<double>(step) / static_cast<double>(PerOctave) *
                   static_cast<double>(detail::bit_cast<float>(first_octave));
        }
        auto const bits = static_cast<std::uint32_t>(step - PerOctave) << shift;
        return static_cast<double>(detail::bit_cast<float>(first_octave + bits));
    }
};

static_assert(score_bins<probability_bins<>> && score_bins<logit_bins<>>);

} // namespace tally
