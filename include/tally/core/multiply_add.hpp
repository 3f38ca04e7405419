// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Products and sums that come out the same from every compiler and on every engine. Compilers may fuse a * b + c into one
// operation with one rounding, and do where the hardware has it: here it is said which of the two is meant.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>

#include <cstdint>

namespace tally::detail {

/// `a * b`, rounded, whatever is done with it afterwards.
template <class T>
[[gnu::always_inline]] TALLY_HD inline T rounded_product(T a, T b) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == sizeof(float)) {
        return __fmul_rn(a, b);
    } else {
        return __dmul_rn(a, b);
    }
#else
    T product = a * b;
#if defined(__x86_64__)
    asm("" : "+x"(product)); // no instruction: the compiler must have the product in a register
#elif defined(__aarch64__)
    asm("" : "+w"(product));
#else
    asm("" : "+m"(product));
#endif
    return product;
#endif
}

/// `a * b + c` with one rounding, for results that are normal numbers or exact. Without such an instruction: the product
/// of two floats is exact in double; the sum is rounded there and then once more, which differs from one rounding only if
/// the first result lies half way between two floats.
[[gnu::always_inline]] TALLY_HD inline float multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    double const sum = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c);
    if ((bit_cast<std::uint64_t>(sum) & 0x1fffffffU) == 0x10000000U) {
        return __builtin_fmaf(a, b, c);
    }
    return static_cast<float>(sum);
#endif
}

/// `a * b + c` with two roundings: no type is wide enough for one on a CPU that has no such instruction.
[[gnu::always_inline]] TALLY_HD inline double multiply_add(double a, double b, double c) {
    return rounded_product(a, b) + c;
}

/// What functions of several multiply_adds are written on, so that they can be compiled for the instruction as well.
struct any_multiply_add {
    template <class T>
    [[gnu::always_inline]] TALLY_HD T operator()(T a, T b, T c) const {
        return multiply_add(a, b, c);
    }
};

#if !defined(__CUDA_ARCH__) && defined(__x86_64__) && !defined(__FMA__)
struct fused_multiply_add {
    [[gnu::always_inline]] float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
};
template <class Function>
__attribute__((target("fma"))) inline float with_instruction(float x) {
    return Function::of(x, fused_multiply_add{});
}
#endif

/// Function::of(x, multiply_add) in float. A build for any x86-64 asks the CPU once whether it has the instruction.
template <class Function>
[[gnu::always_inline]] TALLY_HD inline float with_multiply_add(float x) {
#if !defined(__CUDA_ARCH__) && defined(__x86_64__) && !defined(__FMA__)
    if (__builtin_cpu_supports("fma")) {
        return with_instruction<Function>(x);
    }
#endif
    return Function::of(x, any_multiply_add{});
}

} // namespace tally::detail
