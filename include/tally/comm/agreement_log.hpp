// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Remembers which layout hashes the replicas of one communicator have already found equal. Part of every model of
// `communicator`: layouts are compared in detail once per communicator and type; later messages carry one word of them.
// All replicas insert the same hashes in the same order, hence they all skip, or all make, the comparison.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally {

/// Set of 64-bit layout hashes. `contains` is O(log n) and never allocates; `insert` may allocate.
/// Like the communicator that owns it, a log is used by one thread.
class agreement_log {
public:
    /// Whether the replicas have agreed on `hash` before.
    [[nodiscard]] bool contains(std::uint64_t hash) const noexcept {
        return std::binary_search(hashes_.begin(), hashes_.end(), hash);
    }

    /// Records an agreement. Inserting the same hash again changes nothing.
    void insert(std::uint64_t hash) {
        auto const place = std::lower_bound(hashes_.begin(), hashes_.end(), hash);
        if (place == hashes_.end() || *place != hash) {
            hashes_.insert(place, hash);
        }
    }

    /// Number of different hashes recorded.
    [[nodiscard]] std::size_t size() const noexcept { return hashes_.size(); }

private:
    std::vector<std::uint64_t> hashes_; // sorted: a handful of types, read far more often than written
};

} // namespace tally
