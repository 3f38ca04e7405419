// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include "progress.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace digits {

namespace {

std::string_view environment(char const* name) {
    char const* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

// Asked anew for each drawing: a window may be resized.
std::size_t terminal_width(int descriptor) {
    winsize size{};
    bool const known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

std::string padded(std::size_t number, std::size_t largest) {
    std::string text = std::to_string(number);
    std::size_t const width = std::to_string(largest).size();
    return std::string(width - std::min(width, text.size()), ' ') + text + "/" + std::to_string(largest);
}

void write_to_stderr(std::string const& text) {
    // Progress is a courtesy: where it can't be written the work goes on.
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

} // namespace

terminal terminal::of(int descriptor) {
    terminal result;
    result.interactive = isatty(descriptor) != 0 && environment("TERM") != "dumb";
    result.colour = result.interactive && environment("NO_COLOR").empty();
    return result;
}

std::string progress_text(int epoch, int epochs, std::size_t batch, std::size_t batches, std::size_t width) {
    constexpr std::size_t longest_bar = 40;
    constexpr std::size_t shortest_bar = 5;
    std::string const left = "epoch " + padded(static_cast<std::size_t>(epoch), static_cast<std::size_t>(epochs));
    std::string const right = "batch " + padded(batch, batches);
    std::size_t const fixed_part = left.size() + right.size() + 4; // brackets and spaces
    std::string text;
    if (width >= fixed_part + shortest_bar) {
        std::size_t const bar = std::min(longest_bar, width - fixed_part);
        std::size_t const filled = batches == 0 ? bar : std::min(bar, bar * batch / batches);
        std::string inside(filled, '=');
        if (filled < bar) inside += '>';
        inside.resize(bar, ' ');
        text = left + " [" + inside + "] " + right;
    } else {
        text = left + " " + right;
    }
    return text.substr(0, width);
}

progress::progress(int epochs, std::size_t batches)
    : terminal_{terminal::of(STDERR_FILENO)}, epochs_{epochs}, batches_{batches} {}

void progress::show(int epoch, std::size_t batch) {
    if (!terminal_.interactive) return;
    auto const now = clock::now();
    if (now < next_draw_) return;
    next_draw_ = now + std::chrono::milliseconds{50};
    // One column stays free: writing into the last one makes some terminals wrap.
    std::string const text = progress_text(epoch, epochs_, batch, batches_, terminal_width(STDERR_FILENO) - 1);
    write_to_stderr("\r" + (terminal_.colour ? "\x1b[32m" + text + "\x1b[0m" : text) + "\x1b[K");
    visible_ = true;
}

void progress::clear() {
    if (!visible_) return;
    write_to_stderr("\r\x1b[K");
    visible_ = false;
}

} // namespace digits
