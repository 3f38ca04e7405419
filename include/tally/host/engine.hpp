// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The host engine as a type: host memory, with the threads of an execution policy. Models engine.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/engine.hpp>
#include <tally/host/execution.hpp>
#include <tally/host/tracker.hpp>

namespace tally::host {

template <execution Execution = serial>
struct engine {
    using memory_space = host_space;
    template <class M>
    using tracker = host::tracker<M, Execution>;
};

} // namespace tally::host
