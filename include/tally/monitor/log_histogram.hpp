// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Counts in logarithmic bins as a value: totals, quantiles with certain bounds, rows for a sink, OpenTelemetry buckets.
// What a gradient monitor gives for each layer; made from any histogram metric over logarithmic bins as well.
#pragma once

#include <tally/core/errors.hpp>
#include <tally/core/result.hpp>
#include <tally/layout/logarithmic_bins.hpp>
#include <tally/metric/bracketed.hpp>
#include <tally/metric/histogram.hpp>
#include <tally/monitor/exponential_buckets.hpp>
#include <tally/sink/histogram_row.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tally {

/// Memory: 8 bytes a cell. All functions are O(cells).
template <class Bins>
class log_histogram {
public:
    using bins = Bins;

    log_histogram() : cells_(Bins::cells) {}
    /// One count for each cell of Bins, in its order. Throws shape_error for another number.
    explicit log_histogram(std::vector<std::uint64_t> cells) : cells_{std::move(cells)} {
        if (cells_.size() != Bins::cells) {
            throw shape_error("a histogram of " + std::to_string(Bins::cells) + " cells can't be made of " +
                              std::to_string(cells_.size()) + " counts");
        }
    }
    explicit log_histogram(histogram_values<std::uint64_t> const& values) : log_histogram() {
        if (values.counts.size() != Bins::bins) {
            throw shape_error("a histogram of " + std::to_string(Bins::bins) + " bins can't be made of one of " +
                              std::to_string(values.counts.size()));
        }
        std::copy(values.counts.begin(), values.counts.end(), cells_.begin() + 1);
        cells_[Bins::below] = values.below;
        cells_[Bins::above] = values.above;
        cells_[Bins::nan] = values.nans;
    }

    [[nodiscard]] std::vector<std::uint64_t> const& cells() const { return cells_; }
    [[nodiscard]] std::uint64_t zeros() const { return cells_[Bins::zero]; }
    [[nodiscard]] std::uint64_t nans() const { return cells_[Bins::nan]; }
    [[nodiscard]] std::uint64_t positive_infinities() const { return cells_[Bins::above]; }
    [[nodiscard]] std::uint64_t negative_infinities() const { return cells_[Bins::below]; }
    /// Everything that was counted.
    [[nodiscard]] std::uint64_t total() const { return sum(0, Bins::cells); }
    /// Neither NaN nor infinite.
    [[nodiscard]] std::uint64_t finite() const { return sum(1, Bins::bins + 1); }

    /// The q-quantile, 0 <= q <= 1, of everything but NaN (which is reported as dropped): the number of rank
    /// floor(q (n - 1)) in ascending order lies in [lower(), upper()] for certain; where that is a regular bin, value()
    /// is within Bins::relative_error of it. Ranks of more than 2^53 numbers are rounded. Throws configuration_error
    /// for another q.
    [[nodiscard]] bracketed quantile(double q) const {
        if (!(q >= 0.0 && q <= 1.0)) {
            throw configuration_error("a quantile is asked for by a number in [0, 1], got " + std::to_string(q));
        }
        auto const n = total() - nans();
        if (n == 0) {
            return bracketed(reason::no_samples).with_dropped(nans());
        }
        auto const rank = std::min(static_cast<std::uint64_t>(q * static_cast<double>(n - 1)), n - 1);
        std::size_t cell = 0;
        for (auto seen = cells_[0]; seen <= rank; seen += cells_[cell]) {
            ++cell;
        }
        if (cell == Bins::below || cell == Bins::above) {
            auto const infinity = std::numeric_limits<double>::infinity();
            auto const value = cell == Bins::above ? infinity : -infinity;
            return bracketed(value, value, value).with_dropped(nans());
        }
        return bracketed(Bins::estimate(cell - 1), Bins::edge(cell - 1), Bins::edge(cell)).with_dropped(nans());
    }

    /// The finite values as rows that ascend and touch, without empty ones outside. `largest`, if it is known, is a
    /// magnitude that no finite value exceeds: rows end there instead of at the edge of their bin.
    [[nodiscard]] std::vector<histogram_row> rows(double largest = std::numeric_limits<double>::max()) const {
        auto const [first, last] = occupied(0, Bins::bins);
        std::vector<histogram_row> rows;
        rows.reserve(last - first);
        for (std::size_t k = first; k < last; ++k) {
            rows.push_back({std::clamp(Bins::edge(k), -largest, largest),
                            std::clamp(Bins::edge(k + 1), -largest, largest), static_cast<double>(cells_[k + 1])});
        }
        return rows;
    }

    /// The magnitudes as rows over log2 |x|, both signs together: in this picture one outlier does not flatten the rest.
    /// Zeros, infinities and NaN are left out, tiny numbers too; large ones are in a row of one octave.
    [[nodiscard]] std::vector<histogram_row> log2_rows() const {
        auto const counts = [this](std::size_t k) { return cells_[Bins::zero + 2 + k] + cells_[Bins::zero - 2 - k]; };
        std::size_t first = 0;
        std::size_t last = Bins::magnitudes + 1;
        for (; first < last && counts(first) == 0; ++first) {
        }
        for (; last > first && counts(last - 1) == 0; --last) {
        }
        auto const edge = [](std::size_t k) {
            return k > Bins::magnitudes ? Bins::max_exponent + 1.0 : std::log2(Bins::edge(Bins::zero_bin + 2 + k));
        };
        std::vector<histogram_row> rows;
        for (std::size_t k = first; k < last; ++k) {
            rows.push_back({edge(k), edge(k + 1), static_cast<double>(counts(k))});
        }
        return rows;
    }

    /// As an OpenTelemetry exponential histogram of scale 0 ... Bins::sub_bits. Scale 0 is exact but for powers of two,
    /// which OpenTelemetry counts in the bucket below. Higher scales have edges inside of bins: a bin goes as a whole to
    /// the bucket of its middle, so a value may be off by one bucket. Large numbers go to the bucket that begins at
    /// 2^max_exponent. Throws configuration_error for another scale.
    [[nodiscard]] exponential_buckets to_exponential(int scale = 0) const {
        if (scale < 0 || scale > static_cast<int>(Bins::sub_bits)) {
            throw configuration_error("these bins convert to exponential buckets of scale 0 to " +
                                      std::to_string(Bins::sub_bits) + ", not " + std::to_string(scale));
        }
        exponential_buckets result;
        result.scale = scale;
        result.zero_threshold = Bins::edge(Bins::zero_bin + 2);
        result.zero_count = cells_[Bins::zero] + cells_[Bins::zero - 1] + cells_[Bins::zero + 1];
        result.positive = exponential_side(scale, +1);
        result.negative = exponential_side(scale, -1);
        return result;
    }

    friend bool operator==(log_histogram const&, log_histogram const&) = default;

private:
    [[nodiscard]] std::uint64_t sum(std::size_t begin, std::size_t end) const {
        std::uint64_t total = 0;
        for (std::size_t i = begin; i < end; ++i) {
            total += cells_[i];
        }
        return total;
    }

    /// The bins [first, last) of [begin, end) without empty ones outside.
    [[nodiscard]] std::pair<std::size_t, std::size_t> occupied(std::size_t begin, std::size_t end) const {
        for (; begin < end && cells_[begin + 1] == 0; ++begin) {
        }
        for (; end > begin && cells_[end] == 0; --end) {
        }
        return {begin, end};
    }

    [[nodiscard]] exponential_range exponential_side(int scale, int sign) const {
        exponential_range side;
        auto const buckets_per_octave = static_cast<double>(1 << scale);
        for (std::size_t k = 0; k <= Bins::magnitudes; ++k) { // the last one holds the large numbers
            auto const n = cells_[sign > 0 ? Bins::zero + 2 + k : Bins::zero - 2 - k];
            if (n == 0) {
                continue;
            }
            auto const step = static_cast<double>(k % Bins::bins_per_octave);
            auto const middle =
                k == Bins::magnitudes ? 1.0 : 1.0 + (step + 0.5) / static_cast<double>(Bins::bins_per_octave);
            auto const octave = Bins::min_exponent + static_cast<std::int32_t>(k / Bins::bins_per_octave);
            auto const bucket =
                octave * (1 << scale) + static_cast<std::int32_t>(std::log2(middle) * buckets_per_octave);
            if (side.counts.empty()) {
                side.offset = bucket;
            }
            side.counts.resize(static_cast<std::size_t>(bucket - side.offset) + 1);
            side.counts.back() += n;
        }
        return side;
    }

    std::vector<std::uint64_t> cells_;
};

} // namespace tally
