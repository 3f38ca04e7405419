// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A one-line progress bar for terminals. Where output isn't a terminal nothing is drawn: the rows of the table, printed
// as the epochs go, are the plain lines that a log needs.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace digits {

/// What an output can show. NO_COLOR (set and not empty) turns colours off, TERM=dumb all control sequences.
struct terminal {
    bool interactive = false;
    bool colour = false;

    static terminal of(int descriptor);
};

/// The text of the bar, at most `width` characters of plain ASCII: "epoch  3/15 [=====>      ] batch 12/23".
/// On narrow terminals the bar goes first and then the end of the text.
std::string progress_text(int epoch, int epochs, std::size_t batch, std::size_t batches, std::size_t width);

class progress {
public:
    /// Draws on standard error, which stays free of results.
    progress(int epochs, std::size_t batches);
    ~progress() { clear(); }
    progress(progress const&) = delete;
    progress& operator=(progress const&) = delete;

    /// Redraws, at most about 20 times a second so that drawing costs nothing. Both count from 1.
    void show(int epoch, std::size_t batch);

    /// Takes the bar off the screen; call before printing anything else.
    void clear();

private:
    using clock = std::chrono::steady_clock;

    terminal terminal_;
    int epochs_;
    std::size_t batches_;
    bool visible_ = false;
    clock::time_point next_draw_{};
};

} // namespace digits
