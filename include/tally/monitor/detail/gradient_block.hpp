// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// One pass over a layer's gradient on the host: blocks that fit the first-level cache are widened and unscaled, freed of
// what is not finite, and added up exactly: squares in vectors, values and magnitudes with the histogram in one table.
#pragma once

#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/detail/exact_block.hpp>
#include <tally/detail/float_environment.hpp>
#include <tally/detail/lanes.hpp>
#include <tally/monitor/detail/exact_squares.hpp>
#include <tally/monitor/detail/gradient_table.hpp>
#include <tally/monitor/gradient_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tally::detail {

// Functions with vectors differ by instruction set: see lanes.hpp.
#if defined(__AVX512F__)
inline namespace lanes_of_64_bytes {
#elif defined(__AVX2__)
inline namespace lanes_of_32_bytes {
#else
inline namespace lanes_of_16_bytes {
#endif

inline constexpr std::size_t gradient_block_size = squares_block;

/// Whether the cells of these bins are counted by the table. Finer ones would need too much of it: they are counted in the
/// state, element by element.
template <class Bins>
inline constexpr bool table_counts = Bins::sub_bits <= 3;

/// What a monitor keeps to observe gradients with.
template <class Bins>
using table_for = gradient_table<table_counts<Bins> ? Bins::sub_bits : 0>;

/// The range of the magnitudes of x[0..n). With NaN or infinities `largest` is at least that of infinity.
inline magnitude_range range_of(float const* x, std::size_t n) {
    magnitude_range range;
    std::size_t i = 0;
#if !defined(__CUDACC__) // nvcc's front end takes the comparison of two vectors for a bool
    using integers = lanes<std::int32_t>;
    constexpr std::size_t width = lane_count<float>;
    integers largest[2] = {};
    integers smallest[2] = {integers{} + 0x7fff'ffff, integers{} + 0x7fff'ffff};
    for (; i + 2 * width <= n; i += 2 * width) {
        for (std::size_t k = 0; k < 2; ++k) {
            integers magnitude;
            std::memcpy(&magnitude, x + i + k * width, sizeof(magnitude));
            magnitude &= 0x7fff'ffff;
            integers const less_one = (magnitude - 1) & 0x7fff'ffff; // of zero: the largest integer
            largest[k] = magnitude > largest[k] ? magnitude : largest[k];
            smallest[k] = less_one < smallest[k] ? less_one : smallest[k];
        }
    }
    largest[0] = largest[1] > largest[0] ? largest[1] : largest[0];
    smallest[0] = smallest[1] < smallest[0] ? smallest[1] : smallest[0];
    for (std::size_t k = 0; k < width; ++k) {
        range.include({static_cast<std::uint32_t>(largest[0][k]), static_cast<std::uint32_t>(smallest[0][k])});
    }
#endif
    for (; i < n; ++i) {
        auto const magnitude = bit_cast<std::uint32_t>(x[i]) & 0x7fff'ffffU;
        range.include({magnitude, (magnitude - 1) & 0x7fff'ffffU});
    }
    return range;
}

/// Finite numbers of x as they are, others as 0, and how many of these there are. x may be `to`.
inline special_values keep_finite(float const* x, std::size_t n, float* to) {
    auto const specials = count_specials(x, n);
    for (std::size_t i = 0; i < n; ++i) {
        to[i] = (bit_cast<std::uint32_t>(x[i]) & 0x7fff'ffffU) < 0x7f80'0000U ? x[i] : 0.0F;
    }
    return specials;
}

/// 16-bit elements as floats; n is at most gradient_block_size.
template <class Bits>
inline void widen_block(std::byte const* from, std::size_t n, float* to) {
    std::size_t i = 0;
#if !defined(__CUDACC__)
    constexpr std::size_t width = lane_count<float>;
    using integers = lanes<std::int32_t>;
    for (; i + width <= n; i += width) {
        integers bits;
        load_lanes<std::int32_t>(reinterpret_cast<std::uint16_t const*>(from) + i, bits); // by memcpy
        integers wide;
        if constexpr (std::is_same_v<Bits, bfloat16_bits>) {
            wide = bits << 16;
        } else {
            integers const magnitude = bits & 0x7fff;
            integers const offset = magnitude >= 0x7c00 ? integers{} + (224 << 23) : integers{} + (112 << 23);
            lanes<float> const subnormal = __builtin_convertvector(magnitude, lanes<float>) * 0x1p-24F;
            wide = magnitude < 0x400 ? reinterpret_cast<integers>(subnormal) : (magnitude << 13) + offset;
            wide |= (bits & 0x8000) << 16;
        }
        std::memcpy(to + i, &wide, sizeof(wide));
    }
#endif
    for (; i < n; ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from + 2 * i, sizeof(bits));
        to[i] = widen_bits(Bits{bits});
    }
}

/// Elements [first, first + n) of a view as floats: the user's own memory, or widened in `buffer`.
inline float const* floats_of(gradient_view const& view, std::size_t first, std::size_t n, float* buffer) {
    if (view.type == gradient_type::float32) {
        return static_cast<float const*>(view.data) + first;
    }
    auto const* const elements = static_cast<std::byte const*>(view.data) + 2 * first;
    if (view.type == gradient_type::float16) {
        widen_block<half_bits>(elements, n, buffer);
    } else {
        widen_block<bfloat16_bits>(elements, n, buffer);
    }
    return buffer;
}

/// x[0..n) * factor. `to` may be x.
inline void scale_block(float const* x, std::size_t n, float factor, float* to) {
    constexpr std::size_t width = lane_count<float>;
    std::size_t i = 0;
    for (; i + width <= n; i += width) {
        lanes<float> v;
        std::memcpy(&v, x + i, sizeof(v));
        v *= factor;
        std::memcpy(to + i, &v, sizeof(v));
    }
    for (; i < n; ++i) {
        to[i] = x[i] * factor;
    }
}

/// Where a gradient goes on after a block: bytes that will be needed next. Never read, and may lie outside of any array.
struct bytes_ahead {
    std::uintptr_t address;
    std::size_t width; ///< of an element

    /// Asks for the lines of k elements from the i-th on.
    [[gnu::always_inline]] void fetch(std::size_t i, std::size_t k) const {
        for (std::size_t line = 0; line < k * width; line += 64) {
            __builtin_prefetch(reinterpret_cast<void const*>(address + i * width + line));
        }
    }
};

/// Deposits a block of floats, as they come, into a layer's sums and cells. What the table takes is still to be flushed.
template <class Bins, class Sums, class Cell>
inline void observe_block(float const* x, std::size_t n, Sums& sums, Cell* cells, table_for<Bins>& table, float* buffer,
                          bytes_ahead const& ahead) {
    if constexpr (!table_counts<Bins>) {
        for (std::size_t i = 0; i < n; ++i) {
            cells[Bins::index(x[i])].deposit(one);
        }
    }
    auto range = range_of(x, n);
    if (range.largest >= 0x7f80'0000U) {
        auto const specials = keep_finite(x, n, buffer);
        auto const replaced = specials.nans + specials.positive_infinities + specials.negative_infinities;
        if constexpr (table_counts<Bins>) {
            cells[Bins::nan].deposit(specials.nans);
            cells[Bins::above].deposit(specials.positive_infinities);
            cells[Bins::below].deposit(specials.negative_infinities);
        }
        if (replaced == n) {
            return;
        }
        x = buffer;
        range = range_of(x, n);
        table.leave_out_zeros(replaced);
    }
    sums.largest().deposit_key(std::uint64_t{range.largest} + 1);
    table.expect(x, n, range);
    deposit_squares(
        sums.squares(), x, n, range, [&](std::size_t i, std::size_t k) __attribute__((always_inline)) {
            ahead.fetch(i, k);
            table.add(x + i, k);
        });
}

/// Deposits a gradient times `factor` into a layer's sums and cells. The table is empty before and afterwards. Rounds to
/// nearest and keeps subnormal numbers, whatever the thread does otherwise, so that every engine finds the same.
template <class Bins, class Sums, class Cell>
inline void observe_gradient(gradient_view const& view, float factor, Sums& sums, Cell* cells, table_for<Bins>& table) {
    alignas(64) float buffer[gradient_block_size];
    std::size_t const width = view.type == gradient_type::float32 ? 4 : 2;
    auto const address = reinterpret_cast<std::uintptr_t>(view.data);
    float_environment const environment;
    auto const flush = [&] {
        table.flush(sums.values(), sums.magnitudes(), [&](float x, std::uint64_t n) {
            if constexpr (table_counts<Bins>) {
                cells[Bins::index(x)].deposit(n);
            }
        });
    };
    for (std::size_t first = 0; first < view.size; first += gradient_block_size) {
        auto const n = std::min(gradient_block_size, view.size - first);
        auto const* x = floats_of(view, first, n, buffer);
        if (factor != 1.0F) {
            scale_block(x, n, factor, buffer);
            x = buffer;
        }
        if (table.full(n)) {
            flush();
        }
        observe_block<Bins>(x, n, sums, cells, table, buffer, {address + (first + gradient_block_size) * width, width});
    }
    flush();
}

/// All elements as floats.
inline void copy_floats(gradient_view const& view, float* to) {
    for (std::size_t first = 0; first < view.size; first += gradient_block_size) {
        auto const n = std::min(gradient_block_size, view.size - first);
        auto const* const values = floats_of(view, first, n, to + first);
        if (values != to + first) {
            std::memcpy(to + first, values, n * sizeof(float));
        }
    }
}

/// Deposits the squares of a view's elements; NaN and infinities stay visible in the sum.
template <class Sum>
inline void observe_squares(gradient_view const& view, Sum& squares) {
    alignas(64) float buffer[gradient_block_size];
    float_environment const environment;
    for (std::size_t first = 0; first < view.size; first += gradient_block_size) {
        auto const n = std::min(gradient_block_size, view.size - first);
        auto const* x = floats_of(view, first, n, buffer);
        auto range = range_of(x, n);
        if (range.largest >= 0x7f80'0000U) {
            auto const specials = keep_finite(x, n, buffer);
            squares.add({specials.nans, specials.positive_infinities + specials.negative_infinities, 0});
            x = buffer;
            range = range_of(x, n);
        }
        deposit_squares(squares, x, n, range, [](std::size_t, std::size_t) {});
    }
}

} // inline namespace
} // namespace tally::detail
