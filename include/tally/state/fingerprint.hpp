// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The layout of a metric or collection as numbers: one hash for the whole, one for each metric. Replicas and snapshots
// compare them, so that states of different meaning are never added: names, types, policies, shapes, wire operations
// and the version of the wire format all take part.
#pragma once

#include <tally/collection.hpp>
#include <tally/core/type_name.hpp>
#include <tally/core/wire.hpp>
#include <tally/layout/table.hpp>
#include <tally/state/message.hpp>
#include <tally/state/store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tally {

/// Version of the wire and snapshot layout; changes whenever packed states change their meaning.
inline constexpr std::uint64_t wire_version = 1;

namespace detail {

struct metric_fingerprint {
    std::string_view name; ///< in the collection; the metric's own name for a single metric
    std::uint64_t hash = 0;
};

template <class State>
std::uint64_t hash_state(hasher hash, State const& state) {
    with_fields(state, [&](auto const&... field) {
        auto const add = [&]<class F>(F const& f) {
            if constexpr (is_table_v<F>) {
                hash.add(std::uint64_t{F::rank});
                for (std::size_t k = 0; k < F::rank; ++k) {
                    hash.add(std::uint64_t{f.extent(k)});
                }
                hash.add(type_spelling<typename F::cell_type>());
            } else {
                hash.add(type_spelling<F>());
            }
            auto const lanes = lanes_of_field(f);
            hash.add(lanes.sums).add(lanes.maxes).add(lanes.bytes);
        };
        (add(field), ...);
    });
    return hash.value();
}

/// Fingerprint of each metric of M, in the order of the collection.
template <class M, class... Named>
auto metric_fingerprints(states_of<M> const& states, type_list<Named...>) {
    return std::array<metric_fingerprint, sizeof...(Named)>{[&] {
        using metric = typename Named::metric;
        auto const name = is_collection_v<M> ? Named::name.view() : type_name<metric>();
        return metric_fingerprint{name, hash_state(hasher{}.add(Named::name.view()).add(type_spelling<metric>()),
                                                   states.template get<plan<M>::template counter_index<metric> + 1>())};
    }()...};
}

template <class M>
auto metric_fingerprints(states_of<M> const& states) {
    return metric_fingerprints<M>(states, typename plan<M>::entries{});
}

} // namespace detail

/// Layout hash of a metric or collection with these shapes.
template <class M>
std::uint64_t layout_hash(states_of<M> const& states) {
    detail::hasher hash;
    hash.add(wire_version);
    for (auto const& metric : detail::metric_fingerprints<M>(states)) {
        hash.add(metric.hash);
    }
    return hash.value();
}

} // namespace tally
