// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Items per second over all replicas: the plainest example of one metric that needs two operations. Items add up
// everywhere; seconds add up inside a replica, but replicas run side by side, so between them the slowest one counts.
#pragma once

#include <tally/accumulator/across.hpp>
#include <tally/accumulator/count.hpp>
#include <tally/accumulator/default_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/ratio.hpp>
#include <tally/core/result.hpp>
#include <tally/core/roles.hpp>
#include <tally/op/ops.hpp>

#include <cstdint>
#include <type_traits>

namespace tally {

/// sum(items) / max over replicas of sum(seconds). Inputs: inputs<"items">(...), one number of type Items for a
/// measured step (default: integers up to 2^63; std::size_t or double where you count in those), and
/// inputs<"seconds">(...). finalize() gives the rate of this replica, combine() that of all together. A step with
/// NaN, infinite or negative seconds or negative items is left out and counted as dropped, items and seconds
/// together. No step: reason::no_samples; no time: zero_denominator. A weighted collection leaves it unweighted.
/// State: 40 bytes. Partition law: exact for items; seconds are the slowest replica's, so what a replica is matters.
template <class Items = std::int64_t>
struct throughput {
    template <class Other>
    using with_weighting = throughput;

    struct state {
        default_sum<Items> items;
        across<op::max, sum<double>> seconds;
        count dropped;
    };
    TALLY_HD static constexpr auto observe(input<"items", Items> items, input<"seconds", double> seconds) {
        bool const possible = std::is_unsigned_v<Items> || items.value - items.value == Items{};
        bool const forward = std::is_unsigned_v<Items> || items.value > Items{} || items.value == Items{};
        bool const keep = possible && forward && seconds.value >= 0.0 && seconds.value - seconds.value == 0.0;
        return contribute(when(keep, items.value), when(keep, seconds.value), when(!keep, one));
    }
    TALLY_HD static constexpr result<double> finalize(state const& s) {
        auto const rate = s.seconds.deposits() == 0 ? result<double>(reason::no_samples) : ratio(s.items, s.seconds);
        return rate.with_dropped(s.dropped.value());
    }
};

} // namespace tally
