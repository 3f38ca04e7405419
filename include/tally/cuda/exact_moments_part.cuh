// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How a thread deposits into exact moments and sums of weights: a window in registers for each of their sums
// (exact_part.cuh), products exact in double. The words don't depend on any of it.
#pragma once

#include <tally/accumulator/exact_co_moments.hpp>
#include <tally/accumulator/exact_moments.hpp>
#include <tally/accumulator/weight_sum.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/exact_range.hpp>
#include <tally/cuda/exact_part.cuh>
#include <tally/cuda/thread_part.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

/// Adds the numbers of a warp's threads to a word that the block shares.
__device__ inline void add_of_warp(unsigned long long* word, std::uint32_t x) {
    auto sum = static_cast<unsigned long long>(x);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffff'ffffU, sum, distance);
    }
    if (threadIdx.x % 32 == 0 && sum != 0) {
        atomicAdd(word, sum);
    }
}

/// The words of exact_moments<T>.
template <class T>
struct shared_moments {
    shared_digits<T> values;
    shared_digits<product<T>> squares;
    unsigned long long deposits;

    /// All threads of the block.
    __device__ void clear() {
        values.clear();
        squares.clear();
        if (threadIdx.x == 0) {
            deposits = 0;
        }
    }
    template <class F>
    __device__ void for_each_digits(F&& f) {
        values.for_each_digits(f);
        squares.for_each_digits(f);
    }
};

/// The words of exact_co_moments<T>.
template <class T>
struct shared_co_moments {
    shared_digits<T> x;
    shared_digits<T> y;
    shared_digits<product<T>> xx;
    shared_digits<product<T>> yy;
    shared_digits<product<T>> xy;
    unsigned long long deposits;

    __device__ void clear() {
        x.clear();
        y.clear();
        xx.clear();
        yy.clear();
        xy.clear();
        if (threadIdx.x == 0) {
            deposits = 0;
        }
    }
    template <class F>
    __device__ void for_each_digits(F&& f) {
        x.for_each_digits(f);
        y.for_each_digits(f);
        xx.for_each_digits(f);
        yy.for_each_digits(f);
        xy.for_each_digits(f);
    }
};

/// The numbers of a tile that are kept, the others zero, which adds nothing.
template <class Number, int Count>
struct kept_numbers {
    Number x[Count];
    template <class Of>
    __device__ kept_numbers(std::uint32_t keep, Of const& of) {
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            x[i] = ((keep >> i) & 1U) != 0U ? of(i) : Number{0};
        }
    }
};

template <class T, class X>
    requires requires { typename window_number<X>::type; }
struct thread_part<exact_moments<T>, X> {
    using shared_type = shared_moments<T>;
    static constexpr bool takes_tiles = true;
    static constexpr bool finishes_in_shared = true;

    __device__ void deposit(shared_type& shared, X const& x) {
        X const one_x[1] = {x};
        deposit_tile(shared, one_x, 1U);
    }
    template <int Count>
    __device__ void deposit_all(shared_type& shared, X const (&x)[Count]) {
        deposit_tile(shared, x, all_of_tile<Count>);
    }
    template <int Count>
    __device__ void deposit_tile(shared_type& shared, X const (&x)[Count], std::uint32_t keep) {
        deposits_ += static_cast<std::uint32_t>(__popc(keep));
        kept_numbers<float, Count> const values(keep, [&](int i) { return static_cast<float>(x[i]); });
        values_.add(values.x, shared.values);
        kept_numbers<double, Count> const squares(all_of_tile<Count>, [&](int i) {
            auto const wide = static_cast<double>(values.x[i]);
            return wide * wide;
        });
        squares_.add(squares.x, shared.squares);
    }
    __device__ void flush(shared_type& shared) {
        values_.flush_warp(shared.values);
        squares_.flush_warp(shared.squares);
        add_of_warp(&shared.deposits, deposits_);
    }
    /// For kernels that reduce whole accumulators.
    __device__ exact_moments<T> total(shared_type const& shared) const {
        exact_moments<T> mine{values_.total(), squares_.total(), deposits_};
        if (threadIdx.x == 0) {
            mine.merge(exact_moments<T>{shared.values.total(), shared.squares.total(), shared.deposits});
        }
        return mine;
    }

private:
    exact_window<T, float> values_;
    exact_window<product<T>, double> squares_;
    std::uint32_t deposits_ = 0;
};

template <class T, class X, class Y>
    requires requires {
        typename window_number<X>::type;
        typename window_number<Y>::type;
    }
struct thread_part<exact_co_moments<T>, value_pair<X, Y>> {
    using shared_type = shared_co_moments<T>;
    static constexpr bool takes_tiles = true;
    static constexpr bool finishes_in_shared = true;

    __device__ void deposit(shared_type& shared, value_pair<X, Y> const& pair) {
        value_pair<X, Y> const one_pair[1] = {pair};
        deposit_tile(shared, one_pair, 1U);
    }
    template <int Count>
    __device__ void deposit_all(shared_type& shared, value_pair<X, Y> const (&pairs)[Count]) {
        deposit_tile(shared, pairs, all_of_tile<Count>);
    }
    template <int Count>
    __device__ void deposit_tile(shared_type& shared, value_pair<X, Y> const (&pairs)[Count], std::uint32_t keep) {
        deposits_ += static_cast<std::uint32_t>(__popc(keep));
        kept_numbers<float, Count> const x(keep, [&](int i) { return static_cast<float>(pairs[i].first); });
        kept_numbers<float, Count> const y(keep, [&](int i) { return static_cast<float>(pairs[i].second); });
        x_.add(x.x, shared.x);
        y_.add(y.x, shared.y);
        add_products(xx_, x, x, shared.xx);
        add_products(yy_, y, y, shared.yy);
        add_products(xy_, x, y, shared.xy);
    }
    __device__ void flush(shared_type& shared) {
        x_.flush_warp(shared.x);
        y_.flush_warp(shared.y);
        xx_.flush_warp(shared.xx);
        yy_.flush_warp(shared.yy);
        xy_.flush_warp(shared.xy);
        add_of_warp(&shared.deposits, deposits_);
    }

private:
    using products = exact_window<product<T>, double>;

    template <int Count>
    __device__ static void add_products(products& window, kept_numbers<float, Count> const& x,
                                        kept_numbers<float, Count> const& y, shared_digits<product<T>>& shared) {
        kept_numbers<double, Count> const exact(
            all_of_tile<Count>, [&](int i) { return static_cast<double>(x.x[i]) * static_cast<double>(y.x[i]); });
        window.add(exact.x, shared);
    }

    exact_window<T, float> x_;
    exact_window<T, float> y_;
    products xx_;
    products yy_;
    products xy_;
    std::uint32_t deposits_ = 0;
};

/// The words of basic_weight_sum<exact_sum<T>>.
template <class T>
struct shared_weight_sum {
    shared_digits<T> total;
    unsigned long long deposits;

    __device__ void clear() {
        total.clear();
        if (threadIdx.x == 0) {
            deposits = 0;
        }
    }
    template <class F>
    __device__ void for_each_digits(F&& f) {
        total.for_each_digits(f);
    }
};

/// The weights themselves, each deposit being the constant one.
template <class T>
struct thread_part<basic_weight_sum<exact_sum<T>>, one_t> {
    using shared_type = shared_weight_sum<T>;
    static constexpr bool takes_tiles = false;
    static constexpr bool finishes_in_shared = true;

    template <class W>
    __device__ void deposit(shared_type& shared, one_t, W const& weight) {
        W const one_weight[1] = {weight};
        take(shared, one_weight);
    }
    template <int Count, class W>
    __device__ void deposit_all(shared_type& shared, one_t const (&)[Count], W const (&weights)[Count]) {
        take(shared, weights);
    }
    __device__ void flush(shared_type& shared) {
        total_.flush_warp(shared.total);
        add_of_warp(&shared.deposits, deposits_);
    }
    /// For kernels that reduce whole accumulators.
    __device__ basic_weight_sum<exact_sum<T>> total(shared_type const& shared) const {
        basic_weight_sum<exact_sum<T>> mine{total_.total(), deposits_};
        if (threadIdx.x == 0) {
            mine.merge({shared.total.total(), shared.deposits});
        }
        return mine;
    }

private:
    template <int Count, class W>
    __device__ void take(shared_type& shared, W const (&weights)[Count]) {
        deposits_ += Count;
        kept_numbers<float, Count> const numbers(all_of_tile<Count>,
                                                 [&](int i) { return static_cast<float>(weights[i]); });
        total_.add(numbers.x, shared.total);
    }

    exact_window<T, float> total_;
    std::uint32_t deposits_ = 0;
};

} // namespace tally::cuda::detail
