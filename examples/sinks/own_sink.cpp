// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A sink and a rule of your own: a line on the console for each number, and a value of your own type in a report.
#include <tally/sinks.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <variant>

namespace app {

// listing-begin
struct interval {
    double middle;
    double radius;
};

/// The rule how an interval is reported, found because it stands beside the type.
void report_value(tally::report& page, std::string_view tag, interval const& value) {
    page.put(tag, value.middle);
    page.put(std::string{tag} + "/radius", value.radius);
}

/// Anything with such a write is a sink.
struct console {
    int lines = 0;

    void write(tally::report const& page) {
        for (auto const& entry : page.entries()) {
            if (auto const* const number = std::get_if<tally::report::number>(&entry.content)) {
                double const shown = tally::to_double(*number);
                std::printf("%4d  %-20s %g\n", static_cast<int>(page.step()), entry.tag.c_str(), shown);
            } else {
                std::printf("%4d  %-20s (no single number)\n", static_cast<int>(page.step()), entry.tag.c_str());
            }
            ++lines;
        }
    }
};
static_assert(tally::sink<console>);
// listing-end

} // namespace app

int main() {
    app::console log;
    log.write(tally::report{1}.add("delay", app::interval{0.5, 0.125}).add("loss", 0.25).add_text("note", "all well"));
    return log.lines == 4 ? 0 : 1;
}
