// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// `shared_board`: how replicas that are processes of one machine make collectives through memory that all of them map.
// The same scheme as between threads, but for waiting, which is polling here: a process may die at any place.
#pragma once

#include <tally/comm/detail/call_batch.hpp>
#include <tally/comm/detail/patience.hpp>
#include <tally/comm/detail/shared_pages.hpp>
#include <tally/core/errors.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tally::detail {

/// The board as one replica sees it.
///
/// Every replica's digest and data exist twice, for even and odd rounds: a replica may start round n + 1 while others
/// still read round n, but can't start n + 2 before all have come to n + 1, which they do after their last read of n.
class shared_board {
public:
    using milliseconds = std::chrono::milliseconds;

    static constexpr int most_replicas = 64;
    static constexpr std::size_t room = std::size_t{1} << 20; // bytes of data of one replica in one round

    static std::size_t bytes_for(int replicas) {
        return first_seat + static_cast<std::size_t>(replicas) * (sizeof(seat) + 2 * room);
    }

    /// By the process that created the pages, before any other opens them.
    static void prepare(shared_pages const& pages, int replicas) {
        new (pages.data() + head_place) head;
        for (int rank = 0; rank != replicas; ++rank) {
            new (pages.data() + first_seat + static_cast<std::size_t>(rank) * sizeof(seat)) seat;
        }
    }

    shared_board(shared_pages pages, int rank, int size) : pages_(std::move(pages)), rank_(rank), size_(size) {}

    /// Gives up for the whole group; the first reason stays. Whether that is this one.
    bool give_up(std::string const& reason) {
        auto expected = failure::none;
        if (!shared().state.compare_exchange_strong(expected, failure::being_told)) {
            return false;
        }
        reason.copy(shared().reason, sizeof(head::reason) - 1);
        shared().state.store(failure::told, std::memory_order_release);
        return true;
    }

    /// Takes no part any more: who waits for this replica now or later gets replica_lost.
    void leave() noexcept { seat_of(rank_).left.store(true, std::memory_order_release); }

    /// Makes all collectives of the batch; throws the same error on all replicas if their batches differ or don't fit.
    /// `meanwhile` is called now and then while waiting.
    template <class Meanwhile>
    void make(std::span<pending_call const> batch, std::size_t largest_message, milliseconds deadline,
              Meanwhile meanwhile) {
        run(
            batch, largest_message, deadline, meanwhile, [&] { put(batch); }, [&] { take(batch); });
    }

    /// Whether exchange() can be called for this batch.
    static bool holds(std::span<pending_call const> batch, std::size_t largest_message) {
        return wave_planner::takes_one(batch, 1, std::min(largest_message, room));
    }

    /// The same for a message, whose memory is this board's: `write(place)` puts it there, `read(place)` takes the result
    /// out, where it is received. Nothing else is copied.
    template <class Meanwhile, class Write, class Read>
    void exchange(std::span<pending_call const> batch, std::size_t largest_message, milliseconds deadline,
                  Meanwhile meanwhile, Write write, Read read) {
        auto const place_in = [&](std::uint64_t* words, std::uint64_t* gathered) {
            message_place place;
            for (auto const& part : wave_) {
                switch (batch[part.call].what) {
                case pending_call::kind::sum: place.sums = words + part.place; break;
                case pending_call::kind::max: place.maxes = words + part.place; break;
                case pending_call::kind::gather:
                    place.bytes = reinterpret_cast<std::byte*>(gathered + part.place);
                    place.stride = 2 * room;
                    break;
                }
            }
            return place;
        };
        run(
            batch, largest_message, deadline, meanwhile, [&] { write(place_in(lane(rank_), lane(rank_))); },
            [&] {
                if (batch.front().call.received_by(rank_)) {
                    read(place_in(result_, lane(0)));
                }
            });
    }

private:
    enum class failure : std::uint32_t { none, being_told, told };

    struct alignas(64) head {
        std::atomic<failure> state = failure::none;
        char reason[1020] = {};
    };
    // Own cache lines: each replica writes its own seat only.
    struct alignas(64) seat {
        std::atomic<std::uint64_t> arrivals = 0;
        std::atomic<bool> left = false;
        std::array<batch_digest, 2> digest = {};
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<failure>::is_always_lock_free &&
                      std::atomic<bool>::is_always_lock_free,
                  "tally: atomics with locks of their own process can't be shared by processes");

    /// Words of all replicas together up to which each of them reduces all: reading costs less than to meet again.
    static constexpr std::size_t few_words = 4096;

    static constexpr std::size_t head_place = 64; // after the word that belongs to the pages
    static constexpr std::size_t first_seat = head_place + sizeof(head);

    [[nodiscard]] head& shared() const { return *std::launder(reinterpret_cast<head*>(pages_.data() + head_place)); }
    [[nodiscard]] seat& seat_of(int rank) const {
        return std::launder(reinterpret_cast<seat*>(pages_.data() + first_seat))[rank];
    }
    /// The data of one replica in this round.
    [[nodiscard]] std::uint64_t* lane(int rank) const {
        auto* const lanes = pages_.data() + first_seat + static_cast<std::size_t>(size_) * sizeof(seat);
        return reinterpret_cast<std::uint64_t*>(lanes + (2 * static_cast<std::size_t>(rank) + parity_) * room);
    }

    void begin_round() { parity_ ^= 1; }

    template <class Meanwhile, class Put, class Take>
    void run(std::span<pending_call const> batch, std::size_t largest_message, milliseconds deadline,
             Meanwhile& meanwhile, Put put, Take take) {
        throw_if_failed();
        wave_planner plan{batch, 1, std::min(largest_message, room)};
        auto words = plan.next(wave_);
        begin_round();
        seat_of(rank_).digest[parity_] = batch_digest::of(batch, largest_message, rank_, size_);
        put();
        meet(batch, deadline, meanwhile);
        auto const maximum = maximal_digest();
        if (!maximum.all_the_same()) {
            begin_round();
            new (lane(rank_)) wire_batch(on_wire(batch, largest_message));
            meet(batch, deadline, meanwhile);
            throw_different_calls(all_on_wire());
        }
        throw_if_unfit(batch, maximum, size_);
        while (words != 0) {
            if (reduce(batch, words)) {
                meet(batch, deadline, meanwhile);
            }
            take();
            words = plan.next(wave_);
            if (words != 0) {
                begin_round();
                put();
                meet(batch, deadline, meanwhile);
            }
        }
    }

    void put(std::span<pending_call const> batch) {
        for (auto const& part : wave_) {
            auto const& each = batch[part.call];
            auto const* const from = each.what == pending_call::kind::gather
                                         ? each.mine.data()
                                         : reinterpret_cast<std::byte const*>(each.words.data());
            std::memcpy(lane(rank_) + part.place, from + part.offset, part.bytes);
        }
    }

    /// Reduces the words: all of them where they are few, into memory of this replica; else this replica's share, in the
    /// lane of rank 0, where nobody else touches that share before all have met again. Whether they have to.
    bool reduce(std::span<pending_call const> batch, std::size_t words) {
        auto const is_reduction = [&](piece const& part) {
            return batch[part.call].what != pending_call::kind::gather;
        };
        bool const any = std::any_of(wave_.begin(), wave_.end(), is_reduction);
        bool const alone = words * static_cast<std::size_t>(size_) <= few_words;
        result_ = alone ? few_.data() : lane(0);
        for (auto const& part : wave_) {
            auto const& each = batch[part.call];
            if (is_reduction(part) && (!alone || each.call.received_by(rank_))) {
                each.what == pending_call::kind::sum
                    ? reduce(part, alone, [](auto a, auto b) { return a + b; })
                    : reduce(part, alone, [](auto a, auto b) { return a < b ? b : a; });
            }
        }
        return any && !alone;
    }

    template <class Operation>
    void reduce(piece const& part, bool alone, Operation operation) {
        auto const words = part.bytes / sizeof(std::uint64_t);
        auto const replicas = static_cast<std::size_t>(size_);
        auto const share = static_cast<std::size_t>(rank_);
        auto const begin = part.place + (alone ? 0 : words * share / replicas);
        auto const end = part.place + (alone ? words : words * (share + 1) / replicas);
        auto const* first = lane(0);
        for (int other = 1; other != size_; ++other) {
            auto const* const theirs = lane(other);
            for (auto i = begin; i != end; ++i) {
                result_[i] = operation(first[i], theirs[i]);
            }
            first = result_;
        }
    }

    void take(std::span<pending_call const> batch) {
        for (auto const& part : wave_) {
            auto const& each = batch[part.call];
            if (!each.call.received_by(rank_)) {
                continue;
            }
            if (each.what != pending_call::kind::gather) {
                std::copy_n(result_ + part.place, part.bytes / sizeof(std::uint64_t),
                            each.words.begin() + static_cast<std::ptrdiff_t>(part.offset / sizeof(std::uint64_t)));
                continue;
            }
            for (int other = 0; other != size_; ++other) {
                auto const place = static_cast<std::size_t>(other) * each.call.bytes + part.offset;
                std::memcpy(each.all.data() + place, lane(other) + part.place, part.bytes);
            }
        }
    }

    [[nodiscard]] batch_digest maximal_digest() const {
        batch_digest result = {};
        for (int other = 0; other != size_; ++other) {
            auto const& theirs = seat_of(other).digest[parity_].words;
            std::transform(theirs.begin(), theirs.end(), result.words.begin(), result.words.begin(),
                           [](auto a, auto b) { return std::max(a, b); });
        }
        return result;
    }

    [[nodiscard]] std::vector<wire_batch> all_on_wire() const {
        std::vector<wire_batch> all;
        for (int other = 0; other != size_; ++other) {
            all.push_back(*std::launder(reinterpret_cast<wire_batch const*>(lane(other))));
        }
        return all;
    }

    /// Returns once all replicas have come here; throws and fails the group if one doesn't.
    template <class Meanwhile>
    void meet(std::span<pending_call const> batch, milliseconds deadline, Meanwhile& meanwhile) {
        seat_of(rank_).arrivals.store(++round_, std::memory_order_release);
        patience waiting{deadline};
        for (std::size_t polls = 1; !all_came(); ++polls) {
            throw_if_failed();
            throw_if_left(batch);
            if (waiting.resting() || polls % 64 == 0) {
                meanwhile();
            }
            if (!waiting.pause() && !all_came()) {
                auto const reason = "replica " + std::to_string(rank_) + " waited longer than " +
                                    std::to_string(deadline.count()) + " ms in " + batch_text(batch) + missing();
                if (give_up(reason)) {
                    throw deadline_exceeded(reason);
                }
                throw replica_lost(reason_told());
            }
        }
    }

    [[nodiscard]] bool came(int rank) const { return seat_of(rank).arrivals.load(std::memory_order_acquire) >= round_; }
    [[nodiscard]] bool all_came() const {
        for (int other = 0; other != size_; ++other) {
            if (!came(other)) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] std::string missing() const {
        std::string names;
        for (int other = 0; other != size_; ++other) {
            if (!came(other)) {
                names += (names.empty() ? "; missing: replica " : ", replica ") + std::to_string(other);
            }
        }
        return names;
    }

    void throw_if_failed() const {
        if (shared().state.load(std::memory_order_acquire) != failure::none) {
            throw replica_lost(reason_told());
        }
    }

    void throw_if_left(std::span<pending_call const> batch) {
        for (int other = 0; other != size_; ++other) {
            if (seat_of(other).left.load(std::memory_order_acquire) && !came(other)) {
                give_up("replica " + std::to_string(other) + " left its group before taking part in " +
                        batch_text(batch));
                throw replica_lost(reason_told());
            }
        }
    }

    /// Who tells the reason may be killed while at it.
    [[nodiscard]] std::string reason_told() const {
        patience waiting{milliseconds{100}};
        while (shared().state.load(std::memory_order_acquire) != failure::told) {
            if (!waiting.pause()) {
                return "a replica gave up for a reason that it had no time to tell";
            }
        }
        return shared().reason;
    }

    shared_pages pages_;
    int rank_;
    int size_;
    std::size_t parity_ = 0;
    std::uint64_t round_ = 0;
    std::vector<piece> wave_;
    std::array<std::uint64_t, few_words / 2> few_ = {}; // of two replicas at least
    std::uint64_t* result_ = nullptr;                   // of reductions
};

} // namespace tally::detail
