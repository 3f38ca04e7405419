// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The engine concept: where updates run and states live. Code that takes an engine as a template argument, the laws of
// metrics among it, works for every engine.
//
// | expression                     | returns                 | meaning                                                   |
// |--------------------------------|-------------------------|-----------------------------------------------------------|
// | E::memory_space                | host_space, device_space| memory in which states live                               |
// | E::tracker<M>                  | type                    | a metric or collection living on the engine               |
// | t.update(inputs...)            | void                    | takes samples; needs the inputs of M, so not checked here |
// | c.finalize()                   | local<M>                | values of this replica                                    |
// | c.combine(comm)                | combined<M>             | values of all replicas; c is not changed                  |
// | c.combine_to(comm, root)       | optional<combined<M>>   | the same for one replica                                  |
// | c.snapshot(comm)               | bytes                   | everything taken so far by all replicas                   |
// | t.restore(comm, bytes)         | void                    | replaces everything taken so far                          |
// | t.reset()                      | void                    | back to "never updated"                                   |
//
// Models: host::engine<Execution>.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/comm/self.hpp>
#include <tally/results.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tally {

template <class E, class M>
concept engine = requires(typename E::template tracker<M>& t, typename E::template tracker<M> const& c,
                          self_communicator& communicator, std::span<std::byte const> bytes, int root) {
    typename E::memory_space;
    t.reset();
    { c.finalize() } -> std::same_as<local<M>>;
    { c.combine(communicator) } -> std::same_as<combined<M>>;
    { c.combine_to(communicator, root) } -> std::same_as<std::optional<combined<M>>>;
    { c.snapshot(communicator) } -> std::same_as<std::vector<std::byte>>;
    t.restore(communicator, bytes);
};

} // namespace tally
