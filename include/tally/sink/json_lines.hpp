// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// json_lines: a sink that loses nothing. One JSON object a line for each value: doubles with the digits that read back
// as the same double, integers with all of theirs. Read it with jq, or pandas.read_json(path, lines=True).
#pragma once

#include <tally/sink/detail/number_text.hpp>
#include <tally/sink/detail/text_log.hpp>
#include <tally/sink/report.hpp>
#include <tally/sink/sink.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tally {

namespace detail {

/// Text in quotes, as RFC 8259 has it; UTF-8 stays as it is.
inline void append_json_string(std::string& out, std::string_view text) {
    constexpr char const* hex = "0123456789abcdef";
    out += '"';
    for (char const c : text) {
        auto const byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (byte < 0x20 || byte == 0x7f) {
            out += "\\u00";
            out += hex[byte >> 4U];
            out += hex[byte & 15U];
        } else {
            out += c;
        }
    }
    out += '"';
}

/// What a value adds to its line, after the tag.
struct json_value {
    std::string& out;

    void number(report::number const& value) const { append_number(out, value, {"null", "null", "null", "null"}); }

    void operator()(report::number const& value) const {
        out += ",\"value\":";
        number(value);
        if (auto const why = why_no_digits(value); !why.empty()) {
            out += ",\"reason\":";
            append_json_string(out, why);
        }
    }
    void operator()(report::series const& series) const {
        out += ",\"label\":";
        append_json_string(out, series.label);
        out += ",\"values\":";
        list(series.values, 0, series.values.size());
        reasons(series.values);
    }
    void operator()(report::grid const& grid) const {
        out += ",\"label\":";
        append_json_string(out, grid.label);
        out += ",\"columns\":[";
        for (std::size_t c = 0; c < grid.columns.size(); ++c) {
            out += c == 0 ? "" : ",";
            append_json_string(out, grid.columns[c]);
        }
        out += "],\"rows\":[";
        for (std::size_t i = 0; i < grid.cells.size(); i += grid.columns.size()) {
            out += i == 0 ? "" : ",";
            list(grid.cells, i, grid.columns.size());
        }
        out += ']';
        reasons(grid.cells);
    }
    void operator()(report::histogram const& rows) const {
        out += ",\"histogram\":[";
        for (std::size_t i = 0; i < rows.size(); ++i) {
            out += i == 0 ? "[" : ",[";
            append_number(out, rows[i].left);
            out += ',';
            append_number(out, rows[i].right);
            out += ',';
            append_number(out, rows[i].count);
            out += ']';
        }
        out += ']';
    }
    void operator()(report::text const& text) const {
        out += ",\"text\":";
        append_json_string(out, text.markdown);
    }

private:
    void list(std::vector<report::number> const& values, std::size_t begin, std::size_t count) const {
        out += '[';
        for (std::size_t i = 0; i < count; ++i) {
            out += i == 0 ? "" : ",";
            number(values[begin + i]);
        }
        out += ']';
    }
    /// Why elements are null, by their index; of a grid in row-major order.
    void reasons(std::vector<report::number> const& values) const {
        bool any = false;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (auto const why = why_no_digits(values[i]); !why.empty()) {
                out += any ? ",\"" : ",\"reasons\":{\"";
                append_number(out, i);
                out += "\":";
                append_json_string(out, why);
                any = true;
            }
        }
        out += any ? "}" : "";
    }
};

} // namespace detail

/// A sink. Lines are {"step":3,"wall_time":...,"tag":"train/loss", ...} and then, by the kind of value,
///
///     "value":0.25                          a number; null and "reason":"no samples" where there is none
///     "label":"class_","values":[...]       a list; nulls have their reason in "reasons":{"2":"absent class"}
///     "label":"true_","columns":[...],"rows":[[...]]   a table
///     "histogram":[[left,right,count],...]  with the empty rows
///     "text":"..."                          markdown
///
/// JSON has no NaN and infinity: they are null with the reason "NaN", "infinity", "-infinity". A report is written and
/// flushed at once. A later process goes on with the file if options say so; a torn last line is removed first.
class json_lines {
public:
    using options = line_options;

    /// Throws sink_error if the file can't be written, another writer has it, or it is there and first_step is not set.
    explicit json_lines(std::string const& path, options const& with = {}) : log_{path, with, "{\"step\":", ""} {}

    /// Writes the report. Throws report_error or sink_error, with nothing written.
    void write(report const& page) {
        std::vector<std::string_view> tags;
        for (auto const& entry : page.entries()) {
            tags.push_back(entry.tag);
        }
        log_.check(page, tags);
        lines_.clear();
        for (auto const& entry : page.entries()) {
            lines_ += "{\"step\":";
            detail::append_number(lines_, page.step());
            lines_ += ",\"wall_time\":";
            detail::append_number(lines_, page.wall_time());
            lines_ += ",\"tag\":";
            detail::append_json_string(lines_, entry.tag);
            std::visit(detail::json_value{lines_}, entry.content);
            lines_ += "}\n";
        }
        log_.write(page, tags, lines_);
    }

private:
    detail::text_log log_;
    std::string lines_;
};

static_assert(sink<json_lines>);

} // namespace tally
