// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace digits {

table::table(std::ostream& out, std::vector<column> columns, bool colour)
    : out_{out}, columns_{std::move(columns)}, colour_{colour} {
    for (column& c : columns_) c.width = std::max(c.width, c.title.size());
}

void table::put(std::string const& cell, std::size_t index, bool bold) {
    std::size_t const width = columns_[index].width;
    // Spaces first: the escape sequences have no width of their own.
    std::string text(index > 0 ? 2 : 0, ' ');
    if (cell.size() < width) text.append(width - cell.size(), ' ');
    out_ << text << (bold && colour_ ? "\x1b[1m" : "") << cell << (bold && colour_ ? "\x1b[0m" : "");
}

void table::header() {
    for (std::size_t i = 0; i < columns_.size(); ++i) put(columns_[i].title, i, true);
    out_ << std::endl;
}

void table::row(std::vector<std::string> const& cells, std::size_t emphasised) {
    for (std::size_t i = 0; i < columns_.size(); ++i) put(cells.at(i), i, i == emphasised);
    out_ << std::endl; // a row is shown as soon as it's known, in a pipe too
}

std::string fixed(double value, int decimals) {
    if (std::isnan(value)) return "-";
    char text[400]; // the largest double has 309 digits before the point
    auto const [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, decimals);
    return error == std::errc{} ? std::string(text, end) : "-";
}

} // namespace digits
