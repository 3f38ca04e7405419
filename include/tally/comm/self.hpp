// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `self_communicator`: the group of one replica. Models `communicator` in host memory, so that a program written for
// many replicas runs unchanged on one. Nothing waits and nothing allocates.
#pragma once

#include <tally/comm/agreement_log.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/core/errors.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tally {

/// Communicator of a single replica: gathers copy, reductions leave the words as they are.
/// Throws `shape_error` where `all` isn't as long as `mine`, `configuration_error` for a root other than 0.
class self_communicator {
public:
    using memory_space = host_space;

    [[nodiscard]] int rank() const noexcept { return 0; }
    [[nodiscard]] int size() const noexcept { return 1; }

    void all_gather(std::span<std::byte const> mine, std::span<std::byte> all) { gather(mine, all, 0); }

    void gather(std::span<std::byte const> mine, std::span<std::byte> all, int root) {
        check_root(root);
        if (all.size() != mine.size()) {
            throw shape_error("gather in a group of 1 replica: the buffer for all replicas must be as long as its own");
        }
        std::copy(mine.begin(), mine.end(), all.begin());
    }

    void all_reduce_sum(std::span<std::uint64_t>) {}
    void all_reduce_max(std::span<std::uint64_t>) {}
    void reduce_sum(std::span<std::uint64_t>, int root) { check_root(root); }
    void reduce_max(std::span<std::uint64_t>, int root) { check_root(root); }

    template <class Callable>
    void grouped(Callable&& callable) {
        std::forward<Callable>(callable)();
    }

    [[nodiscard]] agreement_log& agreements() noexcept { return agreements_; }

    /// Kept for symmetry with other communicators; there is nobody to wait for.
    [[nodiscard]] std::chrono::milliseconds deadline() const noexcept { return deadline_; }
    void set_deadline(std::chrono::milliseconds deadline) {
        if (deadline < std::chrono::milliseconds::zero()) {
            throw configuration_error("the deadline of a communicator can't be negative");
        }
        deadline_ = deadline;
    }

private:
    static void check_root(int root) {
        if (root != 0) {
            throw configuration_error("the root must be 0 in a group of 1 replica");
        }
    }

    agreement_log agreements_;
    std::chrono::milliseconds deadline_ = std::chrono::minutes{5};
};

static_assert(host_communicator<self_communicator>);

} // namespace tally
