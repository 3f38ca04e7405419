// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of counters over the samples that a thread holds: observe is called for each, and its contributions go to
// the thread's state. Where the samples come from (elements, rows, cells of a matrix) is the provider's business.
#pragma once

#include <tally/core/metric.hpp>
#include <tally/core/type_list.hpp>
#include <tally/core/weighting.hpp>

#include <cstddef>
#include <cstdint>

namespace tally::cuda::detail {

template <class C, std::size_t State, class Thread, class Provider, class... Role>
__device__ void evaluate_sample(Thread& thread, Provider const& samples, int i, type_list<Role...>) {
    using weighting = typename tally::detail::weighting_of<C>::type;
    if constexpr (tally::detail::is_weighted_v<weighting>) {
        using weight_type = typename weighting::type;
        thread.template deposit<State>(C::observe(Role{samples.template get<Role>(i)}...),
                                       samples.template get<weight<weight_type>>(i));
    } else {
        thread.template deposit<State>(C::observe(Role{samples.template get<Role>(i)}...));
    }
}

/// Evaluates counters K... of all counters for samples 0 ... Count - 1 of the provider. Those whose bit in `keep` is not
/// set are left out; if `Selected` is false all bits are set.
template <int Count, bool Selected, class All, class Thread, class Provider, class... K>
__device__ void evaluate(type_list<K...>, Thread& thread, Provider const& samples, std::uint32_t keep) {
    static_assert(Count <= 32);
    auto const all_samples_of = [&]<class C>() {
        constexpr std::size_t state = tally::detail::index_of_v<All, C> + 1;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            if (!Selected || ((keep >> i) & 1U) != 0U) {
                evaluate_sample<C, state>(thread, samples, i, roles_of<C>{});
            }
        }
    };
    (all_samples_of.template operator()<K>(), ...);
}

} // namespace tally::cuda::detail
