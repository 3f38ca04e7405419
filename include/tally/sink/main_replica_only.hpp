// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A sink that is open on the main replica alone. All replicas run the same code; on the others writing does nothing, so
// that no log is written twice and no `if (rank == 0)` can keep a replica from a collective.
#pragma once

#include <tally/comm/agreement.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/sink/errors.hpp>
#include <tally/sink/report.hpp>
#include <tally/sink/sink.hpp>

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace tally {

/// A sink: Sink on replica 0, nothing on the others. Make it with open_on_main.
template <sink Sink>
class main_replica_only {
public:
    /// Arguments of Sink's constructor, which is only called if `is_main`.
    template <class... Argument>
    explicit main_replica_only(bool is_main, Argument&&... arguments) {
        if (is_main) {
            sink_.emplace(std::forward<Argument>(arguments)...);
        }
    }

    /// Writes on the main replica, with the exceptions of Sink; does nothing on the others. Not a collective: a replica
    /// that throws here must not leave the others alone in the next one.
    void write(report const& page) {
        if (sink_) {
            sink_->write(page);
        }
    }

    [[nodiscard]] bool is_main() const { return sink_.has_value(); }

private:
    std::optional<Sink> sink_;
};

/// Opens a sink on replica 0 of the communicator: open_on_main<tensorboard::writer>(comm, "runs/a"). Every replica must
/// call it: a small message tells all of them whether it worked, and if not, all throw the same sink_error.
template <sink Sink, tracker_communicator Communicator, class... Argument>
[[nodiscard]] main_replica_only<Sink> open_on_main(Communicator& comm, Argument&&... arguments) {
    std::optional<main_replica_only<Sink>> opened;
    std::string refusal;
    try {
        opened.emplace(comm.rank() == 0, std::forward<Argument>(arguments)...);
    } catch (std::exception const& refused) {
        refusal = refused.what();
        refusal = refusal.empty() ? "the sink could not be opened" : refusal;
    }
    if (auto const reason = detail::text_of_root(detail::on_host(comm), refusal); !reason.empty()) {
        throw sink_error(reason);
    }
    return std::move(*opened);
}

} // namespace tally
