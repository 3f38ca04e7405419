// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// How a thread deposits into exact sums: not digit by digit, but into a window of fixed point in registers, by adding a
// constant whose size makes the last bit of the sum the last bit of the window (Kulisch's accumulator behind the
// "magic number" conversion). Numbers of the window are added exactly, in any order; what lies outside it goes to the
// digits in the block's shared memory, and so does the window itself when it moves. The bits don't depend on any of it.
#pragma once

#include <tally/accumulator/exact_sum.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/core/exact_range.hpp>
#include <tally/core/parts.hpp>
#include <tally/cuda/thread_part.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally::cuda::detail {

/// The digits and counters of an exact sum that the threads of a block share.
template <class T>
struct shared_digits {
    static constexpr std::size_t words = tally::detail::count_parts<exact_sum<T>>();
    static constexpr std::size_t digits = words - 3; // and the counts of NaN, +inf and -inf
    unsigned long long word[words];

    __device__ void add_at(int digit, std::uint64_t part, bool negative) {
        if (part != 0 && digit >= 0) {
            atomicAdd(word + digit, negative ? 0ULL - part : part);
        }
    }
    /// Adds +-significand * 2^exponent, of which nothing lies below the last digit.
    __device__ void add(std::uint64_t significand, int exponent, bool negative) {
        auto shift = exponent - exact_range<T>::lowest;
        if (shift < 0) {
            significand = shift > -64 ? significand >> -shift : 0;
            shift = 0;
        }
        auto const digit = shift >> 5;
        auto const within = static_cast<unsigned>(shift) & 31U;
        auto const low = (significand & 0xffff'ffffU) << within;
        auto const high = (significand >> 32) << within;
        add_at(digit, low & 0xffff'ffffU, negative);
        auto const middle = (low >> 32) + (high & 0xffff'ffffU);
        auto const last = high >> 32;
        bool const beyond = digit + 2 >= static_cast<int>(digits); // the last digit takes what is above it as well
        add_at(digit + 1, middle + (beyond ? last << 32 : 0), negative);
        if (!beyond) {
            add_at(digit + 2, last, negative);
        }
    }
    __device__ void add(tally::detail::decomposed const& x) {
        if (x.kind == tally::detail::number_kind::finite) {
            add(x.significand, x.exponent, x.negative);
        } else {
            auto const which = x.kind == tally::detail::number_kind::nan ? 0 : x.negative ? 2 : 1;
            atomicAdd(word + digits + which, 1ULL);
        }
    }
    /// All threads of the block.
    __device__ void clear() {
        for (auto i = threadIdx.x; i < words; i += blockDim.x) {
            word[i] = 0;
        }
    }
    template <class F>
    __device__ void for_each_digits(F&& f) {
        f(word, static_cast<int>(digits));
    }
    [[nodiscard]] __device__ exact_sum<T> total() const {
        std::uint64_t copy[words];
        for (std::size_t i = 0; i < words; ++i) {
            copy[i] = word[i];
        }
        exact_sum<T> sum;
        tally::detail::part_reader reader{copy};
        sum.parts(reader);
        return sum;
    }
};

/// Bits of the numbers that a window takes: floats as they are; products of floats, and doubles, as double.
template <class Number>
struct window_traits;
template <>
struct window_traits<float> {
    static constexpr int precision = 24;
    static constexpr int windows = 1;
    static constexpr int highest_top = 128; ///< of a window
    __device__ static std::uint32_t magnitude(float x) { return __float_as_uint(x) & 0x7fff'ffffU; }
    /// Floor of the binary logarithm of a magnitude; that of the smallest normal number for subnormal ones.
    __device__ static int exponent(std::uint32_t magnitude) { return max(static_cast<int>(magnitude >> 23), 1) - 127; }
};
template <>
struct window_traits<double> {
    static constexpr int precision = 53;
    static constexpr int windows = 2;
    static constexpr int highest_top = 900; ///< of a window: keeps the factors normal
    /// The upper half tells enough; a lower half that isn't zero makes it count as one more.
    __device__ static std::uint32_t magnitude(double x) {
        auto const bits = static_cast<std::uint64_t>(__double_as_longlong(x));
        auto const upper = static_cast<std::uint32_t>(bits >> 32) & 0x7fff'ffffU;
        return upper | static_cast<std::uint32_t>(upper == 0 && static_cast<std::uint32_t>(bits) != 0U);
    }
    __device__ static int exponent(std::uint32_t magnitude) { return max(static_cast<int>(magnitude >> 20), 1) - 1023; }
};

/// 2^exponent for exponents of normal doubles.
__device__ inline double power_of_two(int exponent) {
    return __longlong_as_double(static_cast<long long>(exponent + 1023) << 52);
}

/// A thread's window. Number: float or double.
template <class T, class Number>
class exact_window {
    using traits = window_traits<Number>;
    static constexpr int width = 51;                    // bits of a window, less the sign
    static constexpr int most_pending = 4095;           // of them fit 63 bits
    static constexpr int lowest_top = -900;             // keeps the factors normal
    static constexpr double magic = 6755399441055744.0; // 1.5 * 2^52

public:
    /// Adds x[0..Count); a zero adds nothing.
    template <int Count>
    __device__ void add(Number const (&x)[Count], shared_digits<T>& shared) {
        std::uint32_t largest = 0;
        std::uint32_t smallest = 0xffff'ffffU; // of those that aren't zero, less one
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            auto const magnitude = traits::magnitude(x[i]);
            largest = max(largest, magnitude);
            smallest = min(smallest, magnitude - 1U);
        }
        auto const needed = traits::exponent(largest) + 1; // beyond highest_top for NaN and infinities
        bool outside = false;
        if (needed > top_ || pending_ + Count > most_pending) {
            outside = needed > traits::highest_top;
            if (!outside) {
                flush(shared);
                top_ = min(max(needed + 2, lowest_top), traits::highest_top); // room, so that few tiles need a move
            }
        }
        auto const lowest_bit = traits::exponent(smallest) - (traits::precision - 1);
        if (outside || lowest_bit < top_ - traits::windows * width) {
#pragma unroll 1
            for (int i = 0; i < Count; ++i) {
                shared.add(tally::detail::decompose(at(x, i)));
            }
            return;
        }
        auto const scale = power_of_two(width - top_);
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            auto const wide = static_cast<double>(x[i]);
            auto const shifted = __fma_rn(wide, scale, magic);
            sums_[0] += static_cast<std::uint64_t>(__double_as_longlong(shifted));
            if constexpr (traits::windows == 2) {
                auto const rest = __fma_rn(shifted - magic, -power_of_two(top_ - width), wide);
                auto const shifted_rest = __fma_rn(rest, power_of_two(2 * width - top_), magic);
                sums_[1] += static_cast<std::uint64_t>(__double_as_longlong(shifted_rest));
            }
        }
        pending_ += Count;
    }

    /// Moves what the windows of a warp hold to the digits. All lanes call it together. Windows at the same place, as a
    /// rule all of them, are added up first, so that few atomic operations meet.
    __device__ void flush_warp(shared_digits<T>& shared) {
        constexpr unsigned all_lanes = 0xffff'ffffU;
        auto const sum_of_lanes = [](std::int64_t x) {
#pragma unroll
            for (int distance = 16; distance > 0; distance /= 2) {
                x += __shfl_xor_sync(all_lanes, x, distance);
            }
            return x;
        };
        for (;;) {
            auto const waiting = __ballot_sync(all_lanes, pending_ != 0);
            if (waiting == 0U) {
                return;
            }
            auto const top = __shfl_sync(all_lanes, top_, __ffs(static_cast<int>(waiting)) - 1);
            bool const joins = pending_ != 0 && top_ == top;
#pragma unroll
            for (int w = 0; w < traits::windows; ++w) {
                auto const value = joins ? value_of(w) : 0;
                auto const low = sum_of_lanes(value & 0xffff); // the sum of 32 windows may have 68 bits
                auto const high = sum_of_lanes(value >> 16);
                if (threadIdx.x % 32 == 0) {
                    auto const exponent = top - (w + 1) * width;
                    shared.add(static_cast<std::uint64_t>(low), exponent, false);
                    shared.add(static_cast<std::uint64_t>(high < 0 ? -high : high), exponent + 16, high < 0);
                }
            }
            if (joins) {
                clear();
            }
        }
    }

    /// What the window holds.
    [[nodiscard]] __device__ exact_sum<T> total() const {
        exact_sum<T> sum;
        for_each_sum([&](std::uint64_t significand, int exponent, bool negative) {
            sum.template add<64>({significand, exponent, negative, tally::detail::number_kind::finite});
        });
        return sum;
    }

    /// Calls f(significand, exponent, negative) for each number that makes up the window.
    template <class F>
    __device__ void for_each_sum(F&& f) const {
#pragma unroll
        for (int w = 0; w < traits::windows; ++w) {
            auto const value = value_of(w);
            auto const bits = static_cast<std::uint64_t>(value);
            f(value < 0 ? 0ULL - bits : bits, top_ - (w + 1) * width, value < 0);
        }
    }

private:
    /// An element of an array in registers, by an index that is not known to the compiler.
    template <int Count>
    __device__ static Number at(Number const (&x)[Count], int index) {
        Number found = x[0];
#pragma unroll
        for (int i = 1; i < Count; ++i) {
            found = i == index ? x[i] : found;
        }
        return found;
    }
    /// In units of 2^(top - (w + 1) width).
    [[nodiscard]] __device__ std::int64_t value_of(int w) const {
        auto const constant = static_cast<std::uint64_t>(__double_as_longlong(magic));
        return static_cast<std::int64_t>(sums_[w] - constant * static_cast<std::uint64_t>(pending_));
    }
    __device__ void flush(shared_digits<T>& shared) {
        if (pending_ != 0) {
            for_each_sum([&](std::uint64_t significand, int exponent, bool negative) {
                shared.add(significand, exponent, negative);
            });
        }
        clear();
    }
    __device__ void clear() {
#pragma unroll
        for (int w = 0; w < traits::windows; ++w) {
            sums_[w] = 0;
        }
        pending_ = 0;
    }

    std::uint64_t sums_[traits::windows] = {};
    int top_ = lowest_top; ///< numbers of the window are below 2^top
    int pending_ = 0;      ///< numbers in the window, each with its own magic constant
};

/// What a deposit adds, as the number that a window takes.
template <class X>
struct window_number {
    using type =
        std::conditional_t<std::is_same_v<X, double> || (std::is_integral_v<X> && sizeof(X) > 2), double, float>;
    __device__ static type of(X const& x) { return static_cast<type>(x); }
};
template <class X>
struct window_number<product<X>> {
    using type = double;
    __device__ static double of(product<X> const& x) {
        return static_cast<double>(x.first) * static_cast<double>(x.second);
    }
};

template <class T, class X>
    requires requires { typename window_number<X>::type; } && (!std::is_same_v<X, one_t>)
struct thread_part<exact_sum<T>, X> {
    using number = std::conditional_t<std::is_same_v<T, float>, typename window_number<X>::type, double>;
    using shared_type = shared_digits<T>;
    static constexpr bool takes_tiles = true;
    static constexpr bool finishes_in_shared = true;
    exact_window<T, number> window;

    template <class... W>
    __device__ void deposit(shared_type& shared, X const& x, W const&... w) {
        X const one_x[1] = {x};
        deposit_all(shared, one_x, array_of_one<W>{{w}}.value...);
    }
    template <int Count>
    __device__ void deposit_all(shared_type& shared, X const (&x)[Count]) {
        deposit_tile(shared, x, all_of_tile<Count>);
    }
    template <int Count, class W>
    __device__ void deposit_all(shared_type& shared, X const (&x)[Count], W const (&w)[Count]) {
        number products[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            products[i] = static_cast<number>(x[i]) * static_cast<number>(w[i]); // exact: in double, of two floats
        }
        window.add(products, shared);
    }
    template <int Count>
    __device__ void deposit_tile(shared_type& shared, X const (&x)[Count], std::uint32_t keep) {
        number numbers[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            numbers[i] = ((keep >> i) & 1U) != 0U ? static_cast<number>(window_number<X>::of(x[i])) : number{0};
        }
        window.add(numbers, shared);
    }
    /// Whole warps (shared_finish.cuh).
    __device__ void flush(shared_type& shared) { window.flush_warp(shared); }
    /// For kernels that reduce whole accumulators.
    __device__ exact_sum<T> total(shared_type const& shared) const {
        auto sum = window.total();
        if (threadIdx.x == 0) {
            sum.merge(shared.total());
        }
        return sum;
    }

private:
    template <class W>
    struct array_of_one {
        W value[1];
    };
};

} // namespace tally::cuda::detail
