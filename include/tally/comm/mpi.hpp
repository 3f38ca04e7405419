// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `mpi_communicator`: replicas that are processes of an MPI job. Models `communicator` in host memory. Every collective
// compares what the replicas call before any data moves, and ends at a deadline instead of hanging.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/comm/detail/batching.hpp>
#include <tally/comm/detail/call_batch.hpp>
#include <tally/comm/detail/mpi_channel.hpp>
#include <tally/comm/detail/mpi_notes.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/wire.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally {

/// How an mpi_communicator sends. `automatic`: through memory that the replicas share where all of them are processes of
/// one machine, else by messages. `messages`: always so; one replica that says it says it for all.
enum class transport { automatic, messages };

/// The communicator of one process of an MPI job. Movable, not copyable, used by one thread at a time; with
/// MPI_THREAD_FUNNELED, by the thread that initialised MPI. Works on a duplicate of the user's communicator, so messages
/// never meet the user's own, and no error handler of the user is changed.
///
/// - Calls that differ between replicas (which collective, bytes, root) make all of them throw `layout_mismatch`, which
///   names two ranks and their calls. A wrong buffer size on any replica makes all throw `shape_error`, a root outside
///   the group `configuration_error`. The group stays usable after these.
/// - A replica whose deadline passes throws `deadline_exceeded`, which names those that are missing; the others throw
///   `replica_lost`. With messages, it first asks the others whether they are there, for a quarter of the deadline and at
///   most half a second. An error of MPI is an `mpi_error`, which is a `replica_lost`. After these the group has failed:
///   later calls throw `replica_lost` at once, with the first reason. Local states are intact; the replicas that remain
///   go on with a new communicator. tally never calls MPI_Abort.
/// - One that an exception destroys on its way out tells the others, who throw `replica_lost` instead of waiting. The
///   destructor never waits for another replica.
/// - Shared memory serves up to 64 processes of one machine (Linux), and takes 2 MiB of address space for each. It is
///   faster, knows who is missing, and a communicator that is destroyed ends the wait of the others.
/// - With messages, MPI only ever sees memory of this object, and a group that failed is never freed: collectives can't
///   be cancelled, and MPI goes on using what they use.
/// - Cost: a comparison of 24 bytes for each group of calls, then the data, copied in and out. Messages need staging that
///   grows to the largest group, at most `largest_message`, and is reused: no allocation by tally in steady state.
class mpi_communicator : public detail::batching<mpi_communicator> {
public:
    /// Collective over `comm`. Throws configuration_error where MPI isn't initialised, is finalised already, or may not
    /// be called by this thread, and for MPI_COMM_NULL, an intercommunicator or a negative deadline.
    explicit mpi_communicator(MPI_Comm comm, std::chrono::milliseconds deadline = std::chrono::minutes{5},
                              transport way = transport::automatic)
        : batching(deadline), way_(way) {
        detail::require_mpi();
        int between_groups = 0;
        if (comm != MPI_COMM_NULL) {
            MPI_Comm_test_inter(comm, &between_groups);
        }
        if (comm == MPI_COMM_NULL || between_groups != 0) {
            throw configuration_error("an mpi_communicator needs a communicator inside one group, not " +
                                      std::string(between_groups != 0 ? "an intercommunicator" : "MPI_COMM_NULL"));
        }
        channel_ = detail::mpi_channel::duplicate(comm, deadline, way == transport::automatic);
    }

    mpi_communicator(mpi_communicator&&) noexcept = default;
    mpi_communicator(mpi_communicator const&) = delete;
    mpi_communicator& operator=(mpi_communicator other) noexcept {
        std::swap(static_cast<batching&>(*this), static_cast<batching&>(other));
        std::swap(channel_, other.channel_);
        std::swap(way_, other.way_);
        std::swap(largest_message_, other.largest_message_);
        std::swap(exceptions_, other.exceptions_);
        return *this;
    }
    ~mpi_communicator() {
        if (channel_) {
            leave();
        }
    }

    [[nodiscard]] int rank() const { return channel().rank(); }
    [[nodiscard]] int size() const { return channel().size(); }

    /// Bytes of staging, 64 MiB at first: larger data is sent in pieces of this size, one after another, so there is no
    /// limit to what can be sent. From 64 bytes to 1 GiB, the same on all replicas, else configuration_error or, at the
    /// next collective, layout_mismatch. Of the order of a word for each replica is used in any case.
    void set_largest_message(std::size_t bytes) {
        if (bytes < 64 || bytes > std::size_t{1} << 30) {
            throw configuration_error("the largest message of an mpi_communicator must have 64 bytes to 1 GiB");
        }
        largest_message_ = bytes;
    }
    [[nodiscard]] std::size_t largest_message() const noexcept { return largest_message_; }

    /// For trackers: whether a message with these lanes, one word of the sums included, fits the memory in which it travels.
    [[nodiscard]] bool lends(lane_sizes const& lanes) const {
        return !in_group() && channel().holds(calls_of(lanes, std::nullopt).calls(), largest_message_);
    }
    /// The collectives of one message where lends() is true: `write(detail::message_place)` puts the message where others
    /// read it, `read(detail::message_place)` takes the result, on the root alone if there is one.
    template <class Write, class Read>
    void exchange(lane_sizes const& lanes, std::optional<int> root, Write write, Read read) {
        channel().exchange(calls_of(lanes, root).calls(), largest_message_, deadline(), write, read);
    }

    /// Whether data goes through shared memory rather than messages; the same on all replicas.
    [[nodiscard]] bool shares_memory() const { return channel().shares(); }

    /// Gives up for the whole group: replicas that wait or call later throw `replica_lost` with this reason.
    void abort(std::string_view reason) {
        if (channel_) {
            channel_->abort("replica " + std::to_string(rank()) + " aborted: " + std::string{reason});
        }
    }

    /// Collective: replicas that pass the same `color` form a new group, ranked by `key`, then by their rank here. The
    /// groups fail independently; the new one starts with this deadline and an empty agreement log. Once all replicas
    /// have come, MPI_Comm_split does the work, and no deadline holds while it does.
    [[nodiscard]] mpi_communicator split(int color, int key = 0) {
        if (in_group()) {
            throw configuration_error("split can't be called inside grouped: its own messages would have to wait");
        }
        std::array const wish{color, key};
        std::vector<std::array<int, 2>> wishes(static_cast<std::size_t>(size()));
        auto const all = std::as_writable_bytes(std::span{wishes});
        add_gather({"split", sizeof(wish)}, std::as_bytes(std::span{wish}), all);
        // MPI takes no negative colors; the first replica of each color stands for it.
        auto const first =
            std::find_if(wishes.begin(), wishes.end(), [&](auto const& each) { return each[0] == color; });
        auto part = detail::mpi_channel::split(channel(), static_cast<int>(first - wishes.begin()), key, deadline(),
                                               way_ == transport::automatic);
        return mpi_communicator{std::move(part), deadline(), way_, largest_message_};
    }

private:
    friend class detail::batching<mpi_communicator>;

    mpi_communicator(std::unique_ptr<detail::mpi_channel> channel, std::chrono::milliseconds deadline, transport way,
                     std::size_t largest_message)
        : batching(deadline), channel_(std::move(channel)), way_(way), largest_message_(largest_message) {}

    [[nodiscard]] detail::mpi_channel& channel() const {
        if (!channel_) {
            throw configuration_error("this mpi_communicator was moved from: it belongs to no group");
        }
        return *channel_;
    }

    static detail::message_calls calls_of(lane_sizes const& lanes, std::optional<int> root) {
        return {lanes.sums, lanes.maxes, lanes.bytes, root};
    }

    void make(std::span<detail::pending_call const> batch) { channel().make(batch, largest_message_, deadline()); }

    void leave() noexcept {
        try {
            if (std::uncaught_exceptions() > exceptions_) {
                abort("an exception ended its use of the communicator");
            }
        } catch (...) { // NOLINT(bugprone-empty-catch): the others find out at their deadline
        }
        detail::mpi_channel::retire(std::move(channel_));
    }

    std::unique_ptr<detail::mpi_channel> channel_;
    transport way_ = transport::automatic;
    std::size_t largest_message_ = std::size_t{64} << 20;
    int exceptions_ = std::uncaught_exceptions();
};

static_assert(host_communicator<mpi_communicator>);

} // namespace tally
