// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Histogram of values in bins chosen at compile time. Nothing is lost: values below and above the range and NaN have
// counters of their own, so the counts always add up to the samples.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/bins.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally {

/// Number is std::uint64_t, or double for weights.
template <class Number>
struct histogram_values {
    std::vector<Number> counts; ///< of the bins
    std::vector<double> edges;  ///< one more than bins
    Number below;               ///< smaller than the first edge, -infinity included
    Number above;               ///< greater than the last edge, +infinity included
    std::uint64_t nans;         ///< never weighted
};

/// Counts of values(...) in Bins, such as linear_bins<7, std::ratio<0>, std::ratio<12>>. There is no default: a range
/// that follows the data would differ between replicas. A range without width does not compile (lower must be below
/// upper). Bins are [edge, next edge), the last one is closed, as in numpy.histogram. Values may have any element type
/// that T holds without loss: value<float> takes int8, half and so on. Infinities are below or above, NaN is counted
/// apart. No data gives zero counts, never an error. State: 8 (bins + 3) bytes. Partition law: exact; bounded for
/// weights.
template <class Bins, class T = float, class Weighting = unweighted>
struct histogram {
    static_assert(Bins::nan + 1 == Bins::cells,
                  "tally: the last cell of the bins of a histogram must be the one of NaN");

    using weighting = Weighting;
    using bins = Bins;
    template <class Other>
    using with_weighting = histogram<Bins, T, Other>;

    struct state {
        table<cell_count_of<Weighting>, extents<fixed<Bins::nan>>> cells;
        occurrences nans;
    };
    TALLY_HD static constexpr auto observe(value<T> x) {
        bool const valid = x.value == x.value;
        return contribute(when(valid, at(Bins::index(x.value))), when(!valid, one));
    }
    static auto finalize(state const& s) {
        using number = decltype(s.cells(0).value());
        histogram_values<number> result{
            {}, {}, s.cells(Bins::below).value(), s.cells(Bins::above).value(), s.nans.value()};
        result.counts.reserve(Bins::bins);
        result.edges.reserve(Bins::bins + 1);
        for (std::size_t b = 0; b < Bins::bins; ++b) {
            result.counts.push_back(s.cells(b + 1).value());
            result.edges.push_back(Bins::edge(b));
        }
        result.edges.push_back(Bins::edge(Bins::bins));
        return result;
    }
};

} // namespace tally
