// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `batching`: the part of a communicator in host memory that collects the calls made in `grouped`, so that a model has
// one function to write: make this batch.
#pragma once

#include <tally/comm/agreement_log.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/detail/call_batch.hpp>
#include <tally/core/errors.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tally::detail {

/// Base of a communicator that befriends it and has rank(), size() and make(std::span<pending_call const>), which throws
/// where the communicator has no group.
template <class Communicator>
class batching {
public:
    using memory_space = host_space;

    void all_gather(std::span<std::byte const> mine, std::span<std::byte> all) {
        add_gather({"all_gather", mine.size()}, mine, all);
    }
    void gather(std::span<std::byte const> mine, std::span<std::byte> all, int root) {
        add_gather({"gather", mine.size(), root}, mine, all);
    }
    void all_reduce_sum(std::span<std::uint64_t> words) {
        add({kind::sum, {"all_reduce_sum", words.size_bytes()}, {}, {}, words});
    }
    void all_reduce_max(std::span<std::uint64_t> words) {
        add({kind::max, {"all_reduce_max", words.size_bytes()}, {}, {}, words});
    }
    void reduce_sum(std::span<std::uint64_t> words, int root) {
        add({kind::sum, {"reduce_sum", words.size_bytes(), root}, {}, {}, words});
    }
    void reduce_max(std::span<std::uint64_t> words, int root) {
        add({kind::max, {"reduce_max", words.size_bytes(), root}, {}, {}, words});
    }

    /// Collectives inside are made when the outermost `grouped` ends: compared by one message, and all on their way at
    /// the same time. If the callable throws, none of them is made.
    template <class Callable>
    void grouped(Callable&& callable) {
        ++depth_;
        try {
            std::forward<Callable>(callable)();
        } catch (...) {
            --depth_;
            batch_.clear();
            throw;
        }
        --depth_;
        make_outermost();
    }

    [[nodiscard]] agreement_log& agreements() noexcept { return agreements_; }

    [[nodiscard]] std::chrono::milliseconds deadline() const noexcept { return deadline_; }

    /// Longest wait for other replicas, for each message of a group of calls; beyond a year counts as a year. Of this
    /// replica only.
    void set_deadline(std::chrono::milliseconds deadline) {
        if (deadline < std::chrono::milliseconds::zero()) {
            throw configuration_error("the deadline of a communicator can't be negative");
        }
        deadline_ = deadline;
    }

protected:
    explicit batching(std::chrono::milliseconds deadline) { set_deadline(deadline); }

    void add_gather(collective_call call, std::span<std::byte const> mine, std::span<std::byte> all) {
        auto const receives = call.received_by(self().rank());
        call.misfit = receives && all.size() != mine.size() * static_cast<std::size_t>(self().size());
        add({kind::gather, call, mine, all, {}});
    }

    [[nodiscard]] bool in_group() const noexcept { return depth_ != 0; }

private:
    using kind = pending_call::kind;

    [[nodiscard]] Communicator& self() noexcept { return static_cast<Communicator&>(*this); }

    void add(pending_call const& call) {
        batch_.push_back(call);
        make_outermost();
    }

    void make_outermost() {
        if (depth_ != 0 || batch_.empty()) {
            return;
        }
        try {
            self().make(std::span<pending_call const>(batch_));
        } catch (...) {
            batch_.clear();
            throw;
        }
        batch_.clear();
    }

    std::vector<pending_call> batch_; // called in `grouped`, not yet made
    int depth_ = 0;
    std::chrono::milliseconds deadline_ = {};
    agreement_log agreements_;
};

} // namespace tally::detail
