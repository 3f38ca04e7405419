// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `report`: the named values of one step (an epoch, as a rule), ready for any sink. It takes whatever has a rule:
// numbers, results, histograms, combined metrics and collections, and types of your own. What it has taken is valid for
// all sinks.
#pragma once

#include <tally/core/bits.hpp>
#include <tally/core/result.hpp>
#include <tally/sink/detail/utf8.hpp>
#include <tally/sink/errors.hpp>
#include <tally/sink/histogram_row.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace tally {

template <class M>
class local;

namespace detail {

template <class T>
inline constexpr bool is_local_v = false;
template <class M>
inline constexpr bool is_local_v<local<M>> = true;

/// Seconds since 1970.
inline double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// "train" and "loss" make "train/loss"; an empty part, or a slash that is there, adds none.
inline std::string join_tags(std::string_view prefix, std::string_view name) {
    std::string tag{prefix};
    if (!tag.empty() && tag.back() != '/' && !name.empty()) {
        tag += '/';
    }
    return tag += name;
}

} // namespace detail

/// The values of one step. Give it to the write of one or several sinks:
///
///     log.write(tally::report{epoch}.add("train", tracker.combine(comm)).add("learning_rate", rate));
///
/// Tags are UTF-8, not empty, and each is used once; what stands before the first slash is the group in TensorBoard.
/// Every add either takes the whole value or throws report_error and leaves the report as it was.
class report {
public:
    /// A double, an integer with all its digits, or why there is none.
    using number = std::variant<double, std::int64_t, std::uint64_t, reason>;
    /// One number for each class, group or column; the tag of element i is tag/<label>i.
    struct series {
        std::string label;
        std::vector<number> values;
    };
    /// Rows of numbers under named columns: a matrix, a curve. `cells` is row-major; row i is called <label>i.
    struct grid {
        std::string label;
        std::vector<std::string> columns;
        std::vector<number> cells;
    };
    using histogram = std::vector<histogram_row>;
    /// Markdown.
    struct text {
        std::string markdown;
    };
    using content = std::variant<number, series, grid, histogram, text>;
    struct entry {
        std::string tag;
        report::content content;
    };

    /// `step` >= 0 counts what the log is drawn over; sinks demand that it increases. `wall_time`: seconds since 1970.
    explicit report(std::int64_t step, double wall_time = detail::wall_clock()) : step_{step}, wall_time_{wall_time} {
        if (step < 0) {
            throw report_error("a report has the step " + std::to_string(step) + ": steps count from 0");
        }
        if (!std::isfinite(wall_time)) {
            throw report_error("the time of a report is not a finite number of seconds");
        }
    }

    /// Adds a value by its rule: report_value(report&, std::string_view tag, T const&), found beside T or in tally.
    template <class T>
    report& add(std::string_view tag, T const& value) {
        static_assert(!detail::is_local_v<T>, "tally: these are the values of one replica only: add what combine(comm) "
                                              "gives, with a self_communicator if there is one replica");
        constexpr bool has_rule = requires(report& page) { report_value(page, tag, value); };
        static_assert(has_rule || detail::is_local_v<T>,
                      "tally: no rule how to report this type: write report_value(tally::report&, std::string_view, T "
                      "const&) beside it, or include <tally/sinks.hpp>");
        if constexpr (has_rule) {
            auto const before = entries_.size();
            auto const absent_before = absent_.size();
            try {
                report_value(*this, tag, value);
            } catch (...) {
                for (auto i = before; i < entries_.size(); ++i) {
                    for (auto const& name : names_of(entries_[i].tag, entries_[i].content)) {
                        tags_.erase(name);
                    }
                }
                entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(before), entries_.end());
                absent_.resize(absent_before);
                throw;
            }
        }
        return *this;
    }

    /// A text, shown as markdown where the sink can.
    report& add_text(std::string_view tag, std::string_view markdown) {
        if (!detail::is_utf8(markdown)) {
            throw report_error("the text " + detail::printable(tag) + " is no UTF-8");
        }
        return put(tag, text{std::string{markdown}});
    }

    /// For rules: one entry. Checks the tag, the rows of a histogram and the shape of a grid.
    report& put(std::string_view tag, report::content value) {
        check_tag(tag);
        if (auto const* const rows = std::get_if<histogram>(&value)) {
            check_rows(tag, *rows);
        }
        if (auto const* const cells = std::get_if<grid>(&value); cells != nullptr) {
            auto const columns = cells->columns.size();
            if (columns == 0 ? !cells->cells.empty() : cells->cells.size() % columns != 0) {
                throw report_error("the table " + detail::printable(tag) + " does not have whole rows");
            }
        }
        auto const names = names_of(tag, value);
        for (auto const& name : names) {
            if (tags_.find(name) != tags_.end()) {
                throw report_error("the tag " + detail::printable(name) + " is used twice in the report of step " +
                                   std::to_string(step_));
            }
        }
        entries_.push_back({std::string{tag}, std::move(value)});
        tags_.insert(names.begin(), names.end());
        return *this;
    }

    /// For rules: values that another replica holds. A sink that writes refuses the report, so that none gets lost.
    report& put_absent(std::string_view tag) {
        absent_.emplace_back(tag);
        return *this;
    }

    [[nodiscard]] std::int64_t step() const { return step_; }
    [[nodiscard]] double wall_time() const { return wall_time_; }
    [[nodiscard]] std::vector<entry> const& entries() const { return entries_; }
    /// Tags whose values are on another replica.
    [[nodiscard]] std::vector<std::string> const& absent() const { return absent_; }

private:
    /// The tags that an entry takes: its own, and those of the elements of a series.
    static std::vector<std::string> names_of(std::string_view tag, report::content const& value) {
        std::vector<std::string> names{std::string{tag}};
        if (auto const* const list = std::get_if<series>(&value)) {
            for (std::size_t i = 0; i < list->values.size(); ++i) {
                names.push_back(detail::join_tags(tag, list->label + std::to_string(i)));
            }
        }
        return names;
    }
    static void check_tag(std::string_view tag) {
        if (tag.empty()) {
            throw report_error("a tag is empty: name the value, or give a prefix to the results of a single metric");
        }
        if (!detail::is_utf8(tag)) {
            throw report_error("the tag " + detail::printable(tag) + " is no UTF-8");
        }
    }
    static void check_rows(std::string_view tag, histogram const& rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto const& row = rows[i];
            bool const ascends = row.left <= row.right && (i == 0 || rows[i - 1].right <= row.left);
            if (!std::isfinite(row.left) || !std::isfinite(row.right) || !ascends) {
                throw report_error("the histogram " + detail::printable(tag) + " has edges in row " +
                                   std::to_string(i) + " that are not finite or don't ascend");
            }
            if (!(row.count >= 0) || !std::isfinite(row.count)) {
                throw report_error("the histogram " + detail::printable(tag) + " has a count in row " +
                                   std::to_string(i) + " that is negative or not finite");
            }
        }
    }

    std::int64_t step_;
    double wall_time_;
    std::vector<entry> entries_;
    std::vector<std::string> absent_;
    std::unordered_set<std::string> tags_;
};

/// Integers keep all their digits; floats are widened to double, which is exact.
template <class T>
    requires std::is_arithmetic_v<T>
report::number to_number(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        return static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<std::int64_t>(value);
    } else {
        return static_cast<std::uint64_t>(value);
    }
}

template <class T>
report::number to_number(result<T> const& value) {
    return value.has_value() ? to_number(value.value()) : report::number{value.why()};
}

/// The number of an entry, rounded to double; NaN where there is none.
inline double to_double(report::number const& value) {
    return std::visit(
        [](auto number) {
            if constexpr (std::is_same_v<decltype(number), reason>) {
                return detail::not_a_number;
            } else {
                return static_cast<double>(number);
            }
        },
        value);
}

/// A number: one entry.
template <class T>
    requires std::is_arithmetic_v<T>
void report_value(report& page, std::string_view tag, T value) {
    page.put(tag, to_number(value));
}

/// A result: the number or the reason, and tag/dropped where samples were dropped.
template <class T>
void report_value(report& page, std::string_view tag, result<T> const& value) {
    page.put(tag, to_number(value));
    if (value.dropped() != 0) {
        page.put(detail::join_tags(tag, "dropped"), to_number(value.dropped()));
    }
}

/// Rows of a histogram. No row at all, or counts of zero only, are legal.
inline void report_value(report& page, std::string_view tag, std::vector<histogram_row> const& rows) {
    page.put(tag, rows);
}
inline void report_value(report& page, std::string_view tag, std::span<histogram_row const> rows) {
    page.put(tag, report::histogram(rows.begin(), rows.end()));
}

} // namespace tally
