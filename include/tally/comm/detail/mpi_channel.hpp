// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What `mpi_communicator` is made of: a duplicate of the user's communicator, and collectives that are started and polled
// until a deadline, or go through shared memory where that can be.
#pragma once

#include <tally/comm/detail/call_batch.hpp>
#include <tally/comm/detail/mpi_notes.hpp>
#include <tally/comm/detail/patience.hpp>
#include <tally/comm/detail/shared_board.hpp>
#include <tally/comm/detail/shared_pages.hpp>
#include <tally/comm/detail/watch.hpp>
#include <tally/comm/mpi_error.hpp>
#include <tally/core/errors.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally::detail {

/// A duplicate of a communicator, and the only memory that MPI reads and writes. A group that failed is never freed, for
/// two reasons. MPI keeps on using the memory of a collective that was abandoned, since collectives can't be cancelled.
/// And notes that nobody has read would turn up in a later communicator, to which MPI gives the number of the freed one.
class mpi_channel {
public:
    using milliseconds = std::chrono::milliseconds;

    /// Collective over `parent`. Where `share` is true on all replicas and they are on one machine, data goes through
    /// shared memory.
    static std::unique_ptr<mpi_channel> duplicate(MPI_Comm parent, milliseconds deadline, bool share) {
        std::unique_ptr<mpi_channel> channel{new mpi_channel};
        mpi_errors_returned const guard{parent};
        auto code = MPI_Comm_idup(parent, &channel->comm_, &channel->next_request());
        for (patience waiting{deadline}; code == MPI_SUCCESS && !channel->completed(code);) {
            if (code == MPI_SUCCESS && !waiting.pause()) {
                retire(std::move(channel));
                throw deadline_exceeded("waited longer than " + std::to_string(deadline.count()) +
                                        " ms for all replicas to duplicate the communicator");
            }
        }
        if (code != MPI_SUCCESS) {
            throw mpi_error("MPI can't duplicate the communicator: " + mpi_text(code), code);
        }
        channel->adopted();
        return shared(std::move(channel), deadline, share);
    }

    /// Collective over the replicas of `parent`, which must all be here: MPI has no split that can be polled.
    static std::unique_ptr<mpi_channel> split(mpi_channel& parent, int color, int key, milliseconds deadline,
                                              bool share) {
        std::unique_ptr<mpi_channel> channel{new mpi_channel};
        parent.check(MPI_Comm_split(parent.comm_, color, key, &channel->comm_), "the split of the communicator");
        channel->adopted();
        return shared(std::move(channel), deadline, share);
    }

    mpi_channel(mpi_channel const&) = delete;
    mpi_channel& operator=(mpi_channel const&) = delete;

    /// Frees the group, or gives it up for good. Never waits for another replica.
    static void retire(std::unique_ptr<mpi_channel> channel) noexcept {
        if (channel->board_) {
            channel->board_->leave();
        }
        if (!mpi_is_callable()) {
            return; // mostly because it is over, and has taken back what was its own
        }
        if (channel->requests_.empty() && !channel->group_->failed()) {
            MPI_Comm_free(&channel->comm_);
        } else {
            (void)channel.release();
        }
    }

    [[nodiscard]] int rank() const noexcept { return group_->rank(); }
    [[nodiscard]] int size() const noexcept { return group_->size(); }

    /// Whether data goes through shared memory.
    [[nodiscard]] bool shares() const noexcept { return board_.has_value(); }

    /// Gives up for the whole group. Nobody is told where MPI can't be called any more.
    void abort(std::string const& reason) {
        if (board_) {
            board_->give_up(reason);
        } else if (mpi_is_callable()) {
            group_->give_up(reason);
        }
    }

    /// Makes all collectives of the batch. Throws the same error on all replicas if their batches differ or don't fit.
    void make(std::span<pending_call const> batch, std::size_t largest_message, milliseconds deadline) {
        begin();
        if (board_) {
            board_->make(batch, largest_message, deadline, [this] { let_mpi_work(); });
            return;
        }
        by_messages(
            batch, largest_message, deadline, [&] { put(batch); }, [&] { take(batch); });
    }

    /// Whether exchange() can be called for this batch; the same on all replicas that call the same.
    [[nodiscard]] bool holds(std::span<pending_call const> batch, std::size_t largest_message) const {
        return board_ ? shared_board::holds(batch, largest_message)
                      : wave_planner::takes_one(batch, static_cast<std::size_t>(size()), largest_message);
    }

    /// make() for a message that is written to and read from the memory in which it travels: `write(message_place)`, then
    /// `read(message_place)` where the result is received.
    template <class Write, class Read>
    void exchange(std::span<pending_call const> batch, std::size_t largest_message, milliseconds deadline, Write write,
                  Read read) {
        begin();
        if (board_) {
            board_->exchange(
                batch, largest_message, deadline, [this] { let_mpi_work(); }, write, read);
            return;
        }
        by_messages(
            batch, largest_message, deadline,
            [&] {
                write(place_of(batch, true));
                flip_maxima(batch);
            },
            [&] {
                if (batch.front().call.received_by(rank())) {
                    flip_maxima(batch);
                    read(place_of(batch, false));
                }
            });
    }

private:
    // Unsigned maxima are compared as signed ones, since releases of both common MPIs get the unsigned ones wrong (Open
    // MPI 4.1.2, MPICH 4.0.2): with the top bit flipped, the order is the same.
    static constexpr auto flipped = [](std::uint64_t word) { return word ^ std::uint64_t{1} << 63; };

    static constexpr milliseconds last_moments{100};

    mpi_channel() = default;

    void adopted() {
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        int rank = 0;
        int size = 1;
        MPI_Comm_rank(comm_, &rank);
        MPI_Comm_size(comm_, &size);
        group_.emplace(mpi_notes{comm_}, rank, size);
    }

    /// Moves the group to shared memory if all replicas wish and can. Not by MPI's own windows, since to free one means
    /// to wait for the others.
    static std::unique_ptr<mpi_channel> shared(std::unique_ptr<mpi_channel> channel, milliseconds deadline,
                                               bool share) {
        if (channel->size() > 1 && channel->size() <= shared_board::most_replicas) {
            try {
                channel->share(deadline, share);
            } catch (...) {
                retire(std::move(channel));
                throw;
            }
        }
        return channel;
    }

    void share(milliseconds deadline, bool wished) {
        pending_call const step{pending_call::kind::gather, {"making of the communicator", 0}, {}, {}, {}};
        std::span const batch{&step, 1};
        shared_pages pages;
        if (rank() == 0 && wished) {
            pages = shared_pages::create(shared_board::bytes_for(size()));
            if (pages.data() != nullptr) {
                shared_board::prepare(pages, size());
                address_ = pages.address();
            }
        }
        check(MPI_Ibcast(&address_, sizeof(address_), MPI_BYTE, 0, comm_, &next_request()), step.call.name);
        wait(batch, deadline);
        if (rank() != 0 && wished) {
            pages = shared_pages::open(address_);
        }
        all_share_ = pages.data() != nullptr ? 1 : 0;
        check(MPI_Iallreduce(MPI_IN_PLACE, &all_share_, 1, MPI_INT, MPI_MIN, comm_, &next_request()), step.call.name);
        wait(batch, deadline);
        pages.stop_sharing();
        if (all_share_ == 1) {
            board_.emplace(std::move(pages), rank(), size());
        }
    }

    /// A replica that we wait for may itself wait for a message of the user's that MPI has yet to take from here.
    void let_mpi_work() {
        int arrived = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &arrived, MPI_STATUS_IGNORE);
    }

    void compare(std::span<pending_call const> batch, std::size_t largest_message, milliseconds deadline) {
        digest_ = batch_digest::of(batch, largest_message, rank(), size());
        std::transform(digest_.words.begin(), digest_.words.end(), digest_.words.begin(), flipped);
        check(MPI_Iallreduce(MPI_IN_PLACE, digest_.words.data(), static_cast<int>(digest_.words.size()), MPI_INT64_T,
                             MPI_MAX, comm_, &next_request()),
              batch.front().call.name);
        wait(batch, deadline);
        std::transform(digest_.words.begin(), digest_.words.end(), digest_.words.begin(), flipped);
        if (!digest_.all_the_same()) {
            wire_.resize(static_cast<std::size_t>(size()));
            wire_[static_cast<std::size_t>(rank())] = on_wire(batch, largest_message);
            check(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, wire_.data(), sizeof(wire_batch), MPI_BYTE, comm_,
                                 &next_request()),
                  batch.front().call.name);
            wait(batch, deadline);
            throw_different_calls(wire_);
        }
        throw_if_unfit(batch, digest_, size());
    }

    void begin() {
        group_->throw_if_failed();
        require_mpi();
    }

    /// `put` brings each wave to the staging buffer, `take` brings its result from there.
    template <class Put, class Take>
    void by_messages(std::span<pending_call const> batch, std::size_t largest_message, milliseconds deadline, Put put,
                     Take take) {
        group_->look(milliseconds{0});
        auto const replicas = static_cast<std::size_t>(size());
        std::size_t staging = 0;
        for (wave_planner plan{batch, replicas, largest_message}; auto const words = plan.next(wave_);) {
            staging = std::max(staging, words);
        }
        if (staging_.size() < staging) { // what may run out of memory, before others come to rely on this replica
            staging_.resize(staging);
        }
        requests_.reserve(batch.size());

        compare(batch, largest_message, deadline);
        for (wave_planner plan{batch, replicas, largest_message}; plan.next(wave_) != 0;) {
            put();
            for (auto const& each : wave_) {
                start(batch[each.call], each);
            }
            wait(batch, deadline);
            take();
        }
    }

    /// The bytes of a gather that this replica sends.
    [[nodiscard]] std::byte* own_bytes(pending_call const& each, piece const& part) {
        auto* const bytes = reinterpret_cast<std::byte*>(staging_.data() + part.place);
        return each.call.received_by(rank()) ? bytes + static_cast<std::size_t>(rank()) * part.bytes : bytes;
    }

    void put(std::span<pending_call const> batch) {
        for (auto const& part : wave_) {
            auto const& each = batch[part.call];
            auto* const staged = staging_.data() + part.place;
            if (each.what == pending_call::kind::gather) {
                std::memcpy(own_bytes(each, part), each.mine.data() + part.offset, part.bytes);
            } else if (auto const words = words_of(each, part); each.what == pending_call::kind::sum) {
                std::copy(words.begin(), words.end(), staged);
            } else {
                std::transform(words.begin(), words.end(), staged, flipped);
            }
        }
    }

    [[nodiscard]] message_place place_of(std::span<pending_call const> batch, bool own) {
        message_place place;
        for (auto const& part : wave_) {
            auto* const staged = staging_.data() + part.place;
            switch (batch[part.call].what) {
            case pending_call::kind::sum: place.sums = staged; break;
            case pending_call::kind::max: place.maxes = staged; break;
            case pending_call::kind::gather:
                place.bytes = own ? own_bytes(batch[part.call], part) : reinterpret_cast<std::byte*>(staged);
                place.stride = part.bytes;
                break;
            }
        }
        return place;
    }

    void flip_maxima(std::span<pending_call const> batch) {
        for (auto const& part : wave_) {
            if (batch[part.call].what == pending_call::kind::max) {
                auto* const staged = staging_.data() + part.place;
                std::transform(staged, staged + part.bytes / sizeof(std::uint64_t), staged, flipped);
            }
        }
    }

    void start(pending_call const& each, piece const& part) {
        auto* const staged = staging_.data() + part.place;
        auto const receives = each.call.received_by(rank());
        if (each.what == pending_call::kind::gather) {
            start_gather(each.call, reinterpret_cast<std::byte*>(staged), static_cast<int>(part.bytes), receives);
        } else {
            start_reduction(each, staged, static_cast<int>(part.bytes / sizeof(std::uint64_t)), receives);
        }
    }

    void start_gather(collective_call const& call, std::byte* bytes, int count, bool receives) {
        int code = MPI_SUCCESS;
        if (!call.root) {
            code = MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, bytes, count, MPI_BYTE, comm_, &next_request());
        } else if (receives) {
            code = MPI_Igather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, bytes, count, MPI_BYTE, *call.root, comm_,
                               &next_request());
        } else {
            code =
                MPI_Igather(bytes, count, MPI_BYTE, nullptr, 0, MPI_DATATYPE_NULL, *call.root, comm_, &next_request());
        }
        check(code, call.name);
    }

    void start_reduction(pending_call const& each, std::uint64_t* words, int count, bool receives) {
        auto const sum = each.what == pending_call::kind::sum;
        auto const type = sum ? MPI_UINT64_T : MPI_INT64_T;
        auto const operation = sum ? MPI_SUM : MPI_MAX;
        auto const& call = each.call;
        int code = MPI_SUCCESS;
        if (!call.root) {
            code = MPI_Iallreduce(MPI_IN_PLACE, words, count, type, operation, comm_, &next_request());
        } else if (receives) {
            code = MPI_Ireduce(MPI_IN_PLACE, words, count, type, operation, *call.root, comm_, &next_request());
        } else {
            code = MPI_Ireduce(words, nullptr, count, type, operation, *call.root, comm_, &next_request());
        }
        check(code, call.name);
    }

    void take(std::span<pending_call const> batch) {
        for (auto const& part : wave_) {
            auto const& each = batch[part.call];
            if (!each.call.received_by(rank())) {
                continue;
            }
            auto const* const staged = staging_.data() + part.place;
            if (each.what == pending_call::kind::gather) {
                auto const* bytes = reinterpret_cast<std::byte const*>(staged);
                for (auto place = part.offset; place < each.all.size(); place += each.call.bytes) {
                    std::memcpy(each.all.data() + place, bytes, part.bytes);
                    bytes += part.bytes;
                }
            } else if (auto const words = words_of(each, part); each.what == pending_call::kind::sum) {
                std::copy_n(staged, words.size(), words.begin());
            } else {
                std::transform(staged, staged + words.size(), words.begin(), flipped);
            }
        }
    }

    static std::span<std::uint64_t> words_of(pending_call const& each, piece const& part) {
        return each.words.subspan(part.offset / sizeof(std::uint64_t), part.bytes / sizeof(std::uint64_t));
    }

    [[nodiscard]] MPI_Request& next_request() { return requests_.emplace_back(MPI_REQUEST_NULL); }

    /// Whether all that was started has ended. If not, `code` tells whether MPI reported an error.
    [[nodiscard]] bool completed(int& code) {
        while (!requests_.empty()) {
            int done = 0;
            code = MPI_Test(&requests_.back(), &done, MPI_STATUS_IGNORE);
            if (code != MPI_SUCCESS || done == 0) {
                return false;
            }
            requests_.pop_back();
        }
        return true;
    }

    void wait(std::span<pending_call const> batch, milliseconds deadline) {
        // Where another replica has given up already, what it sent before is on its way or will never come.
        patience waiting{group_->failed() ? last_moments : deadline};
        int code = MPI_SUCCESS;
        for (std::size_t polls = 1; !completed(code); ++polls) {
            check(code, batch.front().call.name);
            if ((waiting.resting() || polls % 64 == 0) && heard_and_not_completed(deadline)) {
                group_->throw_if_failed();
            }
            if (!waiting.pause()) {
                group_->throw_if_failed();
                group_->call_the_roll(batch_text(batch), deadline);
            }
        }
    }

    /// Whether another replica has given up and this collective is lost with it: if that one was done with it, what it
    /// sent may still be on its way.
    [[nodiscard]] bool heard_and_not_completed(milliseconds deadline) {
        try {
            group_->look(deadline);
            return false;
        } catch (replica_lost const&) {
            int code = MPI_SUCCESS;
            patience last{last_moments};
            do {
                if (completed(code)) {
                    return false;
                }
            } while (code == MPI_SUCCESS && last.pause());
            return true;
        }
    }

    /// An error of MPI in a collective ends the group: others may wait for what this replica can't send.
    void check(int code, std::string_view what) {
        if (code != MPI_SUCCESS) {
            auto const reason = "MPI reported to replica " + std::to_string(rank()) + " in " + std::string(what) +
                                ": " + mpi_text(code);
            abort(reason);
            throw mpi_error(reason, code);
        }
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::optional<watch<mpi_notes>> group_;
    std::optional<shared_board> board_; // if any, instead of messages
    shared_pages_address address_;
    int all_share_ = 0;
    std::vector<MPI_Request> requests_; // started and not yet known to have ended
    batch_digest digest_ = {};
    std::vector<wire_batch> wire_;
    std::vector<std::uint64_t> staging_;
    std::vector<piece> wave_;
};

} // namespace tally::detail
