// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What the programs that time a combine share: the collection, the timing and the rows.
#pragma once

#include <tally/tally.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tally::bench {

/// Scalars with their counts, three tables of one number for each of ten times as many classes, and a confusion matrix.
template <std::size_t Classes>
using evaluation = collection<
    named<"s00", mean<>>, named<"s01", mean<>>, named<"s02", mean<>>, named<"s03", mean<>>, named<"s04", mean<>>,
    named<"top-1", accuracy<>>, named<"top-2", accuracy<top_k<2>>>, named<"top-3", accuracy<top_k<3>>>,
    named<"top-4", accuracy<top_k<4>>>, named<"top-5", accuracy<top_k<5>>>, named<"top-6", accuracy<top_k<6>>>,
    named<"top-7", accuracy<top_k<7>>>, named<"top-8", accuracy<top_k<8>>>, named<"top-9", accuracy<top_k<9>>>,
    named<"loss", log_loss<>>, named<"F1", f1<classes<10 * Classes>>>, named<"confusion", confusion_matrix<Classes>>>;

/// The words of a message, and of each piece of state in it.
struct message_size {
    std::size_t words = 0;
    std::vector<std::size_t> pieces;

    template <class States>
    static message_size of(States const& states) {
        message_size size;
        states.visit([&](auto const& field) {
            auto const lanes = tally::detail::lanes_of_field(field);
            size.pieces.push_back(lanes.sums + lanes.maxes + lanes.bytes / sizeof(std::uint64_t));
            size.words += size.pieces.back();
        });
        return size;
    }
};

/// One way to do it. The first of several is what the others are compared with.
struct plan {
    std::string name;
    std::function<void()> call;
};

/// Times the plans in turns, so that whatever else the machine does meets all of them, and prints a row for each: the
/// median over `calls` calls, each begun together, of the slowest replica. `comm` is in host memory.
template <class Communicator>
void compare(Communicator& comm, std::size_t bytes, std::vector<plan> const& plans, std::size_t calls = 400) {
    constexpr std::size_t warm_up = 20;
    std::vector<std::vector<std::uint64_t>> nanoseconds(plans.size());
    for (std::size_t i = 0; i != warm_up + calls; ++i) {
        for (std::size_t k = 0; k != plans.size(); ++k) {
            comm.all_gather({}, {}); // together
            auto const begin = std::chrono::steady_clock::now();
            plans[k].call();
            auto const taken = std::chrono::steady_clock::now() - begin;
            if (i >= warm_up) {
                nanoseconds[k].push_back(
                    static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count()));
            }
        }
    }
    double bare = 0;
    for (std::size_t k = 0; k != plans.size(); ++k) {
        comm.all_reduce_max(nanoseconds[k]);
        auto const middle = nanoseconds[k].begin() + static_cast<std::ptrdiff_t>(calls / 2);
        std::nth_element(nanoseconds[k].begin(), middle, nanoseconds[k].end());
        auto const time = static_cast<double>(*middle) / 1000;
        bare = k == 0 ? time : bare;
        if (comm.rank() == 0) {
            std::printf("%-16s %9zu bytes %3d replicas %10.1f us %7.2f x bare\n", plans[k].name.c_str(), bytes,
                        comm.size(), time, time / bare);
            std::fflush(stdout);
        }
    }
}

} // namespace tally::bench
