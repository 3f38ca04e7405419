// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The rule of every sink: the steps of a tag increase, and none is below the first step of this life of the process.
#pragma once

#include <tally/sink/errors.hpp>
#include <tally/sink/report.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tally::detail {

/// Remembers the last step of each tag that was written: about 80 bytes a tag. O(tags log tags) a report.
class step_guard {
public:
    explicit step_guard(std::int64_t first_step) : first_step_{first_step} {
        if (first_step < 0) {
            throw report_error("the first step is " + std::to_string(first_step) + ": steps count from 0");
        }
    }

    /// Throws report_error unless all of the page may be written under these tags.
    void check(report const& page, std::vector<std::string_view> tags) const {
        auto const step = std::to_string(page.step());
        if (!page.absent().empty()) {
            throw report_error("the report of step " + step + " lacks the values of " +
                               printable(page.absent().front()) +
                               ": combine_to must send them to the replica that writes, which is replica 0");
        }
        if (page.step() < first_step_) {
            throw report_error("a report has the step " + step + ", but this log was opened to go on at step " +
                               std::to_string(first_step_));
        }
        std::sort(tags.begin(), tags.end());
        if (auto const twice = std::adjacent_find(tags.begin(), tags.end()); twice != tags.end()) {
            throw report_error("two values of the report of step " + step + " would be written under the tag " +
                               printable(*twice));
        }
        for (auto const tag : tags) {
            auto const last = last_.find(tag);
            if (last != last_.end() && last->second >= page.step()) {
                throw report_error("the tag " + printable(tag) + " was written at step " +
                                   std::to_string(last->second) + " and can't be written at step " + step +
                                   ": the steps of a tag must increase");
            }
        }
    }

    /// After the page has been written.
    void commit(report const& page, std::vector<std::string_view> const& tags) {
        for (auto const tag : tags) {
            last_.insert_or_assign(std::string{tag}, page.step());
        }
    }

    [[nodiscard]] bool knows(std::string_view tag) const { return last_.find(tag) != last_.end(); }
    [[nodiscard]] std::int64_t first_step() const { return first_step_; }

private:
    std::int64_t first_step_;
    std::map<std::string, std::int64_t, std::less<>> last_;
};

} // namespace tally::detail
