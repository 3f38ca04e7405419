// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The meeting point behind `thread_group`: a barrier that can fail instead of hanging, and the buffers through which
// replicas exchange data. Owned jointly by the communicators, so a replica that leaves early pulls no memory away from
// the others.
#pragma once

#include <tally/core/errors.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally::detail {

/// One collective as a replica issues it. Replicas must agree in everything but `misfit`.
struct collective_call {
    std::string_view name;
    std::size_t bytes = 0;
    std::optional<int> root = {}; // none: every replica receives the result
    bool misfit = false;          // the receiving buffer of this replica has the wrong size

    [[nodiscard]] bool same_as(collective_call const& other) const noexcept {
        return name == other.name && bytes == other.bytes && root == other.root;
    }

    [[nodiscard]] bool received_by(int rank) const noexcept { return !root || *root == rank; }

    [[nodiscard]] std::string text() const {
        auto const target = root ? " to root " + std::to_string(*root) : std::string{};
        return std::string{name} + " of " + std::to_string(bytes) + " bytes" + target;
    }
};

/// The meeting point of a thread group: a barrier that can fail, and the staging buffers of each replica.
///
/// Calls and staging exist twice, for even and odd collectives: a replica may start collective n + 1 while others still
/// read collective n, but can't start n + 2 before all have entered n + 1, which they do after their last read of n.
/// That is why a collective needs no barrier at its end.
class thread_rendezvous {
public:
    explicit thread_rendezvous(int replicas) : slots_(static_cast<std::size_t>(replicas)) {}

    [[nodiscard]] int size() const noexcept { return static_cast<int>(slots_.size()); }

    [[nodiscard]] collective_call const& call(int rank, std::size_t parity) const { return slot(rank).calls[parity]; }
    [[nodiscard]] std::span<std::uint64_t> staging(int rank, std::size_t parity) { return slot(rank).staging[parity]; }

    void publish(int rank, std::size_t parity, collective_call const& call, std::span<std::byte const> data) {
        throw_if_failed(); // a replica that gave up early must not overwrite what slower ones still read
        auto& own = slot(rank);
        auto& staging = own.staging[parity];
        auto const words = (data.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
        if (staging.size() < words) {
            staging.resize(words);
        }
        std::copy(data.begin(), data.end(), std::as_writable_bytes(std::span{staging}).begin());
        own.calls[parity] = call;
    }

    /// Barrier: returns once all replicas have arrived. Throws on failure; fails the group when the deadline passes.
    void meet(int rank, collective_call const& call, std::chrono::milliseconds deadline) {
        // Far deadlines ("never") would overflow the clock's nanoseconds.
        auto const until = std::chrono::steady_clock::now() +
                           std::min<std::chrono::milliseconds>(deadline, std::chrono::hours{24 * 365});
        std::unique_lock lock{mutex_};
        throw_if_failed();
        auto const round = ++slot(rank).arrivals;
        if (++arrived_ == size()) {
            arrived_ = 0;
            ++rounds_;
            lock.unlock();
            changed_.notify_all();
            return;
        }
        changed_.wait_until(lock, until, [&] { return rounds_ >= round || failed_ || leaver_ >= 0; });
        if (rounds_ >= round) {
            return;
        }
        if (!failed_) {
            // Who left can't have arrived: a replica returns from a barrier only when it is complete or has failed.
            if (leaver_ >= 0) {
                fail_locked("replica " + std::to_string(leaver_) + " left its group before taking part in " +
                            call.text());
                throw replica_lost(failure_);
            }
            fail_locked("replica " + std::to_string(rank) + " waited longer than " + std::to_string(deadline.count()) +
                        " ms in " + call.text() + "; missing: " + missing(round));
            throw deadline_exceeded(failure_);
        }
        throw replica_lost(failure_);
    }

    /// Replica `rank` gives up for the whole group; the first reason stays.
    void abort(int rank, std::string_view reason) {
        std::lock_guard const lock{mutex_};
        fail_locked("replica " + std::to_string(rank) + " aborted: " + std::string{reason});
    }

    void claim(int rank) {
        if (rank < 0 || rank >= size()) {
            throw configuration_error("rank " + std::to_string(rank) + " is outside a thread group of " +
                                      std::to_string(size()) + " replicas");
        }
        std::lock_guard const lock{mutex_};
        if (std::exchange(slot(rank).claimed, true)) {
            throw configuration_error("the communicator of rank " + std::to_string(rank) +
                                      " was already taken from this thread group");
        }
    }

    /// The replica will not take part any more: who waits for it now or later gets `replica_lost`.
    void leave(int rank) noexcept {
        {
            std::lock_guard const lock{mutex_};
            leaver_ = leaver_ < 0 ? rank : leaver_;
        }
        changed_.notify_all();
    }

    /// Where the first member of a new sub-group leaves it for the other members.
    [[nodiscard]] std::shared_ptr<thread_rendezvous>& offer(int rank) { return slot(rank).offer; }

private:
    // Own cache lines: each replica writes its own slot in every collective.
    struct alignas(64) replica_slot {
        std::array<collective_call, 2> calls;
        std::array<std::vector<std::uint64_t>, 2> staging;
        std::shared_ptr<thread_rendezvous> offer;
        std::uint64_t arrivals = 0; // this and the following are guarded by the mutex
        bool claimed = false;
    };

    [[nodiscard]] replica_slot& slot(int rank) { return slots_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] replica_slot const& slot(int rank) const { return slots_[static_cast<std::size_t>(rank)]; }

    void fail_locked(std::string reason) {
        if (!failed_) {
            failure_ = std::move(reason);
            failed_ = true;
            changed_.notify_all();
        }
    }

    // The text never changes once `failed_` is set, so it may be read without the mutex.
    void throw_if_failed() const {
        if (failed_) {
            throw replica_lost(failure_);
        }
    }

    [[nodiscard]] std::string missing(std::uint64_t round) const {
        std::string names;
        for (int rank = 0; rank != size(); ++rank) {
            if (slot(rank).arrivals < round) {
                names += (names.empty() ? "replica " : ", replica ") + std::to_string(rank);
            }
        }
        return names;
    }

    std::vector<replica_slot> slots_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int arrived_ = 0;
    int leaver_ = -1; // the first replica that left; -1: all are here
    std::uint64_t rounds_ = 0;
    std::string failure_;
    std::atomic<bool> failed_ = false;
};

} // namespace tally::detail
