// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The concept `communicator`: how the replicas of one training or evaluation job talk. Six collectives on raw bytes and
// on 64-bit integers are all that combining states needs. Results are deterministic: gathers are in rank order, and the
// reductions (integer sum modulo 2^64, unsigned max) give the same words for every order.
#pragma once

#include <tally/comm/agreement_log.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tally {

/// The buffers handed to a communicator are ordinary memory, readable by the calling thread.
struct host_space {};

/// The buffers handed to a communicator are device memory; collectives are ordered on the communicator's stream.
struct device_space {};

// clang-format off
/// How replicas talk. Every collective must be called by all replicas of the group, in the same order and with the same
/// sizes and root; spans may be empty and the call still takes part. One communicator is used by one thread.
///
/// Given `C c`, `mine` of n bytes, `all` of size() * n bytes, `words` of w 64-bit words, `root` in [0, size()):
///
/// | expression                  | returns          | meaning                                            | sends     |
/// |-----------------------------|------------------|----------------------------------------------------|-----------|
/// | `typename C::memory_space`  |                  | `host_space` or `device_space`: where spans live   |           |
/// | `c.rank()`, `c.size()`      | `int`            | this replica in [0, size()); number of replicas    | nothing   |
/// | `c.all_gather(mine, all)`   |                  | `all` = the bytes of rank 0, 1, ... in this order  | n to all  |
/// | `c.gather(mine, all, root)` |                  | the same on `root`; `all` of the others stays      | n to root |
/// | `c.all_reduce_sum(words)`   |                  | in place, modulo 2^64: right for signed digits too | w words   |
/// | `c.all_reduce_max(words)`   |                  | in place, as unsigned                              | w words   |
/// | `c.reduce_sum(words, root)` |                  | the sum on `root`; words of the others stay        | w words   |
/// | `c.reduce_max(words, root)` |                  | the max on `root`; words of the others stay        | w words   |
/// | `c.grouped(callable)`       |                  | calls it; collectives inside may be one group      | nothing   |
/// | `c.agreements()`            | `agreement_log&` | the layouts that this group has already compared   | nothing   |
/// | `c.deadline()`              | `milliseconds`   | longest wait for other replicas in one collective  | nothing   |
/// | `c.set_deadline(duration)`  |                  | changes it for later calls of this replica         | nothing   |
///
/// Optional, for trackers: `c.lends(lanes)` and `c.exchange(lanes, root, write, read)`, the collectives of one message that
/// is packed into and unpacked from memory of the communicator; see `mpi_communicator`.
///
/// Results of collectives inside `grouped` are valid only after it has returned.
/// Errors: `shape_error` where `all` has another size than it must, `configuration_error` for a root outside the group,
/// `layout_mismatch` where replicas call different things (as far as the model can see it), `deadline_exceeded` and
/// `replica_lost` where replicas are missing. In `device_space` errors may surface at the end of the group instead.
/// After an error the contents of `all` and `words` are unspecified.
///
/// Models: `self_communicator`, `thread_communicator`, `mpi_communicator`, `hierarchical_communicator`,
/// `nccl_communicator` (device memory) and what its `staged()` gives.
template <class C>
concept communicator = requires(C& c, C const& constant, std::span<std::byte const> mine, std::span<std::byte> all,
                                std::span<std::uint64_t> words, int root, void (*callable)(),
                                std::chrono::milliseconds duration) {
    typename C::memory_space;
    requires std::same_as<typename C::memory_space, host_space> || std::same_as<typename C::memory_space, device_space>;
    { constant.rank() } -> std::same_as<int>;
    { constant.size() } -> std::same_as<int>;
    c.all_gather(mine, all);
    c.gather(mine, all, root);
    c.all_reduce_sum(words);
    c.all_reduce_max(words);
    c.reduce_sum(words, root);
    c.reduce_max(words, root);
    c.grouped(callable);
    { c.agreements() } -> std::same_as<agreement_log&>;
    { constant.deadline() } -> std::same_as<std::chrono::milliseconds>;
    c.set_deadline(duration);
};
// clang-format on

/// Whether the buffers of a communicator are host memory.
template <class C>
concept host_communicator = communicator<C> && std::same_as<typename C::memory_space, host_space>;

/// A communicator in device memory through which data of the host can go as well: `c.staged()` is the same group for
/// buffers in host memory.
template <class C>
concept staged_communicator = communicator<C> && !host_communicator<C> &&
                              requires(C& c) { requires host_communicator<std::remove_cvref_t<decltype(c.staged())>>; };

/// What trackers of every engine combine over: host memory, or a way there.
template <class C>
concept tracker_communicator = host_communicator<C> || staged_communicator<C>;

namespace detail {

/// The communicator itself where its buffers are host memory; else the same group for host memory.
template <tracker_communicator C>
[[nodiscard]] auto& on_host(C& communicator) {
    if constexpr (host_communicator<C>) {
        return communicator;
    } else {
        return communicator.staged();
    }
}

} // namespace detail

} // namespace tally
