// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// One bucket of a histogram, in the form that every sink takes. Whatever has buckets (bins, a gradient monitor, a
// user's own counters) turns them into a list of these.
#pragma once

namespace tally {

/// `count` values in [left, right], or their weight. In a list the rows ascend and don't overlap: right <= next left.
/// Edges are finite and left <= right; equal edges hold values that are all the same. Counts are finite and not
/// negative.
struct histogram_row {
    double left;
    double right;
    double count;

    friend bool operator==(histogram_row const&, histogram_row const&) = default;
};

} // namespace tally
