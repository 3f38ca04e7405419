// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Counters of the binned ranking metrics of yes/no predictions, shared by auroc, roc_curve, average_precision and
// precision_recall_curve: how many positives and negatives there are in each bin of the score.
#pragma once

#include <tally/accumulator/count.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/core/weighting.hpp>
#include <tally/layout/extents.hpp>
#include <tally/layout/table.hpp>
#include <tally/metric/score_bins.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally {

/// State: 16 bytes a bin + 8. A label other than 0 and 1, a NaN score and a score outside of the bins are dropped and
/// counted. Partition law: exact; bounded for weights.
template <score_bins Bins, class T, class Weighting>
struct binned_scores {
    using weighting = Weighting;

    struct state {
        table<cell_count_of<Weighting>, extents<fixed<Bins::bins>, fixed<2>>> samples; ///< [bin][label]
        occurrences dropped;
    };
    TALLY_HD static constexpr auto observe(prediction<T> score, target<class_index> label) {
        auto const bin = Bins::index(score.value);
        bool const valid = bin >= 0 && (label == 0 || label == 1);
        return contribute(when(valid, at(bin, label.value.value)), when(!valid, one));
    }
};

/// Points of a curve, or why there are none.
template <class Point>
struct curve {
    std::vector<Point> points;
    reason why;
    std::uint64_t dropped;
};

namespace detail {

/// Negatives and positives of the bins of one curve, as doubles: what the formulas below read. `Counter` tells whether
/// they are counts or weights.
template <class Counter, class Cell>
struct binned_labels {
    using counter = Counter;
    std::size_t bins;
    Cell cell; ///< cell(bin, label): number of samples

    [[nodiscard]] TALLY_HD constexpr double negatives(std::size_t bin) const { return cell(bin, 0); }
    [[nodiscard]] TALLY_HD constexpr double positives(std::size_t bin) const { return cell(bin, 1); }
    [[nodiscard]] TALLY_HD constexpr double total(int label) const {
        double all = 0;
        for (std::size_t b = 0; b < bins; ++b) {
            all += cell(b, label);
        }
        return all;
    }
};

template <class Counter, class Cell>
TALLY_HD constexpr binned_labels<Counter, Cell> make_binned_labels(std::size_t bins, Cell cell) {
    return {bins, cell};
}

/// The bins of binned_scores<...>::state.
template <class State>
TALLY_HD constexpr auto labels_of(State const& s) {
    using counter = typename decltype(s.samples)::cell_type;
    return make_binned_labels<counter>(s.samples.extent(0), [&s](std::size_t bin, int label) {
        return static_cast<double>(s.samples(bin, label).value());
    });
}

} // namespace detail
} // namespace tally
