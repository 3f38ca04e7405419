// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What of a report TensorBoard can show, and how: numbers as scalars, rows as histograms, tables as markdown. Whatever
// it can't show as it is (no value, beyond float32, too many elements) is said in a text of its own, tally/notes.
#pragma once

#include <tally/core/result.hpp>
#include <tally/sink/detail/number_text.hpp>
#include <tally/sink/histogram_row.hpp>
#include <tally/sink/report.hpp>
#include <tally/sink/tensorboard/event.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tally::tensorboard {

/// How scalars are encoded. Both are shown alike; some scripts look at simple_value only.
enum class scalar_form {
    tensor,      ///< TensorFlow 2
    simple_value ///< TensorFlow 1
};

/// From how many elements on a list or a table is shown in another way, since a page has room for so many.
struct display_limits {
    std::size_t series = 32;  ///< longer lists (classes, groups) become a histogram of their values
    std::size_t cells = 2500; ///< larger tables are left to the other sinks, with a note
};

namespace detail {

/// Equal bins over the range of the finite numbers, the last one closed, as TensorBoard's own writer makes them.
inline std::vector<histogram_row> rows_of(std::vector<double> const& numbers) {
    if (numbers.empty()) {
        return {};
    }
    auto const [least, most] = std::minmax_element(numbers.begin(), numbers.end());
    if (*least == *most) {
        return {{*least, *most, static_cast<double>(numbers.size())}};
    }
    constexpr std::size_t bins = 30;
    double const width = *most / bins - *least / bins; // the range itself may overflow
    std::vector<histogram_row> rows;
    for (std::size_t b = 0; b < bins; ++b) {
        double const left = b == 0 ? *least : rows.back().right;
        double const right =
            b + 1 == bins ? *most : std::clamp(*least + width * static_cast<double>(b + 1), left, *most);
        rows.push_back({left, right, 0});
    }
    for (double const x : numbers) {
        auto const above = std::upper_bound(rows.begin(), rows.end() - 1, x,
                                            [](double value, histogram_row const& row) { return value < row.right; });
        above->count += 1;
    }
    return rows;
}

/// Without the empty rows at both ends: the page stretches its axis over them.
inline std::span<histogram_row const> without_empty_ends(std::span<histogram_row const> rows) {
    while (!rows.empty() && rows.front().count == 0) {
        rows = rows.subspan(1);
    }
    while (!rows.empty() && rows.back().count == 0) {
        rows = rows.first(rows.size() - 1);
    }
    return rows;
}

inline std::string markdown_table(report::grid const& grid) {
    std::string out = "| |";
    for (auto const& column : grid.columns) {
        out += ' ' + column + " |";
    }
    out += "\n|---|";
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
        out += "---:|";
    }
    for (std::size_t i = 0; i < grid.cells.size(); ++i) {
        if (i % grid.columns.size() == 0) {
            out += "\n| " + grid.label + std::to_string(i / grid.columns.size()) + " |";
        }
        out += ' ';
        tally::detail::append_number(out, grid.cells[i], {"NaN", "infinity", "-infinity", "-"});
        out += " |";
    }
    return out += '\n';
}

} // namespace detail

/// The values of one report as TensorBoard is to show them. Refers to the report.
class summary_plan {
public:
    summary_plan(report const& page, display_limits limits) : limits_{limits} {
        for (auto const& entry : page.entries()) {
            std::visit([&](auto const& content) { take(entry.tag, content); }, entry.content);
        }
        if (!notes_.empty()) {
            values_.push_back({"tally/notes", std::move(notes_)});
        }
    }

    [[nodiscard]] std::vector<std::string_view> tags() const {
        std::vector<std::string_view> all;
        for (auto const& value : values_) {
            all.push_back(value.tag);
        }
        return all;
    }

    /// Calls add(message) with each Summary.Value. `first(tag)`: whether the tag is new to the file.
    template <class First, class Add>
    void encode(scalar_form form, First first, Add add) const {
        for (auto const& value : values_) {
            auto const& tag = value.tag;
            if (auto const* const number = std::get_if<float>(&value.shown)) {
                add(form == scalar_form::tensor ? scalar_value(tag, *number, first(tag)) : simple_value(tag, *number));
            } else if (auto const* const rows = std::get_if<std::span<histogram_row const>>(&value.shown)) {
                add(histogram_value(tag, *rows, first(tag)));
            } else {
                add(text_value(tag, std::get<std::string>(value.shown), first(tag)));
            }
        }
    }

private:
    struct planned {
        std::string tag;
        std::variant<float, std::span<histogram_row const>, std::string> shown;
    };

    void note(std::string_view tag, std::string_view what) {
        notes_ += "- `";
        notes_ += tag;
        notes_ += "` ";
        notes_ += what;
        notes_ += '\n';
    }

    void take(std::string const& tag, report::number const& number) {
        if (auto const* const why = std::get_if<reason>(&number)) {
            note(tag, std::string{"has no value: "} + to_string(*why));
        }
        double const exact = tally::to_double(number);
        constexpr double largest = std::numeric_limits<float>::max();
        float shown = 0;
        if (std::isfinite(exact) && std::fabs(exact) > largest) {
            shown = std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(exact > 0 ? 1 : -1));
        } else {
            shown = static_cast<float>(exact);
        }
        if (std::isfinite(exact) && (!std::isfinite(shown) || (shown == 0 && exact != 0))) {
            std::string what = "is ";
            tally::detail::append_number(what, exact);
            note(tag, what + ", which is beyond the range of float32");
        }
        values_.push_back({tag, shown});
    }

    void take(std::string const& tag, report::series const& series) {
        if (series.values.size() <= limits_.series) {
            for (std::size_t i = 0; i < series.values.size(); ++i) {
                take(tally::detail::join_tags(tag, series.label + std::to_string(i)), series.values[i]);
            }
            return;
        }
        std::vector<double> numbers;
        for (auto const& number : series.values) {
            if (auto const x = tally::to_double(number); std::isfinite(x)) {
                numbers.push_back(x);
            }
        }
        if (auto const without = series.values.size() - numbers.size(); without != 0) {
            note(tag, "lacks " + std::to_string(without) + " of " + std::to_string(series.values.size()) +
                          " elements, which have no finite value");
        }
        rows_.push_back(detail::rows_of(numbers));
        values_.push_back({tag, detail::without_empty_ends(rows_.back())});
    }

    void take(std::string const& tag, report::grid const& grid) {
        if (grid.cells.size() > limits_.cells) {
            note(tag, "is a table of " + std::to_string(grid.cells.size()) + " cells, too large to be shown here");
            return;
        }
        values_.push_back({tag, detail::markdown_table(grid)});
    }

    void take(std::string const& tag, report::histogram const& rows) {
        values_.push_back({tag, detail::without_empty_ends(rows)});
    }

    void take(std::string const& tag, report::text const& text) { values_.push_back({tag, text.markdown}); }

    display_limits limits_;
    std::vector<planned> values_;
    std::deque<std::vector<histogram_row>> rows_; // made here; they must not move
    std::string notes_;
};

} // namespace tally::tensorboard
