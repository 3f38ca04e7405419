// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Linear bins: which cell of a table a number belongs to. Besides the bins there is a cell for numbers below, one for
// numbers above and one for NaN, so nothing is lost. The right edge is closed in the last bin only.
#pragma once

#include <tally/config.hpp>

#include <cstddef>
#include <cstdint>
#include <ratio>

namespace tally {

/// Bins of equal width on [Lower, Upper], given as std::ratio: linear_bins<10>, linear_bins<7, std::ratio<0>, std::ratio<12>>.
/// Edges are lower + k (upper - lower) / Bins in double; index() agrees with them exactly (a number equal to edge(k)
/// belongs to bin k), as numpy.histogram does. Cells: 0 below, 1 ... Bins, Bins + 1 above, Bins + 2 NaN.
template <std::size_t Bins, class Lower = std::ratio<0>, class Upper = std::ratio<1>>
struct linear_bins {
    static_assert(Bins > 0, "tally: a histogram needs at least one bin");
    static_assert(std::ratio_less_v<Lower, Upper>, "tally: the lower edge of a histogram must be below its upper edge");

    static constexpr std::size_t bins = Bins;
    static constexpr std::size_t cells = Bins + 3;
    static constexpr std::size_t below = 0;
    static constexpr std::size_t above = Bins + 1;
    static constexpr std::size_t nan = Bins + 2;
    static constexpr double lower = static_cast<double>(Lower::num) / static_cast<double>(Lower::den);
    static constexpr double upper = static_cast<double>(Upper::num) / static_cast<double>(Upper::den);

    /// Left edge of bin k, for k = Bins the right edge of the last one.
    [[nodiscard]] TALLY_HD static constexpr double edge(std::size_t k) {
        return k == Bins ? upper : lower + static_cast<double>(k) * ((upper - lower) / static_cast<double>(Bins));
    }

    /// Cell of x. Constant time.
    template <class T>
    [[nodiscard]] TALLY_HD static constexpr std::size_t index(T x) {
        auto const value = static_cast<double>(x);
        if (value != value) {
            return nan;
        }
        if (value < lower) {
            return below;
        }
        if (value > upper) {
            return above;
        }
        auto bin = static_cast<std::size_t>((value - lower) * (static_cast<double>(Bins) / (upper - lower)));
        bin = bin < Bins ? bin : Bins - 1;
        // The product is rounded; the edges decide.
        if (bin > 0 && value < edge(bin)) {
            --bin;
        } else if (bin + 1 < Bins && value >= edge(bin + 1)) {
            ++bin;
        }
        return bin + 1;
    }
};

} // namespace tally
