// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `nccl_channel`: one replica's end of an NCCL communicator and its stream. It puts collectives on the stream, waits for
// them until a deadline, and gives up in a way that leaves nobody waiting: the part behind `nccl_communicator`.
#pragma once

#include <tally/comm/agreement_log.hpp>
#include <tally/comm/detail/call_batch.hpp>
#include <tally/comm/detail/patience.hpp>
#include <tally/comm/nccl_calls.hpp>
#include <tally/comm/nccl_error.hpp>
#include <tally/comm/nccl_handle.hpp>
#include <tally/comm/nccl_window.hpp>
#include <tally/core/errors.hpp>
#include <tally/cuda/device.hpp>
#include <tally/cuda/memory.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tally::detail {

/// A point on a channel's stream. Lost if the channel failed before the stream had come there.
struct nccl_mark {
    enum class state : std::uint8_t { pending, reached, lost };

    cuda::detail::event event;
    state now = state::reached;
};

/// Shared by a communicator and the handles of what it has not finished. Used by one thread at a time.
class nccl_channel {
public:
    using milliseconds = std::chrono::milliseconds;
    using mark_type = nccl_mark;
    enum class ownership : std::uint8_t { borrowed, owned };

    /// Takes over an owned communicator, also if this throws. It must be ready.
    nccl_channel(ncclComm_t comm, ownership owner, nccl_stream stream, milliseconds deadline)
        : comm_(comm), owner_(owner), stream_(std::move(stream)), deadline_(deadline) {
        try {
            nccl_check(ncclCommCount(comm, &size_), "ncclCommCount", comm);
            nccl_check(ncclCommUserRank(comm, &place_.rank), "ncclCommUserRank", comm);
            nccl_check(ncclCommCuDevice(comm, &place_.device), "ncclCommCuDevice", comm);
            if (stream_.use_count() == 0) { // not: the default stream, which is null as well
                stream_ = make_nccl_stream(place_.device);
            }
        } catch (...) {
            fail("it could not be set up");
            throw;
        }
    }
    nccl_channel(nccl_channel const&) = delete;
    nccl_channel& operator=(nccl_channel const&) = delete;
    ~nccl_channel() { close(false); }

    [[nodiscard]] int rank() const noexcept { return place_.rank; }
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] int device() const noexcept { return place_.device; }
    [[nodiscard]] ncclComm_t comm() const noexcept { return comm_; }
    [[nodiscard]] cudaStream_t stream() const noexcept { return stream_.get(); }
    [[nodiscard]] nccl_stream const& shared_stream() const noexcept { return stream_; }
    [[nodiscard]] agreement_log& agreements() noexcept { return agreements_; }
    [[nodiscard]] milliseconds deadline() const noexcept { return deadline_; }
    void set_deadline(milliseconds deadline) noexcept { deadline_ = deadline; }

    void throw_if_failed() const {
        if (failed_) {
            throw replica_lost(failure_);
        }
    }

    /// Puts the calls on the stream as one group of NCCL, without waiting for other replicas. Throws shape_error and
    /// configuration_error before anything is called.
    void launch(std::span<pending_call const> batch) { launch(batch, stream()); }
    void launch(std::span<pending_call const> batch, cudaStream_t stream) {
        throw_if_failed();
        for (auto const& each : batch) {
            check_call(each);
        }
        group(
            [&](char const*& call) {
                ncclResult_t result = ncclSuccess;
                for (auto each = batch.begin(); each != batch.end() && !nccl_failed(result); ++each) {
                    result = nccl_issue({comm_, place_.rank, size_, stream}, *each, call);
                }
                return result;
            },
            [&] { return batch_text(batch); });
    }

    /// Puts the calls of NCCL that `issue(call)` makes on the stream as one group. It returns the first result that is an
    /// error, if any, and names what it calls; `what()` names the group, for people.
    template <class Issue, class What>
    void group(Issue issue, What what) {
        throw_if_failed();
        cuda::device_guard const guard{device()};
        nccl_check(ncclGroupStart(), "ncclGroupStart", comm_, place_);
        char const* call = "ncclGroupEnd";
        ncclResult_t result = issue(call);
        auto const ended = ncclGroupEnd(); // whatever happened: a group left open would swallow all later calls
        if (!nccl_failed(result)) {
            result = ended;
            call = "ncclGroupEnd";
        }
        if (nccl_failed(result)) {
            fail_with(call, result);
        }
        if (result == ncclInProgress) { // the operations are not on the stream before this is over
            settle(comm_, call, what());
        }
    }

    /// Sends mine(k) to each replica k and receives theirs(k) from it, as one group. The sizes may differ; what is sent to k
    /// must be as long as what k receives from this replica. To itself nothing is sent if both are the same memory.
    template <class Mine, class Theirs>
    void all_to_all(Mine mine, Theirs theirs) {
        group(
            [&](char const*& call) {
                return nccl_exchange({comm_, place_.rank, size_, stream()}, mine, theirs, call);
            },
            [] { return std::string("an exchange between all replicas"); });
    }

    /// What was begun on `comm` (this one or one being made of it) is over. Throws deadline_exceeded, nccl_error.
    void settle(ncclComm_t comm, char const* call, std::string const& what) {
        patience waiting{deadline_};
        bool over = false;
        try {
            over = nccl_settle(comm, waiting, call, place_);
        } catch (nccl_error const& error) {
            fail(error.what());
            throw;
        }
        if (!over) {
            give_up_waiting(what, deadline_);
        }
    }

    /// Marks this point of the stream; until it is reached, the memory stays.
    void mark(std::shared_ptr<nccl_mark> const& mark, nccl_memory memory) {
        this->mark(mark, std::move(memory), stream());
    }
    void mark(std::shared_ptr<nccl_mark> const& mark, nccl_memory memory, cudaStream_t stream) {
        cuda::device_guard const guard{device()};
        mark->now = nccl_mark::state::pending;
        in_flight_.push_back({mark, std::move(memory)});
        try {
            mark->event.record(stream);
        } catch (std::exception const& error) {
            mark->now = nccl_mark::state::lost; // the event may stand for an earlier time
            fail(error.what());
            throw;
        }
    }

    /// What comes between launch() and mark(): if it throws, what was launched is given up, as nobody can wait for it.
    template <class Function>
    void guarded(Function function) {
        try {
            function();
        } catch (std::exception const& error) {
            fail(error.what());
            throw;
        }
    }

    /// Whether wait() would return or throw at once.
    [[nodiscard]] bool ready(nccl_mark const& mark) {
        look();
        return mark.now != nccl_mark::state::pending;
    }

    /// Returns once the stream has reached the mark. Throws deadline_exceeded, replica_lost, nccl_error, cuda::error;
    /// then the channel has failed.
    void wait(nccl_mark const& mark, milliseconds deadline, std::string const& what) {
        for (patience waiting{deadline};;) {
            look();
            if (mark.now == nccl_mark::state::reached) {
                return;
            }
            if (mark.now == nccl_mark::state::lost) {
                throw replica_lost(failure_);
            }
            ncclResult_t state = ncclSuccess;
            auto const asked = ncclCommGetAsyncError(comm_, &state);
            if (nccl_failed(asked) || nccl_failed(state)) {
                fail_with(what.c_str(), nccl_failed(asked) ? asked : state);
            }
            if (!waiting.pause()) {
                give_up_waiting(what, deadline);
            }
        }
    }

    /// Whether something has been launched that has not come to its mark yet.
    [[nodiscard]] bool in_flight() {
        look();
        return !in_flight_.empty();
    }

    /// The first reason stays. What the stream has not reached is lost; the memory of it is kept until that is certain.
    void fail(std::string const& reason) noexcept {
        if (failed_) {
            return;
        }
        failed_ = true;
        try {
            failure_ = reason;
            look();
        } catch (...) { // NOLINT(bugprone-empty-catch): what can't be asked counts as lost
        }
        for (auto& each : in_flight_) {
            each.mark->now = nccl_mark::state::lost;
        }
        end(nccl_ending::abort, std::chrono::seconds{1});
    }

    /// The user's side is gone: never waits for another replica. What is on its way is lost.
    void close(bool unwinding) noexcept {
        if (failed_) {
            return;
        }
        try {
            look();
        } catch (...) { // NOLINT(bugprone-empty-catch): what can't be asked is on its way
        }
        if (unwinding || !in_flight_.empty()) {
            fail("replica " + std::to_string(rank()) + " left its group");
            return;
        }
        failed_ = true;
        try {
            failure_ = "this replica has left its group";
        } catch (...) { // NOLINT(bugprone-empty-catch): an empty text, then
        }
        close_windows();
        end(nccl_ending::destroy, std::chrono::milliseconds{250});
    }

    /// Whether memory() is to be registered with NCCL; false where it has no windows.
    bool use_windows(bool wanted) {
        windows_wanted_ = wanted && nccl_has_windows();
        return windows_wanted_;
    }
    /// Device memory for messages, which publish() makes known to the other replicas.
    [[nodiscard]] std::shared_ptr<std::byte> memory(std::size_t bytes) const {
        cuda::device_guard const guard{device()};
        return nccl_allocate(bytes, windows_wanted_);
    }
    /// Collective where windows are used, else nothing. Throws deadline_exceeded, nccl_error; then the channel has failed.
    void publish(std::byte* memory, std::size_t bytes) {
        if (!windows_wanted_) {
            return;
        }
        throw_if_failed();
        cuda::device_guard const guard{device()};
        windows_.push_back(nccl_window{}); // of a deque: NCCL may write there later
        auto const result = nccl_register(comm_, memory, bytes, windows_.back());
        if (nccl_failed(result)) {
            fail_with("ncclCommWindowRegister", result);
        }
        settle(comm_, "ncclCommWindowRegister", "the registration of memory for messages");
    }

    /// Something kept for the life of the channel, such as the buffers for one type of message; made by make() the
    /// first time.
    template <class T, class Make>
    std::shared_ptr<T> keep(std::uint64_t key, Make make) {
        throw_if_failed();
        for (auto const& each : kept_) {
            if (each.key == key) {
                return std::static_pointer_cast<T>(each.what);
            }
        }
        cuda::device_guard const guard{device()};
        std::shared_ptr<T> made = make();
        kept_.push_back({key, made});
        return made;
    }

    /// Memory that nothing new will use. Freed with the channel, and never by this thread: freeing device memory waits for
    /// all work of its device, freeing pinned memory for that of all devices, and replicas there may wait for this one.
    void entrust(std::shared_ptr<void> memory) noexcept {
        if (memory == nullptr) {
            return;
        }
        try {
            if (failed_) {
                nccl_retire(nullptr, nccl_ending::destroy, {std::move(memory)}, milliseconds{0});
            } else {
                kept_.push_back({0, std::move(memory)});
            }
        } catch (...) { // NOLINT(bugprone-empty-catch): no memory to keep it: freed here
        }
    }

private:
    struct flight {
        std::shared_ptr<nccl_mark> mark;
        nccl_memory memory;
    };
    struct keepsake {
        std::uint64_t key;
        std::shared_ptr<void> what;
    };

    void check_call(pending_call const& each) const {
        auto const& call = each.call;
        if (call.root && (*call.root < 0 || *call.root >= size_)) {
            throw configuration_error("the root of " + call.text() + " is outside a group of " + std::to_string(size_) +
                                      " replicas");
        }
        if (call.misfit) {
            throw shape_error("replica " + std::to_string(rank()) + " called " + call.text() +
                              " with a receiving buffer that isn't " + std::to_string(size_) +
                              " times as long as what each replica sends");
        }
    }

    /// What each replica does by itself before the memory goes.
    void close_windows() noexcept {
        try {
            for (auto const each : windows_) {
                patience waiting{milliseconds{250}};
                nccl_deregister(comm_, each);
                (void)nccl_settle(comm_, waiting, "ncclCommWindowDeregister", place_);
            }
        } catch (...) { // NOLINT(bugprone-empty-catch): then destroying the communicator has to see to it
        }
    }

    /// Updates the marks and lets go of the memory behind those that are reached.
    void look() {
        try {
            cuda::device_guard const guard{device()};
            for (auto& each : in_flight_) {
                if (each.mark->now == nccl_mark::state::pending && each.mark->event.ready()) {
                    each.mark->now = nccl_mark::state::reached;
                }
            }
        } catch (cuda::error const& error) {
            fail(error.what());
            throw;
        }
        std::erase_if(in_flight_, [](auto& each) {
            if (each.mark->now == nccl_mark::state::pending) {
                return false;
            }
            for (auto& memory : each.memory) {
                if (memory.use_count() == 1) {
                    nccl_retire(nullptr, nccl_ending::destroy, {std::move(memory)}, milliseconds{0});
                }
            }
            return true;
        });
    }

    [[noreturn]] void fail_with(char const* call, ncclResult_t result) {
        auto const reason = std::string(call) + " failed" + place_.text() + ": " + nccl_text(result, comm_);
        fail(reason);
        throw nccl_error(reason, static_cast<int>(result), place_.rank, place_.device);
    }

    [[noreturn]] void give_up_waiting(std::string const& what, milliseconds deadline) {
        fail("replica " + std::to_string(rank()) + " of " + std::to_string(size_) + ", device " +
             std::to_string(device()) + ", waited longer than " + std::to_string(deadline.count()) + " ms in " + what +
             " (NCCL does not say for which replicas)");
        throw deadline_exceeded(failure_);
    }

    void end(nccl_ending how, milliseconds limit) noexcept {
        nccl_memory memory;
        try {
            for (auto& each : in_flight_) {
                memory.insert(memory.end(), each.memory.begin(), each.memory.end());
                memory.push_back(each.mark);
            }
            for (auto& each : kept_) {
                memory.push_back(each.what);
            }
            memory.push_back(stream_);
        } catch (...) { // NOLINT(bugprone-empty-catch): what could not be noted is freed where it is used last
        }
        in_flight_.clear();
        kept_.clear();
        auto const comm = std::exchange(comm_, nullptr);
        if (owner_ == ownership::owned) {
            nccl_retire(comm, how, std::move(memory), limit);
        } else if (how == nccl_ending::destroy) {
            nccl_retire(nullptr, how, std::move(memory), limit);
        } else {
#if defined(NCCL_REVOKE_DEFAULT)
            (void)ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT); // ends what is in flight; the user's handle stays valid
#endif
            // Never freed: nobody tells when the user's communicator has stopped to use it.
            static_cast<void>(new (std::nothrow) nccl_memory(std::move(memory)));
        }
    }

    ncclComm_t comm_;
    ownership owner_;
    nccl_stream stream_;
    nccl_place place_;
    int size_ = 0;
    milliseconds deadline_;
    bool failed_ = false;
    std::string failure_;
    std::deque<flight> in_flight_;
    std::vector<keepsake> kept_;
    bool windows_wanted_ = false;
    std::deque<nccl_window> windows_;
    agreement_log agreements_;
};

} // namespace tally::detail
