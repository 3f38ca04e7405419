// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How accumulators travel between replicas. Each accumulator has one `travel(archive)` that names its words; the same
// function counts them, packs them and unpacks them. There are three lanes: 64-bit sums, 64-bit unsigned maxima, and
// raw bytes that are gathered and merged in rank order. A combine is at most one collective a lane.
#pragma once

#include <tally/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

/// What a word is made of on the wire.
enum class element_type : std::uint8_t { uint64, bytes };

/// How a word is combined across replicas. `ordered` means gathered and merged in rank order.
enum class reduce_op : std::uint8_t { sum, max, ordered };

/// One line of an accumulator's wire description.
struct word {
    element_type type;
    std::size_t count;
    reduce_op op;
    [[nodiscard]] constexpr bool operator==(word const&) const = default;
};

/// Sizes of the three lanes of a message.
struct lane_sizes {
    std::size_t sums = 0;  ///< 64-bit words combined by addition modulo 2^64
    std::size_t maxes = 0; ///< 64-bit words combined by unsigned maximum
    std::size_t bytes = 0; ///< bytes that are gathered, merged in rank order
    constexpr lane_sizes& operator+=(lane_sizes const& other) {
        sums += other.sums;
        maxes += other.maxes;
        bytes += other.bytes;
        return *this;
    }
    [[nodiscard]] constexpr bool operator==(lane_sizes const&) const = default;
};

/// Archive that counts words.
class word_counter {
public:
    TALLY_HD constexpr void sum(std::uint64_t&) { ++sums_; }
    TALLY_HD constexpr void max(std::uint64_t&) { ++maxes_; }
    [[nodiscard]] constexpr lane_sizes sizes() const { return {sums_, maxes_, 0}; }

private:
    std::size_t sums_ = 0;
    std::size_t maxes_ = 0;
};

/// Archive that copies words into the lanes of a message and moves on.
class word_writer {
public:
    TALLY_HD constexpr word_writer(std::uint64_t* sums, std::uint64_t* maxes) : sums_{sums}, maxes_{maxes} {}
    TALLY_HD constexpr void sum(std::uint64_t& word) { *sums_++ = word; }
    TALLY_HD constexpr void max(std::uint64_t& word) { *maxes_++ = word; }

private:
    std::uint64_t* sums_;
    std::uint64_t* maxes_;
};

/// Archive that takes words out of the lanes of a message, in the order in which they were written.
class word_reader {
public:
    TALLY_HD constexpr word_reader(std::uint64_t const* sums, std::uint64_t const* maxes)
        : sums_{sums}, maxes_{maxes} {}
    TALLY_HD constexpr void sum(std::uint64_t& word) { word = *sums_++; }
    TALLY_HD constexpr void max(std::uint64_t& word) { word = *maxes_++; }

private:
    std::uint64_t const* sums_;
    std::uint64_t const* maxes_;
};

namespace detail {

/// True for accumulators that name their words; the others travel as raw bytes and are merged in rank order.
template <class Acc>
concept travels_as_words = requires(Acc& accumulator, word_counter& archive) { accumulator.travel(archive); };

} // namespace detail

/// Lane sizes of one accumulator.
template <class Acc>
constexpr lane_sizes lanes_of() {
    if constexpr (detail::travels_as_words<Acc>) {
        word_counter counter;
        Acc identity{};
        identity.travel(counter);
        return counter.sizes();
    } else {
        return {0, 0, sizeof(Acc)};
    }
}

/// Joins what another replica sent, in rank order: the accumulator's own `fold` if it has one (an operation between
/// replicas that differs from the one inside a replica), else `merge`.
template <class Acc>
TALLY_HD constexpr void fold(Acc& into, Acc const& next) {
    if constexpr (requires { into.fold(next); }) {
        into.fold(next);
    } else {
        into.merge(next);
    }
}

} // namespace tally
