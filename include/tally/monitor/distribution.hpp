// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How a monitored tensor is spread over the replicas, as a type. It decides what combining means, so it is part of the
// layout that replicas compare: a replica that means something else gets an error and not a wrong number.
#pragma once

#include <tally/core/fixed_string.hpp>
#include <tally/monitor/replicated_value.hpp>

#include <concepts>

namespace tally {

/// Each replica has a gradient of its own, from its own samples (before an all-reduce). All of them count.
struct partitioned {
    static constexpr fixed_string name = "partitioned";
};
/// All replicas hold the same gradient (after an all-reduce). It counts once. Replicas that differ are reported.
struct replicated {
    static constexpr fixed_string name = "replicated";
};
/// Each replica holds a part of one gradient (ZeRO, FSDP, tensor and pipeline parallelism). The parts add up to it.
struct sharded {
    static constexpr fixed_string name = "sharded";
};

template <class D>
concept distribution = std::same_as<D, partitioned> || std::same_as<D, replicated> || std::same_as<D, sharded>;

namespace detail {

template <class D, class Acc, bool Checked>
struct across_distribution {
    using type = Acc;
};
template <class Acc, bool Checked>
struct across_distribution<replicated, Acc, Checked> {
    using type = replicated_value<Acc, Checked>;
};

} // namespace detail

/// Acc as it is combined between replicas under the distribution D. `Checked` costs replicated values a word each.
template <distribution D, class Acc, bool Checked = false>
using distributed = typename detail::across_distribution<D, Acc, Checked>::type;

} // namespace tally
