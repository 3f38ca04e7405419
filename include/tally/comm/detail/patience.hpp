// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How a communicator waits for what it can only poll: by yielding at first, since replicas mostly come at about the same
// time, and later by naps that are short against the time already waited.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace tally::detail {

/// One wait of at most `limit`, counted from construction; more than a year counts as a year.
class patience {
public:
    using clock = std::chrono::steady_clock;

    explicit patience(std::chrono::milliseconds limit)
        : begin_(clock::now()), // a far limit would overflow the clock's nanoseconds
          end_(begin_ + std::min<std::chrono::milliseconds>(limit, std::chrono::hours{24 * 365})) {}

    /// Lets others run for a moment; false once the time is over.
    bool pause() {
        auto const now = clock::now();
        if (now >= end_) {
            return false;
        }
        auto const waited = now - begin_;
        resting_ = waited >= yielding;
        if (resting_) {
            // At most a twentieth more than without naps, and at most a millisecond.
            std::this_thread::sleep_for(std::min<clock::duration>(waited / 20, std::chrono::milliseconds{1}));
        } else {
            std::this_thread::yield();
        }
        return true;
    }

    /// Whether the wait has become a long one, so that rarer events are worth a look at every pause.
    [[nodiscard]] bool resting() const noexcept { return resting_; }

private:
    static constexpr std::chrono::milliseconds yielding{2};

    clock::time_point begin_;
    clock::time_point end_;
    bool resting_ = false;
};

} // namespace tally::detail
