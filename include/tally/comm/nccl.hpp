// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `nccl_communicator`: replicas on one GPU each, in one process or many. Models `communicator` in device memory. Every
// collective ends at a deadline instead of hanging, and nothing here waits for another replica in a destructor.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/comm/detail/batching.hpp>
#include <tally/comm/detail/call_batch.hpp>
#include <tally/comm/detail/patience.hpp>
#include <tally/comm/gather_all.hpp>
#include <tally/comm/nccl_channel.hpp>
#include <tally/comm/nccl_error.hpp>
#include <tally/comm/nccl_handle.hpp>
#include <tally/comm/nccl_staged.hpp>
#include <tally/core/errors.hpp>
#include <tally/cuda/device.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally {

/// The communicator of one replica on one device. Movable, not copyable, used by one thread at a time.
///
/// - Collectives go to the communicator's stream as one group of NCCL, and return when their results are there. Buffers
///   are device memory, and must be ready in the order of that stream. NCCL is only asked for integer sums and maxima and
///   for gathers of bytes: results are the same bits whatever algorithm it chooses.
/// - A replica that has waited for the deadline gives up: it aborts NCCL's communicator and throws `deadline_exceeded`.
///   The others throw `nccl_error` if NCCL tells them, or come to their own deadline. After an error the communicator has
///   failed: later calls throw `replica_lost` at once, with the first reason. Local states are intact; the replicas that
///   remain go on with a new communicator.
/// - NCCL does not compare what replicas call: where they differ in the collective or in bytes, expect `nccl_error` or
///   `deadline_exceeded`. Trackers compare what they combine before they do, and throw `layout_mismatch`. A wrong buffer
///   size is a `shape_error` and a root outside the group a `configuration_error`, on the replica that makes the mistake.
/// - The user's own ncclComm_t is never freed. When its communicator fails it is revoked, where NCCL can do that (2.28.9);
///   with an older one, what is in flight ends when the user aborts it.
/// - The destructor never waits for another replica. What is in flight then is lost, on all replicas.
/// - Inside ncclGroupStart/ncclGroupEnd of the caller nothing here works: its own groups would be left to that one.
class nccl_communicator : public detail::batching<nccl_communicator> {
public:
    using memory_space = device_space;
    using milliseconds = std::chrono::milliseconds;

    /// Wraps the user's communicator, which must outlive this one, and works on the user's stream of the same device. The
    /// deadline covers what NCCL does after its own calls return, which with a blocking communicator may take long the
    /// first time. Throws nccl_error, configuration_error.
    nccl_communicator(ncclComm_t comm, cudaStream_t stream, milliseconds deadline = std::chrono::minutes{5})
        : nccl_communicator(not_null(comm), ownership::borrowed, detail::borrow_nccl_stream(stream), deadline) {}
    /// The same, on a stream of its own.
    explicit nccl_communicator(ncclComm_t comm, milliseconds deadline = std::chrono::minutes{5})
        : nccl_communicator(not_null(comm), ownership::borrowed, nullptr, deadline) {}

    /// Collective: makes a communicator for the current device, with a stream of its own. All replicas need the same id,
    /// from ncclGetUniqueId, and a rank each. Throws deadline_exceeded where not all have come in time, nccl_error.
    nccl_communicator(ncclUniqueId const& id, int rank, int replicas, milliseconds deadline = std::chrono::minutes{5})
        : nccl_communicator(join(id, rank, replicas, deadline), ownership::owned, nullptr, deadline) {}

    nccl_communicator(nccl_communicator&&) noexcept = default;
    nccl_communicator(nccl_communicator const&) = delete;
    nccl_communicator& operator=(nccl_communicator other) noexcept {
        std::swap(static_cast<batching&>(*this), static_cast<batching&>(other));
        std::swap(channel_, other.channel_);
        std::swap(staged_, other.staged_);
        std::swap(mark_, other.mark_);
        std::swap(exceptions_, other.exceptions_);
        return *this;
    }
    ~nccl_communicator() {
        if (channel_) {
            staged_.reset();
            channel_->close(std::uncaught_exceptions() > exceptions_);
        }
    }

    [[nodiscard]] int rank() const { return channel().rank(); }
    [[nodiscard]] int size() const { return channel().size(); }
    [[nodiscard]] int device() const { return channel().device(); }
    [[nodiscard]] cudaStream_t stream() const { return channel().stream(); }
    [[nodiscard]] agreement_log& agreements() { return channel().agreements(); }

    [[nodiscard]] milliseconds deadline() const { return channel().deadline(); }
    /// Longest wait for other replicas in each group of calls; beyond a year counts as a year. Of this replica only.
    void set_deadline(milliseconds deadline) {
        batching::set_deadline(deadline); // checks it
        channel().set_deadline(deadline);
    }

    /// Whether the device memory of messages that are combined for the first time from here on is registered with NCCL as
    /// windows, so that collectives between devices with direct links read and write it without copies of their own. Off
    /// unless set; all replicas must set the same, and have their trackers on devices. Gives whether that will be done:
    /// it takes NCCL 2.27, in the header and at run time, else everything works without.
    bool use_windows(bool wanted = true) { return channel().use_windows(wanted); }

    /// The same group for data in host memory. Lives as long as this object and what it is moved to.
    [[nodiscard]] nccl_staged& staged() {
        (void)channel();
        return *staged_;
    }

    /// Gives up for this replica: later calls throw `replica_lost` with this reason, what is in flight is lost. Others find
    /// out as after a loss.
    void abort(std::string_view reason) {
        if (channel_) {
            channel_->fail("replica " + std::to_string(rank()) + " aborted: " + std::string{reason});
        }
    }

    /// Collective: replicas that pass the same `color` form a new group, ranked by `key`, then by their rank here. The new
    /// one shares this stream and starts with this deadline and an empty agreement log. Without waiting for what is in
    /// flight. Not inside `grouped`.
    [[nodiscard]] nccl_communicator split(int color, int key = 0) {
        if (in_group()) {
            throw configuration_error("split can't be called inside grouped: its own messages would have to wait");
        }
        std::array const wish{color, key};
        auto const wishes = detail::gather_all<std::array<int, 2>>(staged(), std::span(&wish, 1));
        // NCCL takes no negative colors; the first replica of each color stands for it.
        auto const first =
            std::find_if(wishes.begin(), wishes.end(), [&](auto const& each) { return each[0] == color; });
        ncclComm_t part = nullptr;
        auto config = non_blocking();
        cuda::device_guard const guard{device()};
        auto const result =
            ncclCommSplit(channel().comm(), static_cast<int>(first - wishes.begin()), key, &part, &config);
        detail::nccl_check(result, "ncclCommSplit", channel().comm(), {rank(), device()});
        channel().settle(channel().comm(), "ncclCommSplit", "split");
        channel().settle(part, "ncclCommSplit", "split");
        return {part, ownership::owned, channel().shared_stream(), deadline()};
    }

    /// Collective over the replicas that are not in `lost`, which are ranked as here: a communicator of those alone, on this
    /// stream, with this deadline and an empty agreement log. The others take no part, alive or not. What is in flight here
    /// is lost, and this communicator then has failed; it may also be used on where nothing was. Not inside `grouped`, and
    /// not once this one has failed: it has been aborted then, and a new one takes a new id. Throws configuration_error
    /// for a rank outside the group, this replica's own, or an NCCL before 2.27; deadline_exceeded, nccl_error.
    [[nodiscard]] nccl_communicator without(std::vector<int> lost) {
        channel().throw_if_failed();
        if (in_group() || std::any_of(lost.begin(), lost.end(),
                                      [this](int other) { return other < 0 || other >= size() || other == rank(); })) {
            throw configuration_error("without(lost) takes ranks of other replicas of the group, outside of grouped");
        }
#if defined(NCCL_SHRINK_ABORT)
        std::sort(lost.begin(), lost.end());
        lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
        bool const in_flight = channel().in_flight();
        ncclComm_t part = nullptr;
        auto config = non_blocking();
        cuda::device_guard const guard{device()};
        auto const result = ncclCommShrink(channel().comm(), lost.data(), static_cast<int>(lost.size()), &part, &config,
                                           in_flight ? NCCL_SHRINK_ABORT : NCCL_SHRINK_DEFAULT);
        detail::nccl_check(result, "ncclCommShrink", channel().comm(), {rank(), device()});
        try {
            channel().settle(part, "ncclCommShrink", "the making of a communicator without lost replicas");
        } catch (...) {
            abandon({part});
            throw;
        }
        nccl_communicator made{part, ownership::owned, channel().shared_stream(), deadline()};
        if (in_flight) {
            channel().fail("a communicator without lost replicas was made while collectives were in flight");
        }
        return made;
#else
        throw configuration_error("without(lost) takes NCCL 2.27 or newer");
#endif
    }

    /// For the device engine, which puts work of its own before and behind collectives without waiting.
    [[nodiscard]] std::shared_ptr<detail::nccl_channel> const& shared_channel() const {
        (void)channel();
        return channel_;
    }

private:
    friend class detail::batching<nccl_communicator>;
    friend std::vector<nccl_communicator> nccl_communicators(std::span<int const> devices, milliseconds deadline);
    using ownership = detail::nccl_channel::ownership;

    nccl_communicator(ncclComm_t comm, ownership owner, detail::nccl_stream stream, milliseconds deadline)
        : batching(deadline),
          channel_(std::make_shared<detail::nccl_channel>(comm, owner, std::move(stream), deadline)),
          staged_(std::make_unique<nccl_staged>(channel_)) {
        cuda::device_guard const guard{channel_->device()};
        mark_ = std::make_shared<detail::nccl_mark>();
    }

    [[nodiscard]] detail::nccl_channel& channel() const {
        if (!channel_) {
            throw configuration_error("this nccl_communicator was moved from: it belongs to no group");
        }
        return *channel_;
    }

    void make(std::span<detail::pending_call const> batch) {
        channel().launch(batch);
        channel().mark(mark_, {});
        channel().wait(*mark_, deadline(), detail::batch_text(batch));
    }

    static ncclComm_t not_null(ncclComm_t comm) {
        if (comm == nullptr) {
            throw configuration_error("an nccl_communicator needs an ncclComm_t, not null");
        }
        return comm;
    }

    static ncclConfig_t non_blocking() {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        return config;
    }

    /// Non-blocking: a blocking ncclCommInitRank can't be ended by a deadline.
    static ncclComm_t join(ncclUniqueId const& id, int rank, int replicas, milliseconds deadline) {
        detail::patience waiting{deadline};
        detail::nccl_place const place{rank, cuda::current_device()};
        ncclComm_t comm = nullptr;
        auto config = non_blocking();
        auto const result = ncclCommInitRankConfig(&comm, replicas, id, rank, &config);
        if (detail::nccl_failed(result)) {
            abandon({comm});
            detail::throw_nccl_error("ncclCommInitRankConfig", result, nullptr, place);
        }
        await_all({comm}, waiting, deadline, rank, place.device);
        return comm;
    }

    /// Ends them all if one of them does not become ready.
    static void await_all(std::vector<ncclComm_t> const& comms, detail::patience& waiting, milliseconds deadline,
                          int first_rank, int device) {
        try {
            for (auto const comm : comms) {
                if (!detail::nccl_settle(comm, waiting, "ncclCommInitRankConfig", {first_rank, device})) {
                    throw deadline_exceeded("replica " + std::to_string(first_rank) + " waited longer than " +
                                            std::to_string(deadline.count()) +
                                            " ms for the others to make an NCCL communicator (NCCL does not say for "
                                            "which)");
                }
            }
        } catch (...) {
            abandon(comms);
            throw;
        }
    }

    static void abandon(std::vector<ncclComm_t> const& comms) noexcept {
        for (auto const comm : comms) {
            if (comm != nullptr) {
                detail::nccl_retire(comm, detail::nccl_ending::abort, {}, std::chrono::seconds{1});
            }
        }
    }

    std::shared_ptr<detail::nccl_channel> channel_;
    std::unique_ptr<nccl_staged> staged_;
    std::shared_ptr<detail::nccl_mark> mark_;
    int exceptions_ = std::uncaught_exceptions();
};

static_assert(communicator<nccl_communicator>);

/// One communicator for each of these devices, in rank order, all of this process: one thread for each is to use it.
/// Throws deadline_exceeded, nccl_error, such as for a device named twice.
inline std::vector<nccl_communicator> nccl_communicators(std::span<int const> devices,
                                                         std::chrono::milliseconds deadline = std::chrono::minutes{5}) {
    // Not ncclCommInitAll: its communicators block, and then no deadline would hold in their first collective.
    detail::patience waiting{deadline};
    ncclUniqueId id;
    detail::nccl_check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    auto const replicas = static_cast<int>(devices.size());
    auto config = nccl_communicator::non_blocking();
    std::vector<ncclComm_t> comms(devices.size());
    detail::nccl_check(ncclGroupStart(), "ncclGroupStart");
    ncclResult_t result = ncclSuccess;
    try {
        for (std::size_t i = 0; i != devices.size() && !detail::nccl_failed(result); ++i) {
            cuda::device_guard const guard{devices[i]};
            result = ncclCommInitRankConfig(&comms[i], replicas, id, static_cast<int>(i), &config);
        }
    } catch (...) {
        (void)ncclGroupEnd();
        nccl_communicator::abandon(comms);
        throw;
    }
    auto const ended = ncclGroupEnd();
    result = detail::nccl_failed(result) ? result : ended;
    if (detail::nccl_failed(result)) {
        nccl_communicator::abandon(comms);
        detail::throw_nccl_error("ncclCommInitRankConfig", result, nullptr, {});
    }
    nccl_communicator::await_all(comms, waiting, deadline, 0, devices.empty() ? -1 : devices[0]);
    std::vector<nccl_communicator> made;
    made.reserve(comms.size());
    try {
        for (auto& comm : comms) {
            using ownership = nccl_communicator::ownership;
            made.push_back(nccl_communicator(std::exchange(comm, nullptr), ownership::owned, nullptr, deadline));
        }
    } catch (...) {
        nccl_communicator::abandon(comms);
        throw;
    }
    return made;
}

/// Collective over a communicator in host memory, such as MPI's or that of threads: one for NCCL with the same ranks, on
/// the device that is current for each replica. Throws what the constructor from an id throws; on all replicas if the id
/// can't be made.
template <host_communicator Communicator>
[[nodiscard]] nccl_communicator nccl_over(Communicator& communicator,
                                          std::chrono::milliseconds deadline = std::chrono::minutes{5}) {
    struct carrier {
        ncclUniqueId id;
        int result;
    };
    carrier mine{};
    if (communicator.rank() == 0) {
        mine.result = static_cast<int>(ncclGetUniqueId(&mine.id));
    }
    auto const root = detail::gather_all<carrier>(communicator, std::span<carrier const>(&mine, 1))[0];
    detail::nccl_check(static_cast<ncclResult_t>(root.result), "ncclGetUniqueId", nullptr, {0, -1});
    return nccl_communicator(root.id, communicator.rank(), communicator.size(), deadline);
}

} // namespace tally
