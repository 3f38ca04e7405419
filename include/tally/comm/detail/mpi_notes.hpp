// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// MPI as the rest of tally uses it: its header, its errors as text, whether it can be called, and small notes by which
// replicas tell each other that they have given up.
#pragma once

#include <tally/comm/detail/patience.hpp>
#include <tally/comm/detail/watch.hpp>
#include <tally/core/errors.hpp>

// The C++ bindings of old were removed from MPI in 2012, and some headers still bring them along.
#if !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX 1
#endif
#if !defined(MPICH_SKIP_MPICXX)
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace tally::detail {

inline std::string mpi_text(int code) {
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    return {text, static_cast<std::size_t>(length)};
}

/// Whether this thread may call MPI; if not, why, in a whole sentence. Costs no message.
inline std::optional<std::string_view> why_mpi_is_not_callable() noexcept {
    int yes = 0;
    MPI_Initialized(&yes);
    if (yes == 0) {
        return "MPI is not initialised: call MPI_Init or MPI_Init_thread before tally uses MPI";
    }
    MPI_Finalized(&yes);
    if (yes != 0) {
        return "MPI is finalised: tally can't use MPI after MPI_Finalize";
    }
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_SERIALIZED) {
        MPI_Is_thread_main(&yes);
        if (yes == 0) {
            return "MPI was initialised so that only the thread that did so may call it: use the communicator there, "
                   "or "
                   "ask MPI_Init_thread for MPI_THREAD_SERIALIZED";
        }
    }
    return std::nullopt;
}

inline bool mpi_is_callable() noexcept { return !why_mpi_is_not_callable(); }

inline void require_mpi() {
    if (auto const why = why_mpi_is_not_callable()) {
        throw configuration_error(std::string(*why));
    }
}

/// While it lives, errors on `comm` are returned instead of ending the process.
class mpi_errors_returned {
public:
    explicit mpi_errors_returned(MPI_Comm comm) : comm_(comm) {
        MPI_Comm_get_errhandler(comm_, &before_);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    mpi_errors_returned(mpi_errors_returned const&) = delete;
    mpi_errors_returned& operator=(mpi_errors_returned const&) = delete;
    ~mpi_errors_returned() {
        MPI_Comm_set_errhandler(comm_, before_);
        MPI_Errhandler_free(&before_);
    }

private:
    MPI_Comm comm_;
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// Notes over MPI, each in a message of its own. Errors are ignored on purpose: a receiver may be dead, and that is what
/// the notes are about.
class mpi_notes {
public:
    explicit mpi_notes(MPI_Comm comm) : comm_(comm) {}

    void send(int to, note_kind what, std::string_view text) {
        auto& each = outgoing_.emplace_back();
        each.content.what = what;
        text.copy(each.content.text, sizeof(each.content.text) - 1);
        MPI_Isend(&each.content, sizeof(message), MPI_BYTE, to, tag, comm_, &each.request);
    }

    [[nodiscard]] std::optional<note> receive() {
        int arrived = 0;
        MPI_Status status;
        if (MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &arrived, &status) != MPI_SUCCESS || arrived == 0) {
            return std::nullopt;
        }
        message content;
        MPI_Recv(&content, sizeof(message), MPI_BYTE, status.MPI_SOURCE, tag, comm_, MPI_STATUS_IGNORE);
        content.text[sizeof(content.text) - 1] = '\0';
        return note{content.what, status.MPI_SOURCE, content.text};
    }

    /// Whether all notes have left; gives MPI some time to see to it.
    bool flush(std::chrono::milliseconds limit) {
        patience flushing{limit};
        do {
            std::erase_if(outgoing_, [](auto& each) {
                int done = 1;
                return MPI_Test(&each.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
            });
        } while (!outgoing_.empty() && flushing.pause());
        return outgoing_.empty();
    }

private:
    static constexpr int tag = 1; // of our own duplicate: no other message can carry it

    struct message {
        note_kind what = note_kind::here;
        char text[508] = {}; // small enough to be on its way once it is started
    };
    struct outgoing {
        message content;
        MPI_Request request = MPI_REQUEST_NULL;
    };

    MPI_Comm comm_;
    std::list<outgoing> outgoing_; // what is on its way must not move
};

} // namespace tally::detail
