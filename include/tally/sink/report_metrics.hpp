// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules of reports for what metrics give: combined metrics and collections, brackets, lists of classes and groups,
// confusion matrices, curves, diagrams, histograms. Whatever a value counts beside itself gets an entry where it isn't
// 0.
#pragma once

#include <tally/layout/grouped.hpp>
#include <tally/metric/auroc.hpp>
#include <tally/metric/average_precision.hpp>
#include <tally/metric/binned_scores.hpp>
#include <tally/metric/bracketed.hpp>
#include <tally/metric/calibration_error.hpp>
#include <tally/metric/confusion_matrix.hpp>
#include <tally/metric/extremes.hpp>
#include <tally/metric/histogram.hpp>
#include <tally/results.hpp>
#include <tally/sink/report.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally {

namespace detail {

inline void report_count(report& page, std::string_view tag, std::string_view what, std::uint64_t count) {
    if (count != 0) {
        page.put(join_tags(tag, what), to_number(count));
    }
}

template <class T>
inline constexpr bool is_result_v = requires(T const& value) { []<class U>(result<U> const&) {}(value); };

} // namespace detail

/// The value, tag/lower and tag/upper.
inline void report_value(report& page, std::string_view tag, bracketed const& value) {
    report_value(page, tag, static_cast<result<double> const&>(value));
    if (value.has_value()) {
        page.put(detail::join_tags(tag, "lower"), value.lower());
        page.put(detail::join_tags(tag, "upper"), value.upper());
    }
}

/// One result a class: a series with the elements tag/class_0, tag/class_1, ...
template <class T>
    requires detail::is_result_v<T>
void report_value(report& page, std::string_view tag, std::vector<T> const& values) {
    report::series classes{"class_", {}};
    report::series lower{"class_", {}};
    report::series upper{"class_", {}};
    std::uint64_t dropped = 0;
    for (auto const& value : values) {
        classes.values.push_back(to_number(value));
        dropped = value.dropped() > dropped ? value.dropped() : dropped; // every class of a metric says the same number
        if constexpr (std::is_same_v<T, bracketed>) {
            lower.values.push_back(value.has_value() ? report::number{value.lower()} : value.why());
            upper.values.push_back(value.has_value() ? report::number{value.upper()} : value.why());
        }
    }
    page.put(tag, std::move(classes));
    if constexpr (std::is_same_v<T, bracketed>) {
        page.put(detail::join_tags(tag, "lower"), std::move(lower));
        page.put(detail::join_tags(tag, "upper"), std::move(upper));
    }
    detail::report_count(page, tag, "dropped", dropped);
}

/// Groups or columns: a series with the elements tag/0, tag/1, ..., or by their own rule if they are no single numbers.
template <class Value>
void report_value(report& page, std::string_view tag, grouped_values<Value> const& groups) {
    if constexpr (detail::is_result_v<Value> && !std::is_same_v<Value, bracketed>) {
        report::series numbers{"", {}};
        report::series dropped{"", {}};
        bool any_dropped = false;
        for (auto const& value : groups.values) {
            numbers.values.push_back(to_number(value));
            dropped.values.push_back(to_number(value.dropped()));
            any_dropped = any_dropped || value.dropped() != 0;
        }
        page.put(tag, std::move(numbers));
        if (any_dropped) {
            page.put(detail::join_tags(tag, "dropped"), std::move(dropped));
        }
    } else {
        for (std::size_t i = 0; i < groups.size(); ++i) {
            report_value(page, detail::join_tags(tag, std::to_string(i)), groups[i]);
        }
    }
    detail::report_count(page, tag, "outside", groups.outside);
}

/// tag/value and tag/position.
template <class T>
void report_value(report& page, std::string_view tag, value_at<T> const& found) {
    report_value(page, detail::join_tags(tag, "value"), found.value);
    report_value(page, detail::join_tags(tag, "position"), found.position);
}

/// Rows of the bins; tag/below, tag/above and tag/nans where they aren't 0. An outermost bin that is empty and has no
/// bound, as those of logarithmic_bins, is left out: a row that ends at the largest double would be all that a picture
/// shows.
template <class Number>
void report_value(report& page, std::string_view tag, histogram_values<Number> const& values) {
    constexpr double largest = std::numeric_limits<double>::max();
    std::size_t first = 0;
    std::size_t last = values.counts.size();
    if (last > 1 && values.edges[last] == largest && values.counts[last - 1] == Number{}) {
        --last;
    }
    if (last > 1 && values.edges[0] == -largest && values.counts[0] == Number{}) {
        ++first;
    }
    report::histogram rows;
    rows.reserve(last - first);
    for (std::size_t b = first; b < last; ++b) {
        rows.push_back({values.edges[b], values.edges[b + 1], static_cast<double>(values.counts[b])});
    }
    page.put(tag, std::move(rows));
    if (values.below != Number{}) {
        page.put(detail::join_tags(tag, "below"), to_number(values.below));
    }
    if (values.above != Number{}) {
        page.put(detail::join_tags(tag, "above"), to_number(values.above));
    }
    detail::report_count(page, tag, "nans", values.nans);
}

/// A grid: row true_i, column predicted_j; tag/outside and tag/ignored where they aren't 0.
template <class Number>
void report_value(report& page, std::string_view tag, confusion<Number> const& matrix) {
    report::grid cells{"true_", {}, {}};
    for (std::size_t k = 0; k < matrix.size(); ++k) {
        cells.columns.push_back("predicted_" + std::to_string(k));
    }
    cells.cells.reserve(matrix.cells().size());
    for (auto const& cell : matrix.cells()) {
        cells.cells.push_back(to_number(cell));
    }
    page.put(tag, std::move(cells));
    detail::report_count(page, tag, "outside", matrix.outside());
    detail::report_count(page, tag, "ignored", matrix.ignored());
}

/// A grid: one row a bin.
inline void report_value(report& page, std::string_view tag, reliability const& diagram) {
    report::grid bins{"bin_", {"lower", "upper", "samples", "confidence", "rate"}, {}};
    for (auto const& bin : diagram.bins) {
        bins.cells.insert(bins.cells.end(),
                          {bin.lower, bin.upper, bin.samples, to_number(bin.confidence), to_number(bin.rate)});
    }
    page.put(tag, std::move(bins));
    detail::report_count(page, tag, "dropped", diagram.dropped);
}

namespace detail {

inline report::grid grid_of(std::vector<roc_point> const& points) {
    report::grid rows{"point_", {"threshold", "false_positive_rate", "true_positive_rate"}, {}};
    for (auto const& p : points) {
        rows.cells.insert(rows.cells.end(), {p.threshold, p.false_positive_rate, p.true_positive_rate});
    }
    return rows;
}
inline report::grid grid_of(std::vector<precision_recall_point> const& points) {
    report::grid rows{"point_", {"threshold", "precision", "recall"}, {}};
    for (auto const& p : points) {
        rows.cells.insert(rows.cells.end(), {p.threshold, p.precision, p.recall});
    }
    return rows;
}

} // namespace detail

/// A grid of the points, or the reason why there are none.
template <class Point>
void report_value(report& page, std::string_view tag, curve<Point> const& values) {
    if (values.why != reason::none) {
        page.put(tag, report::number{values.why});
    } else {
        page.put(tag, detail::grid_of(values.points));
    }
    detail::report_count(page, tag, "dropped", values.dropped);
}

/// Every metric as tag/name, a single metric as tag; an empty tag adds nothing to the names. Besides,
/// tag/samples/taken, and tag/samples/masked and tag/samples/weights_lost where they aren't 0.
template <class M>
void report_value(report& page, std::string_view tag, combined<M> const& results) {
    results.for_each([&](std::string_view name, auto const& value) { page.add(detail::join_tags(tag, name), value); });
    auto const samples = detail::join_tags(tag, "samples");
    page.put(detail::join_tags(samples, "taken"), to_number(results.samples()));
    detail::report_count(page, samples, "masked", results.masked());
    detail::report_count(page, samples, "weights_lost", results.weights_lost());
}

/// What combine_to gives: the results, or nothing on a replica that isn't the root and so doesn't write.
template <class M>
void report_value(report& page, std::string_view tag, std::optional<combined<M>> const& results) {
    if (results) {
        report_value(page, tag, *results);
    } else {
        page.put_absent(tag);
    }
}

} // namespace tally
