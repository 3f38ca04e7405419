// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Accumulators that can be merged part by part, each part by one atomic operation: what an engine needs to let many
// threads deposit into one cell of a table. The parts are the words that travel, if merging inside a replica is the same
// operation as between replicas, or what the accumulator names itself:
//
// | optional member  | meaning                                                                                         |
// |------------------|-------------------------------------------------------------------------------------------------|
// | a.parts(archive) | names its parts by archive.sum(u64&), archive.max(u64&) and archive.add(float& or double&)      |
//
// Others (moments, arg_maximum) are merged whole, under a lock.
#pragma once

#include <tally/config.hpp>
#include <tally/core/wire.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::detail {

/// Archive that counts parts.
class part_counter {
public:
    TALLY_HD constexpr void sum(std::uint64_t&) { ++parts_; }
    TALLY_HD constexpr void max(std::uint64_t&) { ++parts_; }
    template <class T>
    TALLY_HD constexpr void add(T&) {
        ++parts_;
        ++floats_;
    }
    [[nodiscard]] TALLY_HD constexpr std::size_t parts() const { return parts_; }
    [[nodiscard]] TALLY_HD constexpr std::size_t floats() const { return floats_; }

private:
    std::size_t parts_ = 0;
    std::size_t floats_ = 0;
};

template <class Acc>
concept names_parts = requires(Acc& accumulator, part_counter& archive) { accumulator.parts(archive); };

template <class Acc>
concept merges_by_parts = names_parts<Acc> || (travels_as_words<Acc> && !requires(Acc& a, Acc const& b) { a.fold(b); });

template <merges_by_parts Acc, class Archive>
TALLY_HD constexpr void visit_parts(Acc& accumulator, Archive& archive) {
    if constexpr (names_parts<Acc>) {
        accumulator.parts(archive);
    } else {
        accumulator.travel(archive);
    }
}

template <merges_by_parts Acc>
TALLY_HD constexpr std::size_t count_parts() {
    part_counter counter;
    Acc identity{};
    visit_parts(identity, counter);
    return counter.parts();
}

/// Whether parts are integers only, so that the order of merging does not show.
template <class Acc>
inline constexpr bool merges_in_any_order = [] {
    if constexpr (merges_by_parts<Acc>) {
        part_counter counter;
        Acc identity{};
        visit_parts(identity, counter);
        return counter.floats() == 0;
    } else {
        return false;
    }
}();

/// Archive that stores parts one after the other, 8 bytes each.
class part_writer {
public:
    TALLY_HD constexpr explicit part_writer(std::uint64_t* words) : words_{words} {}
    TALLY_HD constexpr void sum(std::uint64_t& word) { *words_++ = word; }
    TALLY_HD constexpr void max(std::uint64_t& word) { *words_++ = word; }
    TALLY_HD constexpr void add(double& x) { *words_++ = __builtin_bit_cast(std::uint64_t, x); }
    TALLY_HD constexpr void add(float& x) { *words_++ = __builtin_bit_cast(std::uint32_t, x); }

private:
    std::uint64_t* words_;
};

/// Archive that takes parts back.
class part_reader {
public:
    TALLY_HD constexpr explicit part_reader(std::uint64_t const* words) : words_{words} {}
    TALLY_HD constexpr void sum(std::uint64_t& word) { word = *words_++; }
    TALLY_HD constexpr void max(std::uint64_t& word) { word = *words_++; }
    TALLY_HD constexpr void add(double& x) { x = __builtin_bit_cast(double, *words_++); }
    TALLY_HD constexpr void add(float& x) { x = __builtin_bit_cast(float, static_cast<std::uint32_t>(*words_++)); }

private:
    std::uint64_t const* words_;
};

} // namespace tally::detail
