// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A snapshot restored over replicas, whose number may differ from the one at the time of the snapshot: replica 0 takes
// over the state, the others start from identity, so that combining counts it once.
#pragma once

#include <tally/comm/agreement.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/core/errors.hpp>
#include <tally/state/snapshot.hpp>
#include <tally/state/store.hpp>

#include <cstddef>
#include <exception>
#include <span>
#include <string>

namespace tally::detail {

/// What this replica has to take over. `blank` are states of the tracker's shape at identity. Only replica 0's buffer is
/// read; if it is refused, every replica throws snapshot_error with the reason.
template <class M, communicator Communicator>
states_of<M> restore_states_of_root(Communicator& communicator, std::span<std::byte const> buffer,
                                    states_of<M> const& blank) {
    auto states = blank;
    std::string refusal;
    if (communicator.rank() == 0) {
        try {
            states = restore_states<M>(buffer, blank);
        } catch (std::exception const& refused) {
            refusal = refused.what();
            refusal = refusal.empty() ? "snapshot refused" : refusal;
        }
    }
    auto const reason = text_of_root(communicator, refusal);
    if (!reason.empty()) {
        throw snapshot_error(reason);
    }
    return states;
}

} // namespace tally::detail
