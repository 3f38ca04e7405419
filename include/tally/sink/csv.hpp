// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// csv: a sink for spreadsheets and data frames. One line a number, with the same columns whatever is reported, so that
// metrics may come and go; lists, tables and histograms take a line an element.
#pragma once

#include <tally/sink/detail/number_text.hpp>
#include <tally/sink/detail/text_log.hpp>
#include <tally/sink/report.hpp>
#include <tally/sink/sink.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tally {

namespace detail {

/// A field: in quotes where RFC 4180 wants them. An end of line becomes \n and a backslash \\, so that a line of the
/// file is always a row.
inline void append_csv_field(std::string& out, std::string_view text) {
    bool const quotes = text.find_first_of(",\"") != std::string_view::npos;
    out += quotes ? "\"" : "";
    for (char const c : text) {
        switch (c) {
        case '"': out += "\"\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        default: out += c;
        }
    }
    out += quotes ? "\"" : "";
}

/// The rows of one value.
struct csv_rows {
    std::string& out;
    std::string const& begin; ///< step and time
    std::string const& tag;

    void operator()(report::number const& value) const { row(tag, value); }
    void operator()(report::series const& series) const {
        for (std::size_t i = 0; i < series.values.size(); ++i) {
            row(join_tags(tag, series.label + std::to_string(i)), series.values[i]);
        }
    }
    void operator()(report::grid const& grid) const {
        for (std::size_t i = 0; i < grid.cells.size(); ++i) {
            auto const row_tag = join_tags(tag, grid.label + std::to_string(i / grid.columns.size()));
            row(join_tags(row_tag, grid.columns[i % grid.columns.size()]), grid.cells[i]);
        }
    }
    void operator()(report::histogram const& rows) const {
        for (auto const& each : rows) {
            out += begin;
            append_csv_field(out, tag);
            out += ',';
            append_number(out, each.count);
            out += ',';
            append_number(out, each.left);
            out += ',';
            append_number(out, each.right);
            out += ",\n";
        }
    }
    void operator()(report::text const& text) const {
        out += begin;
        append_csv_field(out, tag);
        out += ",,,,";
        append_csv_field(out, text.markdown);
        out += '\n';
    }

private:
    void row(std::string_view name, report::number const& value) const {
        out += begin;
        append_csv_field(out, name);
        out += ',';
        append_number(out, value, {"nan", "inf", "-inf", ""});
        out += ",,,";
        if (auto const* const why = std::get_if<reason>(&value)) {
            append_csv_field(out, to_string(*why));
        }
        out += '\n';
    }
};

} // namespace detail

/// A sink. The columns are step, wall_time, tag, value, left, right, text. `value` is empty where a metric has none,
/// and `text` says why; `left` and `right` are the edges of a histogram's row, whose count is the value; `text` is also
/// where texts go. Numbers as in json_lines, besides nan, inf and -inf; a point in every locale. Files as json_lines.
class csv {
public:
    using options = line_options;

    /// Throws sink_error if the file can't be written, another writer has it, or it is there and first_step is not set.
    explicit csv(std::string const& path, options const& with = {}) : log_{path, with, header, header} {}

    /// Writes the report. Throws report_error or sink_error, with nothing written.
    void write(report const& page) {
        std::vector<std::string_view> tags;
        for (auto const& entry : page.entries()) {
            tags.push_back(entry.tag);
        }
        log_.check(page, tags);
        std::string begin;
        detail::append_number(begin, page.step());
        begin += ',';
        detail::append_number(begin, page.wall_time());
        begin += ',';
        lines_.clear();
        for (auto const& entry : page.entries()) {
            std::visit(detail::csv_rows{lines_, begin, entry.tag}, entry.content);
        }
        log_.write(page, tags, lines_);
    }

private:
    static constexpr std::string_view header = "step,wall_time,tag,value,left,right,text\n";

    detail::text_log log_;
    std::string lines_;
};

static_assert(sink<csv>);

} // namespace tally
