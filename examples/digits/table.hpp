// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Plain-text tables that are printed row by row, so columns have a width from the start: that of the title, or more if
// asked for. A wider cell widens its own row and is never cut.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace digits {

struct column {
    std::string title;
    std::size_t width = 0; ///< at least; the title's length counts too
};

/// Cells are right-aligned, two spaces apart. With `colour`, the header and emphasised cells are bold.
class table {
public:
    table(std::ostream& out, std::vector<column> columns, bool colour);

    void header();

    /// One cell per column; `emphasised` is the index of a cell to set off, or none if it's past the end.
    void row(std::vector<std::string> const& cells, std::size_t emphasised = static_cast<std::size_t>(-1));

private:
    void put(std::string const& cell, std::size_t index, bool bold);

    std::ostream& out_;
    std::vector<column> columns_;
    bool colour_;
};

/// `value` with that many digits after the point, independent of locale; "-" for NaN.
std::string fixed(double value, int decimals);

} // namespace digits
