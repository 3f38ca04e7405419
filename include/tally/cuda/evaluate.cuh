// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of counters over the samples that a thread holds: observe is called for each, and its contributions go to
// the thread's state. Where the samples come from (elements, rows, cells of a matrix) is the provider's business.
#pragma once

#include <tally/core/metric.hpp>
#include <tally/core/type_list.hpp>
#include <tally/core/weighting.hpp>
#include <tally/cuda/thread_state.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally::cuda::detail {

/// What the fields of counters C collect of a tile of Count samples.
template <class Thread, std::size_t State, int Count, bool Weighted, class Contributions, class Indices>
struct tile_buffer;
template <class Thread, std::size_t State, int Count, bool Weighted, class... X, std::size_t... Field>
struct tile_buffer<Thread, State, Count, Weighted, type_list<X...>, std::index_sequence<Field...>> {
    template <std::size_t Index, class Y>
    struct slot : tile_of_field<typename tally::detail::kept<Y>::type, Count,
                                Thread::template collects<State, Index, Weighted>> {};
struct slots : slot<Field, X>... {
    } all;

    template <std::size_t Index>
    __device__ auto& of() {
        return at<Index>(all);
    }
    template <std::size_t Index>
    __device__ auto const& of() const {
        return at<Index>(all);
    }

private:
    template <std::size_t Index, class Y>
    __device__ static slot<Index, Y>& at(slot<Index, Y>& s) {
        return s;
    }
    template <std::size_t Index, class Y>
    __device__ static slot<Index, Y> const& at(slot<Index, Y> const& s) {
        return s;
    }
};

/// Whether some number is contributed only under a condition, which for most tiles holds for all samples or for none.
template <class X>
inline constexpr bool is_guarded_number =
    tally::detail::kept<X>::conditional && !std::is_same_v<typename tally::detail::kept<X>::type, one_t>;
template <class Contributions>
inline constexpr bool any_guarded_number = false;
template <class... X>
inline constexpr bool any_guarded_number<type_list<X...>> = (is_guarded_number<X> || ...);

/// Whether a condition holds for all and for some samples of a tile.
struct agreement_of_tile {
    bool all = true;
    bool any = false;
    template <class X>
    __device__ void look(X const& x) {
        if constexpr (tally::detail::kept<X>::conditional) {
            all = all && x.keep;
            any = any || x.keep;
        }
    }
    [[nodiscard]] __device__ bool mixed() const { return any && !all; }
};

/// Deposits the contributions of a whole tile field by field, if each field takes all of them or none. Returns whether.
template <std::size_t State, int Count, class Thread, class... X, std::size_t... Field, class... W>
__device__ bool deposit_uniform_tile(Thread& thread, contribution<X...> const (&c)[Count],
                                     std::index_sequence<Field...>, W const&... weights) {
    agreement_of_tile agree[sizeof...(X)];
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        (agree[Field].look(tally::detail::slot<Field>(c[i])), ...);
    }
    if ((agree[Field].mixed() || ...)) {
        return false;
    }
    auto const deposit = [&]<std::size_t Index, class Y>(agreement_of_tile const& of_field, Y const*) {
        using kept = tally::detail::kept<Y>;
        if constexpr (!std::is_same_v<Y, nothing_t>) {
            if (!kept::conditional || of_field.any) {
                typename kept::type x[Count];
#pragma unroll
                for (int i = 0; i < Count; ++i) {
                    if constexpr (kept::conditional) {
                        x[i] = tally::detail::slot<Index>(c[i]).value;
                    } else {
                        x[i] = tally::detail::slot<Index>(c[i]);
                    }
                }
                thread.template deposit_all<State, Index>(x, weights...);
            }
        }
    };
    (deposit.template operator()<Field>(agree[Field], static_cast<X const*>(nullptr)), ...);
    return true;
}

/// Evaluates counters C for samples 0 ... Count - 1 of the provider whose bit in `keep` is set.
template <int Count, bool Selected, std::size_t State, class C, class Thread, class Provider, class... Role>
__device__ void evaluate_counters(Thread& thread, Provider const& samples, std::uint32_t keep, type_list<Role...>) {
    using weighting = typename tally::detail::weighting_of<C>::type;
    using contributions = contributions_of<C>;
    constexpr bool weighted = tally::detail::is_weighted_v<weighting>;
    using indices = std::make_index_sequence<contributions::size>;
    auto const weight_of = [&](int i) {
        if constexpr (weighted) {
            return samples.template get<weight<typename weighting::type>>(i);
        }
    };
    if constexpr (Count > 1 && any_guarded_number<contributions>) {
        constexpr auto all = static_cast<std::uint32_t>((std::uint64_t{1} << Count) - 1);
        if (!Selected || keep == all) {
            typename tally::detail::signature<decltype(&C::observe)>::result c[Count];
#pragma unroll
            for (int i = 0; i < Count; ++i) {
                c[i] = C::observe(Role{samples.template get<Role>(i)}...);
            }
            if constexpr (weighted) {
                decltype(weight_of(0)) w[Count];
#pragma unroll
                for (int i = 0; i < Count; ++i) {
                    w[i] = weight_of(i);
                }
                if (deposit_uniform_tile<State>(thread, c, indices{}, w)) {
                    return;
                }
            } else if (deposit_uniform_tile<State>(thread, c, indices{})) {
                return;
            }
        }
    }
    tile_buffer<Thread, State, Count, weighted, contributions, indices> tile{};
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        if (Selected && ((keep >> i) & 1U) == 0U) {
            continue;
        }
        auto const c = C::observe(Role{samples.template get<Role>(i)}...);
        if constexpr (weighted) {
            thread.template deposit_in_tile<State, Count>(c, tile, i, weight_of(i));
        } else {
            thread.template deposit_in_tile<State, Count>(c, tile, i);
        }
    }
    thread.template end_tile<State>(tile, indices{});
}

/// Evaluates counters K... of all counters for samples 0 ... Count - 1 of the provider. Those whose bit in `keep` is not
/// set are left out; if `Selected` is false all bits are set.
template <int Count, bool Selected, class All, class Thread, class Provider, class... K>
__device__ void evaluate(type_list<K...>, Thread& thread, Provider const& samples, std::uint32_t keep) {
    static_assert(Count <= 32);
    (evaluate_counters<Count, Selected, tally::detail::index_of_v<All, K> + 1, K>(thread, samples, keep, roles_of<K>{}),
     ...);
}

} // namespace tally::cuda::detail
