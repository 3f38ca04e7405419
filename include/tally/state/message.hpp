// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Packing of states into the three lanes of a message, and back. The same order on every replica: states in the order
// of the plan, fields in the order of their declaration, cells in row-major order.
#pragma once

#include <tally/core/wire.hpp>
#include <tally/layout/table.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tally::detail {

/// Calls f(accumulator) for the accumulator, or each cell of the table, and then handles the table's own counter.
template <class Field, class F>
void for_each_accumulator(Field& field, F&& f) {
    if constexpr (is_table_v<std::remove_const_t<Field>>) {
        auto* const cells = field.data();
        for (std::size_t i = 0, n = field.cells(); i < n; ++i) {
            f(cells[i]);
        }
    } else {
        f(field);
    }
}

template <class Field>
lane_sizes lanes_of_field(Field const& field) {
    if constexpr (is_table_v<Field>) {
        constexpr lane_sizes one_cell = lanes_of<typename Field::cell_type>();
        auto const n = field.cells();
        return {one_cell.sums * n + 1, one_cell.maxes * n, one_cell.bytes * n}; // + 1: contributions outside
    } else {
        return lanes_of<Field>();
    }
}

/// Lane sizes of a message.
template <class States>
lane_sizes lanes_of_states(States const& states) {
    lane_sizes total;
    states.visit([&](auto const& field) { total += lanes_of_field(field); });
    return total;
}

template <class States>
void pack(States const& states, std::uint64_t* sums, std::uint64_t* maxes, std::byte* bytes) {
    word_writer words{sums, maxes};
    states.visit([&]<class F>(F const& field) {
        for_each_accumulator(field, [&]<class Acc>(Acc const& accumulator) {
            if constexpr (travels_as_words<Acc>) {
                Acc copy = accumulator;
                copy.travel(words);
            } else {
                std::memcpy(bytes, &accumulator, sizeof(Acc));
                bytes += sizeof(Acc);
            }
        });
        if constexpr (is_table_v<F>) {
            auto outside = field.outside();
            words.sum(outside);
        }
    });
}

/// Fills states from combined words; states must be at their identity. `bytes` holds one part a replica, in rank order.
template <class States>
void unpack(States& states, std::uint64_t const* sums, std::uint64_t const* maxes, std::byte const* bytes,
            std::size_t bytes_of_replica, int replicas) {
    word_reader words{sums, maxes};
    states.visit([&]<class F>(F& field) {
        for_each_accumulator(field, [&]<class Acc>(Acc& accumulator) {
            if constexpr (travels_as_words<Acc>) {
                accumulator.travel(words);
            } else {
                for (int replica = 0; replica < replicas; ++replica) {
                    Acc next;
                    std::memcpy(static_cast<void*>(&next), bytes + static_cast<std::size_t>(replica) * bytes_of_replica,
                                sizeof(Acc));
                    tally::fold(accumulator, next);
                }
                bytes += sizeof(Acc);
            }
        });
        if constexpr (is_table_v<F>) {
            std::uint64_t outside = 0;
            words.sum(outside);
            field.set_outside(outside);
        }
    });
}

} // namespace tally::detail
