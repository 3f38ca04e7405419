// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// prometheus: a sink that keeps the newest value of every tag in one file, in the text format 0.0.4, for the textfile
// collector of node_exporter. Written aside and renamed, so a reader never sees half of it.
#pragma once

#include <tally/sink/detail/number_text.hpp>
#include <tally/sink/detail/output_file.hpp>
#include <tally/sink/detail/step_guard.hpp>
#include <tally/sink/errors.hpp>
#include <tally/sink/report.hpp>
#include <tally/sink/sink.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace tally {

struct prometheus_options {
    /// What the names of all metrics begin with.
    std::string prefix = "tally";
    /// The step of the first report of this process; earlier ones are refused.
    std::optional<std::int64_t> first_step = std::nullopt;
    bool sync = false;
};

namespace detail {

/// A name with what the format does not allow replaced by underscores.
inline std::string prometheus_name(std::string_view prefix, std::string_view tag) {
    std::string name{prefix};
    name += '_';
    name += tag;
    for (auto& c : name) {
        bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        c = letter || (c >= '0' && c <= '9') || c == '_' ? c : '_';
    }
    if (name.front() >= '0' && name.front() <= '9') {
        name.insert(0, "_");
    }
    return name;
}

inline void append_label_value(std::string& out, std::string_view text) {
    for (char const c : text) {
        out += c == '\\' || c == '"' ? "\\" : "";
        out += c == '\n' ? "\\n" : std::string_view{&c, 1};
    }
}

/// All lines of the file, by the name of the metric: a reader wants those of a name together.
class prometheus_page {
public:
    explicit prometheus_page(std::string_view prefix) : prefix_{prefix} {}

    void add(std::string const& tag, report::content const& content) {
        std::visit([&](auto const& value) { take(tag, value); }, content);
    }
    /// A number of the file itself.
    void add_own(std::string_view name, double value) {
        auto& out = family(name, "gauge");
        out += prometheus_name(prefix_, name) + ' ';
        append_number(out, value);
        out += '\n';
    }

    /// The file. Throws report_error where a name has two meanings.
    [[nodiscard]] std::string text() const {
        std::string out;
        for (auto const& [name, found] : families_) {
            if (found.type == "histogram") {
                for (auto const* const part : {"_bucket", "_count", "_sum"}) {
                    if (families_.find(name + part) != families_.end()) {
                        throw_two_meanings(name + part);
                    }
                }
            }
            out += found.type.empty() ? "" : "# TYPE " + name + ' ' + found.type + '\n';
            out += found.lines;
        }
        return out;
    }

private:
    struct metric {
        std::string type;
        std::string lines;
    };

    [[noreturn]] static void throw_two_meanings(std::string const& name) {
        throw report_error("the Prometheus name " + name +
                           " would be that of a histogram and of another value: rename a "
                           "tag");
    }

    std::string& family(std::string_view tag, std::string_view type) {
        auto const name = prometheus_name(prefix_, tag);
        auto& found = families_[name];
        if (found.type.empty()) {
            found.type = type;
        } else if (!type.empty() && found.type != type) {
            throw_two_meanings(name);
        }
        return found.lines;
    }

    /// name{tag="...",more} value
    void sample(std::string const& tag, std::string_view suffix, std::string const& more, report::number const& value) {
        auto& out = families_.at(prometheus_name(prefix_, tag)).lines;
        if (auto const* const why = std::get_if<reason>(&value)) {
            out += "# \"";
            append_label_value(out, tag);
            out += '"' + more + " has no value: " + to_string(*why) + '\n';
        }
        out += prometheus_name(prefix_, tag);
        out += suffix;
        out += "{tag=\"";
        append_label_value(out, tag);
        out += '"' + more + "} ";
        append_number(out, value, {"NaN", "+Inf", "-Inf", "NaN"});
        out += '\n';
    }
    static std::string label(std::string_view name, std::string_view value) {
        std::string out = ",";
        out += name;
        out += "=\"";
        append_label_value(out, value);
        return out += '"';
    }

    void take(std::string const& tag, report::number const& value) {
        family(tag, "gauge");
        sample(tag, "", "", value);
    }
    void take(std::string const& tag, report::series const& series) {
        family(tag, "gauge");
        for (std::size_t i = 0; i < series.values.size(); ++i) {
            sample(tag, "", label("element", series.label + std::to_string(i)), series.values[i]);
        }
    }
    void take(std::string const& tag, report::grid const& grid) {
        family(tag, "gauge");
        for (std::size_t i = 0; i < grid.cells.size(); ++i) {
            auto const row = grid.label + std::to_string(i / grid.columns.size());
            sample(tag, "", label("row", row) + label("column", grid.columns[i % grid.columns.size()]), grid.cells[i]);
        }
    }
    /// Counts up to each edge. No _sum: it isn't known, and with negative values the format has none.
    void take(std::string const& tag, report::histogram const& rows) {
        family(tag, "histogram");
        double below = 0;
        std::optional<double> edge;
        auto const up_to = [&](double next) {
            if (edge && *edge != next) { // several rows may end at one edge; the last one has the whole count
                std::string text;
                append_number(text, *edge);
                sample(tag, "_bucket", label("le", text), below);
            }
            edge = next;
        };
        for (auto const& row : rows) {
            up_to(row.left);
            up_to(row.right);
            below += row.count;
        }
        up_to(std::numeric_limits<double>::infinity());
        sample(tag, "_bucket", label("le", "+Inf"), below);
        sample(tag, "_count", "", below);
    }
    void take(std::string const& tag, report::text const& text) {
        auto& out = family(tag, "");
        out += "# \"";
        append_label_value(out, tag);
        out += "\" is a text of " + std::to_string(text.markdown.size()) + " bytes, which has no place here\n";
    }

    std::string prefix_;
    std::map<std::string, metric> families_;
};

} // namespace detail

/// A sink. The tag "train/loss" becomes tally_train_loss{tag="train/loss"}, a gauge; elements of lists have a label
/// element, cells of tables row and column; histograms are cumulative buckets with le, whose upper edges Prometheus
/// takes as inclusive. tally_step and tally_wall_time are of the newest report. No value is NaN, with the reason in a
/// comment; texts are only mentioned. Tags keep their last value until the sink is destroyed. Each write costs the
/// whole file.
class prometheus {
public:
    using options = prometheus_options;

    /// node_exporter reads names that end in .prom. The file is made by the first write, and replaced if it is there.
    explicit prometheus(std::string path, options with = {})
        : path_{std::move(path)}, options_{std::move(with)}, steps_{options_.first_step.value_or(0)} {}

    /// Replaces the file. Throws report_error or sink_error, with the file as it was.
    void write(report const& page) {
        std::vector<std::string_view> tags;
        auto newest = newest_;
        for (auto const& entry : page.entries()) {
            tags.push_back(entry.tag);
            newest.insert_or_assign(entry.tag, entry.content);
        }
        steps_.check(page, tags);
        detail::prometheus_page out{options_.prefix};
        out.add_own("step", static_cast<double>(page.step()));
        out.add_own("wall_time", page.wall_time());
        for (auto const& [tag, content] : newest) {
            out.add(tag, content);
        }
        replace_file(out.text());
        newest_ = std::move(newest);
        steps_.commit(page, tags);
    }

private:
    void replace_file(std::string const& text) const {
        auto const aside = path_ + ".partial";
        std::error_code failed;
        try {
            detail::output_file file{aside, "wb"};
            file.write(text, options_.sync);
        } catch (...) {
            std::filesystem::remove(aside, failed);
            throw;
        }
        std::filesystem::rename(aside, path_, failed);
        if (failed) {
            auto const reason = failed.value();
            std::filesystem::remove(aside, failed);
            detail::throw_sink_error("cannot write to", path_, reason);
        }
    }

    std::string path_;
    options options_;
    detail::step_guard steps_;
    std::map<std::string, report::content> newest_;
};

static_assert(sink<prometheus>);

} // namespace tally
