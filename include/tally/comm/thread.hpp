// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `thread_group` and `thread_communicator`: replicas that are threads of one process. Models `communicator` in host
// memory. Every collective compares what the replicas call before any data is used, and a lost or late replica ends
// the collective of all others with an exception: no hang, no dangling buffer, no half-written result.
#pragma once

#include <tally/comm/agreement_log.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/thread_rendezvous.hpp>
#include <tally/core/errors.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally {

/// The communicator of one replica of a `thread_group`. Movable, not copyable, used by one thread at a time.
///
/// - Calls that differ between replicas (which collective, bytes, root) make all of them throw `layout_mismatch`, which
///   names two ranks and their calls. A wrong buffer size on any replica makes all throw `shape_error`, a root outside
///   the group `configuration_error`. The group stays usable after these.
/// - `deadline_exceeded` and `replica_lost` leave the group failed: later calls throw `replica_lost` at once, with the
///   first reason. Local states are intact; the replicas that remain go on with a new `thread_group`.
/// - `words` and `all` are written only once the collective can't fail any more.
/// - A destroyed communicator has left: replicas that wait for it get `replica_lost` instead of waiting for the
///   deadline. The destructor itself never waits for other replicas.
/// - One that was moved from belongs to no group: rank, size and every collective throw `configuration_error`, `abort`
///   does nothing. It may be assigned to.
/// - Reductions run in rank order, each replica reducing its share of the words. Cost: n bytes copied in and the result
///   copied out, through staging that grows to the largest call and is then reused: no allocation in steady state.
class thread_communicator {
public:
    using memory_space = host_space;

    thread_communicator(thread_communicator&&) noexcept = default;
    thread_communicator(thread_communicator const&) = delete;
    thread_communicator& operator=(thread_communicator other) noexcept {
        swap(other); // what this one was leaves its group with `other`
        return *this;
    }
    ~thread_communicator() {
        if (group_) {
            group_->leave(rank_);
        }
    }

    [[nodiscard]] int rank() const {
        (void)group();
        return rank_;
    }
    [[nodiscard]] int size() const { return group().size(); }

    void all_gather(std::span<std::byte const> mine, std::span<std::byte> all) {
        gather_bytes({"all_gather", mine.size()}, mine, all);
    }
    void gather(std::span<std::byte const> mine, std::span<std::byte> all, int root) {
        gather_bytes({"gather", mine.size(), root}, mine, all);
    }
    void all_reduce_sum(std::span<std::uint64_t> words) {
        reduce_words({"all_reduce_sum", words.size_bytes()}, words, sum);
    }
    void all_reduce_max(std::span<std::uint64_t> words) {
        reduce_words({"all_reduce_max", words.size_bytes()}, words, max);
    }
    void reduce_sum(std::span<std::uint64_t> words, int root) {
        reduce_words({"reduce_sum", words.size_bytes(), root}, words, sum);
    }
    void reduce_max(std::span<std::uint64_t> words, int root) {
        reduce_words({"reduce_max", words.size_bytes(), root}, words, max);
    }

    /// Nothing to gain from grouping here: calls it.
    template <class Callable>
    void grouped(Callable&& callable) {
        std::forward<Callable>(callable)();
    }

    [[nodiscard]] agreement_log& agreements() noexcept { return agreements_; }

    [[nodiscard]] std::chrono::milliseconds deadline() const noexcept { return deadline_; }

    /// Longest wait in each barrier of a collective; beyond a year counts as a year. Of this replica only.
    void set_deadline(std::chrono::milliseconds deadline) {
        if (deadline < std::chrono::milliseconds::zero()) {
            throw configuration_error("the deadline of a communicator can't be negative");
        }
        deadline_ = deadline;
    }

    /// Gives up for the whole group: replicas that wait or call later throw `replica_lost` with this reason.
    void abort(std::string_view reason) {
        if (group_) {
            group_->abort(rank_, reason);
        }
    }

    /// Collective: replicas that pass the same `color` form a new group, ranked by `key`, then by their rank here.
    /// Allocates. The groups fail independently; the new one starts with this deadline and an empty agreement log.
    [[nodiscard]] thread_communicator split(int color, int key = 0) {
        std::array const wish{color, key};
        std::vector<std::array<int, 2>> wishes(static_cast<std::size_t>(size()));
        all_gather(std::as_bytes(std::span{wish}), std::as_writable_bytes(std::span{wishes}));

        std::vector<int> members; // of my group, by (key, rank)
        for (int other = 0; other != size(); ++other) {
            if (wishes[static_cast<std::size_t>(other)][0] == color) {
                members.push_back(other);
            }
        }
        auto const order = [&](int other) { return std::pair{wishes[static_cast<std::size_t>(other)][1], other}; };
        std::sort(members.begin(), members.end(), [&](int a, int b) { return order(a) < order(b); });
        if (members.front() == rank_) {
            group_->offer(rank_) = std::make_shared<detail::thread_rendezvous>(static_cast<int>(members.size()));
        }
        all_gather({}, {}); // the offers are made; nobody replaces one before all have entered the next split
        auto const place = std::find(members.begin(), members.end(), rank_) - members.begin();
        return thread_communicator{group_->offer(members.front()), static_cast<int>(place), deadline_};
    }

private:
    friend class thread_group;

    thread_communicator(std::shared_ptr<detail::thread_rendezvous> group, int rank, std::chrono::milliseconds deadline)
        : group_(std::move(group)), rank_(rank), deadline_(deadline) {}

    void swap(thread_communicator& other) noexcept {
        std::swap(group_, other.group_);
        std::swap(rank_, other.rank_);
        std::swap(parity_, other.parity_);
        std::swap(deadline_, other.deadline_);
        std::swap(agreements_, other.agreements_);
    }

    [[nodiscard]] detail::thread_rendezvous& group() const {
        if (!group_) {
            throw configuration_error("this thread_communicator was moved from: it belongs to no group");
        }
        return *group_;
    }

    static constexpr auto sum = [](std::uint64_t a, std::uint64_t b) { return a + b; };
    static constexpr auto max = [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); };

    void gather_bytes(detail::collective_call call, std::span<std::byte const> mine, std::span<std::byte> all) {
        auto const receives = call.received_by(rank_);
        call.misfit = receives && all.size() != mine.size() * static_cast<std::size_t>(size());
        join(call, mine);
        if (!receives) {
            return;
        }
        for (int other = 0; other != size(); ++other) {
            auto const theirs = std::as_bytes(group_->staging(other, parity_)).first(mine.size());
            std::copy(theirs.begin(), theirs.end(), all.begin());
            all = all.subspan(mine.size());
        }
    }

    template <class Operation>
    void reduce_words(detail::collective_call const& call, std::span<std::uint64_t> words, Operation operation) {
        join(call, std::as_bytes(words));
        auto const replicas = static_cast<std::size_t>(size());
        auto const rank = static_cast<std::size_t>(rank_);
        auto const begin = words.size() * rank / replicas;
        auto const end = words.size() * (rank + 1) / replicas;
        // Nobody else reads or writes this share of rank 0's staging before the second barrier.
        auto const result = group_->staging(0, parity_);
        for (int other = 1; other != size(); ++other) {
            auto const theirs = group_->staging(other, parity_);
            for (auto i = begin; i != end; ++i) {
                result[i] = operation(result[i], theirs[i]);
            }
        }
        group_->meet(rank_, call, deadline_);
        if (call.received_by(rank_)) {
            std::copy_n(result.begin(), words.size(), words.begin());
        }
    }

    /// Stages `data` under the current parity, waits for all replicas, and compares what they called. All of them reach
    /// the same verdict, so the group stays in step when this throws anything but `replica_lost`.
    void join(detail::collective_call const& call, std::span<std::byte const> data) {
        auto const next = parity_ ^ 1;
        group().publish(rank_, next, call, data); // may run out of memory: then this call hasn't happened
        parity_ = next;
        group_->meet(rank_, call, deadline_);
        auto const& first = group_->call(0, parity_);
        for (int other = 1; other != size(); ++other) {
            auto const& theirs = group_->call(other, parity_);
            if (!theirs.same_as(first)) {
                throw layout_mismatch("replica 0 called " + first.text() + ", replica " + std::to_string(other) +
                                      " called " + theirs.text());
            }
        }
        if (call.root && (*call.root < 0 || *call.root >= size())) {
            throw configuration_error("the root of " + call.text() + " is outside a group of " +
                                      std::to_string(size()) + " replicas");
        }
        for (int other = 0; other != size(); ++other) {
            if (group_->call(other, parity_).misfit) {
                throw shape_error("replica " + std::to_string(other) + " called " + call.text() +
                                  " with a receiving buffer that isn't " + std::to_string(size()) +
                                  " times as long as what each replica sends");
            }
        }
    }

    std::shared_ptr<detail::thread_rendezvous> group_;
    int rank_;
    std::size_t parity_ = 0;
    std::chrono::milliseconds deadline_;
    agreement_log agreements_;
};

static_assert(host_communicator<thread_communicator>);

/// A group of replicas that are threads of this process. Hands out one communicator per rank; these share the group's
/// memory and may outlive this object. A group that failed (see `thread_communicator`) stays failed: to go on with the
/// replicas that remain, make a new group of that many, which costs a few small allocations and no threads.
class thread_group {
public:
    /// `replicas` >= 1 and `deadline` >= 0, else `configuration_error`.
    explicit thread_group(int replicas, std::chrono::milliseconds deadline = std::chrono::minutes{5})
        : deadline_(deadline) {
        if (replicas < 1 || deadline < std::chrono::milliseconds::zero()) {
            throw configuration_error("a thread group needs at least 1 replica and a deadline that isn't negative");
        }
        shared_ = std::make_shared<detail::thread_rendezvous>(replicas);
    }

    [[nodiscard]] int size() const noexcept { return shared_->size(); }

    /// The communicator of `rank`, once for each rank of [0, size()). Any thread may call it.
    [[nodiscard]] thread_communicator communicator(int rank) const {
        shared_->claim(rank);
        return thread_communicator{shared_, rank, deadline_};
    }

private:
    friend class replicas;

    /// Gives up in the name of `rank`, wherever its communicator is by now.
    void abort(int rank, std::string_view reason) const { shared_->abort(rank, reason); }

    std::chrono::milliseconds deadline_;
    std::shared_ptr<detail::thread_rendezvous> shared_;
};

} // namespace tally
