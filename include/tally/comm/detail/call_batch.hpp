// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The collectives of one group as a communicator with messages of fixed size sees them: what replicas compare before
// data moves, and how large data is cut into pieces that fit a staging buffer.
#pragma once

#include <tally/comm/thread_rendezvous.hpp>
#include <tally/core/errors.hpp>
#include <tally/core/type_name.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::detail {

/// A collective that was called but not yet made, with the caller's memory.
struct pending_call {
    enum class kind { gather, sum, max };

    kind what = kind::gather;
    collective_call call = {};
    std::span<std::byte const> mine = {}; // gathers
    std::span<std::byte> all = {};        // gathers
    std::span<std::uint64_t> words = {};  // reductions, in place
};

/// The calls of one message: a sum, a maximum and a gather, less those without data. Sizes first; memory where it is known.
class message_calls {
public:
    using kind = pending_call::kind;

    message_calls(std::size_t sums, std::size_t maxes, std::size_t bytes, std::optional<int> root) {
        add(kind::sum, root ? "reduce_sum" : "all_reduce_sum", sums * sizeof(std::uint64_t), root);
        add(kind::max, root ? "reduce_max" : "all_reduce_max", maxes * sizeof(std::uint64_t), root);
        add(kind::gather, root ? "gather" : "all_gather", bytes, root);
    }

    message_calls& with(std::span<std::uint64_t> sums, std::span<std::uint64_t> maxes, std::span<std::byte const> mine,
                        std::span<std::byte> all) {
        for (auto& each : std::span(calls_).first(count_)) {
            if (each.what == kind::gather) {
                each.mine = mine;
                each.all = all;
            } else {
                each.words = each.what == kind::sum ? sums : maxes;
            }
        }
        return *this;
    }

    [[nodiscard]] std::span<pending_call const> calls() const { return std::span(calls_).first(count_); }

private:
    void add(kind what, std::string_view name, std::size_t bytes, std::optional<int> root) {
        if (bytes != 0) {
            calls_[count_++] = {what, {name, bytes, root}, {}, {}, {}};
        }
    }

    std::array<pending_call, 3> calls_ = {};
    std::size_t count_ = 0;
};

/// Where a message lies. Of the gathered bytes, those of this replica while it is written; those of replica k at
/// bytes + k * stride while it is read.
struct message_place {
    std::uint64_t* sums = nullptr;
    std::uint64_t* maxes = nullptr;
    std::byte* bytes = nullptr;
    std::size_t stride = 0;
};

/// One collective in a message that every replica can read.
struct wire_call {
    static constexpr std::int64_t no_root = std::numeric_limits<std::int64_t>::min();

    char name[16] = {}; // all empty: no call
    std::uint64_t bytes = 0;
    std::int64_t root = no_root;

    [[nodiscard]] collective_call call() const {
        auto const to = root == no_root ? std::optional<int>{} : std::optional<int>{static_cast<int>(root)};
        return {std::string_view(name), bytes, to};
    }
};

/// The calls of a group, cut off after some. Sent only after all replicas have seen that they differ.
struct wire_batch {
    static constexpr std::size_t most = 8;

    std::uint64_t count = 0;
    std::uint64_t largest_message = 0;
    std::array<wire_call, most> calls = {};
};

inline wire_batch on_wire(std::span<pending_call const> batch, std::size_t largest_message) {
    wire_batch result;
    result.count = batch.size();
    result.largest_message = largest_message;
    for (std::size_t i = 0; i != std::min(batch.size(), wire_batch::most); ++i) {
        auto const& call = batch[i].call;
        call.name.copy(result.calls[i].name, sizeof(wire_call::name) - 1);
        result.calls[i].bytes = call.bytes;
        result.calls[i].root = call.root ? *call.root : wire_call::no_root;
    }
    return result;
}

/// What replicas compare by one unsigned maximum: all hashes are equal if the largest is the smallest. The third word
/// names the first replica whose receiving buffer has a wrong size.
struct batch_digest {
    std::array<std::uint64_t, 3> words;

    static batch_digest of(std::span<pending_call const> batch, std::size_t largest_message, int rank, int size) {
        hasher hash;
        hash.add(std::uint64_t{batch.size()}).add(std::uint64_t{largest_message});
        bool misfit = false;
        for (auto const& each : batch) {
            hash.add(each.call.name).add(std::uint64_t{each.call.bytes});
            hash.add(static_cast<std::uint64_t>(each.call.root ? *each.call.root : wire_call::no_root));
            misfit = misfit || each.call.misfit;
        }
        return {{hash.value(), ~hash.value(), misfit ? static_cast<std::uint64_t>(size - rank) : 0}};
    }

    [[nodiscard]] bool all_the_same() const { return words[0] == ~words[1]; }
    [[nodiscard]] int first_misfit(int size) const { return words[2] == 0 ? size : size - static_cast<int>(words[2]); }
};

/// What a replica waits in, for people.
inline std::string batch_text(std::span<pending_call const> batch) {
    auto const more = batch.size() > 1 ? " (first of " + std::to_string(batch.size()) + " in a group)" : std::string{};
    return batch.front().call.text() + more;
}

/// Every replica holds the same `all`, so every replica throws the same text.
[[noreturn]] inline void throw_different_calls(std::span<wire_batch const> all) {
    auto const& mine = all[0];
    for (std::size_t other = 1; other != all.size(); ++other) {
        auto const& theirs = all[other];
        auto const rank = std::to_string(other);
        if (theirs.largest_message != mine.largest_message) {
            throw layout_mismatch("replica 0 has set a largest message of " + std::to_string(mine.largest_message) +
                                  " bytes, replica " + rank + " one of " + std::to_string(theirs.largest_message) +
                                  " bytes: all must set the same");
        }
        for (std::size_t i = 0; i != wire_batch::most; ++i) {
            auto const ours = mine.calls[i].call();
            auto const each = theirs.calls[i].call();
            if (!ours.same_as(each)) {
                auto const text = [](collective_call const& call) {
                    return call.name.empty() ? std::string{"nothing more in this group"} : call.text();
                };
                throw layout_mismatch("replica 0 called " + text(ours) + ", replica " + rank + " called " + text(each));
            }
        }
        if (theirs.count != mine.count) {
            throw layout_mismatch("replica 0 made " + std::to_string(mine.count) + " calls in a group, replica " +
                                  rank + " made " + std::to_string(theirs.count));
        }
    }
    throw layout_mismatch("replicas made different calls in a group, after the first " +
                          std::to_string(wire_batch::most));
}

/// Throws what is wrong with a batch that all replicas have in common, on all of them.
inline void throw_if_unfit(std::span<pending_call const> batch, batch_digest const& maximum, int size) {
    for (auto const& each : batch) {
        if (each.call.root && (*each.call.root < 0 || *each.call.root >= size)) {
            throw configuration_error("the root of " + each.call.text() + " is outside a group of " +
                                      std::to_string(size) + " replicas");
        }
    }
    if (auto const replica = maximum.first_misfit(size); replica != size) {
        throw shape_error("replica " + std::to_string(replica) + " called " + batch_text(batch) +
                          " with a receiving buffer that isn't " + std::to_string(size) +
                          " times as long as what each replica sends");
    }
}

/// A part of a call, and where in the staging buffer it goes. A gather takes one part for each replica, in rank order.
struct piece {
    std::size_t call;
    std::size_t offset; // in bytes of what one replica sends
    std::size_t bytes;
    std::size_t place; // in words of the staging buffer
};

/// Cuts a batch into waves of pieces. The cut depends only on what replicas have compared: it is the same on all.
class wave_planner {
public:
    wave_planner(std::span<pending_call const> batch, std::size_t replicas, std::size_t largest_message)
        : batch_(batch), replicas_(replicas), words_(std::max(largest_message / sizeof(std::uint64_t), replicas)) {}

    /// The next wave; returns the words it needs in the staging buffer, 0 after the last one.
    std::size_t next(std::vector<piece>& wave) {
        wave.clear();
        std::size_t used = 0;
        while (call_ != batch_.size()) {
            auto const& each = batch_[call_];
            auto const parts = each.what == pending_call::kind::gather ? replicas_ : 1;
            auto const left = each.call.bytes - offset_;
            auto const room = (words_ - used) / parts * sizeof(std::uint64_t);
            auto const bytes = std::min(left, room);
            if (bytes != 0) {
                wave.push_back({call_, offset_, bytes, used});
                used += (bytes * parts + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
                offset_ += bytes;
            }
            if (bytes != left) {
                return used;
            }
            offset_ = 0;
            ++call_;
        }
        return used;
    }

    /// Whether one wave is all.
    [[nodiscard]] static bool takes_one(std::span<pending_call const> batch, std::size_t replicas,
                                        std::size_t largest_message) {
        std::size_t words = 0;
        for (auto const& each : batch) {
            auto const parts = each.what == pending_call::kind::gather ? replicas : 1;
            words += (each.call.bytes * parts + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
        }
        return words <= largest_message / sizeof(std::uint64_t);
    }

private:
    std::span<pending_call const> batch_;
    std::size_t replicas_;
    std::size_t words_;
    std::size_t call_ = 0;
    std::size_t offset_ = 0;
};

} // namespace tally::detail
