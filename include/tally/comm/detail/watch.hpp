// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `watch`: how replicas that share nothing but messages learn that one of them has given up, and find out who is missing.
// Costs no message as long as all goes well.
#pragma once

#include <tally/comm/detail/patience.hpp>
#include <tally/core/errors.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally::detail {

enum class note_kind : std::int32_t {
    roll_call, // the sender's deadline has passed: who is there?
    here,      // the answer
    gave_up    // the sender has given up for the whole group; the text says why
};

/// A note as it arrives.
struct note {
    note_kind what;
    int source;
    std::string text;
};

/// The verdict of one replica on its group: fine, or failed for a reason, which then stays. `Notes` sends and receives:
/// `send(rank, kind, text)` and `flush(limit)` never wait for a receiver, `receive()` returns an optional note.
template <class Notes>
class watch {
public:
    using milliseconds = std::chrono::milliseconds;

    watch(Notes notes, int rank, int size) : notes_(std::move(notes)), rank_(rank), size_(size) {}

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] Notes& notes() noexcept { return notes_; }
    [[nodiscard]] bool failed() const noexcept { return failed_; }

    void throw_if_failed() const {
        if (failed_) {
            throw replica_lost(failure_);
        }
    }

    /// Gives up for the whole group; the first reason stays.
    void give_up(std::string const& reason) {
        if (!failed_) {
            fail(reason);
            tell_all(note_kind::gave_up, reason);
            notes_.flush(milliseconds{50});
        }
    }

    /// Throws replica_lost if another replica has given up or is calling the roll. Who calls the roll soon says who is
    /// missing; `deadline` (of a collective) tells how long that may take.
    void look(milliseconds deadline) {
        while (auto const first = notes_.receive()) {
            if (first->what == note_kind::here) {
                continue; // an answer that came too late
            }
            auto reason = first->text;
            auto told = first->what == note_kind::gave_up;
            if (!told) {
                notes_.send(first->source, note_kind::here, {});
            }
            for (patience waiting{2 * time_to_answer(deadline)}; !told && waiting.pause();) {
                while (auto const next = notes_.receive()) {
                    if (next->what == note_kind::gave_up) {
                        told = true;
                        reason = next->text;
                    } else if (next->what == note_kind::roll_call) {
                        notes_.send(next->source, note_kind::here, {});
                    }
                }
            }
            fail(reason);
            notes_.flush(milliseconds{50});
            throw replica_lost(failure_);
        }
    }

    /// The deadline has passed in `what`: finds out who is missing, tells all others, and throws deadline_exceeded.
    [[noreturn]] void call_the_roll(std::string const& what, milliseconds deadline) {
        auto reason = "replica " + std::to_string(rank_) + " waited longer than " + std::to_string(deadline.count()) +
                      " ms in " + what;
        tell_all(note_kind::roll_call, reason);
        std::vector<bool> present(static_cast<std::size_t>(size_));
        present[static_cast<std::size_t>(rank_)] = true;
        patience waiting{time_to_answer(deadline)};
        do {
            while (auto const note = notes_.receive()) {
                present[static_cast<std::size_t>(note->source)] = true;
                if (note->what == note_kind::roll_call) {
                    notes_.send(note->source, note_kind::here, {});
                }
            }
        } while (std::find(present.begin(), present.end(), false) != present.end() && waiting.pause());
        reason += missing(present);
        give_up(reason);
        throw deadline_exceeded(reason);
    }

private:
    /// A roll call ends at the latest half a second after the deadline.
    static milliseconds time_to_answer(milliseconds deadline) {
        return std::clamp(deadline / 4, milliseconds{50}, milliseconds{500});
    }

    void fail(std::string const& reason) {
        failed_ = true;
        failure_ = reason;
    }

    void tell_all(note_kind what, std::string_view text) {
        for (int other = 0; other != size_; ++other) {
            if (other != rank_) {
                notes_.send(other, what, text);
            }
        }
    }

    [[nodiscard]] static std::string missing(std::vector<bool> const& present) {
        constexpr int most_named = 16;
        std::string names;
        int count = 0;
        for (std::size_t rank = 0; rank != present.size(); ++rank) {
            if (!present[rank] && ++count <= most_named) {
                names += (names.empty() ? "; missing: replica " : ", replica ") + std::to_string(rank);
            }
        }
        if (count > most_named) {
            names += " and " + std::to_string(count - most_named) + " more";
        }
        return names.empty() ? "; all replicas are there, but it did not end" : names;
    }

    Notes notes_;
    int rank_;
    int size_;
    bool failed_ = false;
    std::string failure_;
};

} // namespace tally::detail
