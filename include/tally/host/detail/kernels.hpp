// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The host kernels, once per instruction set, and the choice between them. The kernels are text that is included into a
// namespace per set, inside a region that sets the target of every function in it. A target on the outermost function
// alone would not do: GCC takes vectors apart, into what a function's own target has, before it inlines the function.
#pragma once

#include <tally/core/exp_log_constants.hpp>
#include <tally/host/detail/isa.hpp>
#include <tally/host/detail/row_tile.hpp>

#include <cstddef>
#include <cstdint>
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace tally::host::detail {

template <std::size_t Bytes>
struct int_of_size;
template <>
struct int_of_size<4> {
    using type = std::int32_t;
};
template <>
struct int_of_size<8> {
    using type = std::int64_t;
};
template <class T>
using int_like = typename int_of_size<sizeof(T)>::type;

using tally::detail::exp_constants;
using tally::detail::log_constants;
namespace math = tally::math;

} // namespace tally::host::detail

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi" // about calls that never happen: the vector functions are all inlined

namespace tally::host::detail::baseline {
inline constexpr isa level = isa::baseline;
#include <tally/host/detail/kernels/all.inl>
} // namespace tally::host::detail::baseline

#if defined(__x86_64__) || defined(__i386__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace tally::host::detail::avx2 {
inline constexpr isa level = isa::avx2;
#include <tally/host/detail/kernels/all.inl>
} // namespace tally::host::detail::avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(__clang__)
// Clang splits 64-byte vectors when it tunes for CPUs that it thinks prefer shorter ones, unless told the width.
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))),                   \
                                 apply_to = function)
#pragma clang attribute push(__attribute__((min_vector_width(512))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")
#endif
namespace tally::host::detail::avx512 {
inline constexpr isa level = isa::avx512;
#include <tally/host/detail/kernels/all.inl>
} // namespace tally::host::detail::avx512
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif

#pragma GCC diagnostic pop

namespace tally::host::detail {

/// The entry points at one instruction set, which the CPU must have: see `cpu_has`.
template <isa Level, isa Built = compiled_isa>
struct kernels {
    template <unsigned Needs, class T>
    static void row_features(T const* scores, std::size_t row_stride, std::size_t columns, std::size_t rows,
                             std::int32_t const* targets, row_tile<T>& out) noexcept {
#if defined(__x86_64__) || defined(__i386__)
        if constexpr (Level == isa::avx512) {
            return avx512::row_features<Needs, Built>(scores, row_stride, columns, rows, targets, out);
        } else if constexpr (Level == isa::avx2) {
            return avx2::row_features<Needs, Built>(scores, row_stride, columns, rows, targets, out);
        }
#endif
        if constexpr (Level == isa::baseline) {
            return baseline::row_features<Needs, Built>(scores, row_stride, columns, rows, targets, out);
        }
    }

    template <class T>
    static void softmax_row(T const* scores, std::size_t columns, T max_score, T log_sum, T* out) noexcept {
#if defined(__x86_64__) || defined(__i386__)
        if constexpr (Level == isa::avx512) {
            return avx512::softmax_row<Built>(scores, columns, max_score, log_sum, out);
        } else if constexpr (Level == isa::avx2) {
            return avx2::softmax_row<Built>(scores, columns, max_score, log_sum, out);
        }
#endif
        if constexpr (Level == isa::baseline) {
            return baseline::softmax_row<Built>(scores, columns, max_score, log_sum, out);
        }
    }
};

/// Calls `f` with the kernels for the best instruction set that the CPU has. What is older than the unit's own flags is
/// not even instantiated.
template <isa Built, class F>
void with_best_kernels(F const& f) noexcept {
#if defined(__x86_64__) || defined(__i386__)
    if constexpr (Built == isa::avx512) {
        return f(kernels<isa::avx512, Built>{});
    } else {
        if (cpu_has(isa::avx512)) return f(kernels<isa::avx512, Built>{});
        if constexpr (Built == isa::avx2) {
            return f(kernels<isa::avx2, Built>{});
        } else {
            if (cpu_has(isa::avx2)) return f(kernels<isa::avx2, Built>{});
            f(kernels<isa::baseline, Built>{});
        }
    }
#else
    f(kernels<isa::baseline, Built>{});
#endif
}

} // namespace tally::host::detail
