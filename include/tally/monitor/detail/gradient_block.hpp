// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// One pass over a layer's gradient on the host: blocks that fit the first-level cache are widened, unscaled, split into
// what the sums take and what the histogram takes, then handed to the accumulators' block deposits.
#pragma once

#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/half_bits.hpp>
#include <tally/detail/lanes.hpp>
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

/// Elements of a block: its arrays together take 12 KB.
inline constexpr std::size_t gradient_block_size = 1024;

struct gradient_block {
    alignas(64) float finite[gradient_block_size];     ///< the gradients, 0 where they are not finite
    alignas(64) float magnitudes[gradient_block_size]; ///< of `finite`
    alignas(64) std::uint32_t cells[gradient_block_size];
    std::uint64_t largest_key; ///< what largest_magnitude takes
};

/// One element, the definition of what split_block does to many.
template <class Bins>
inline void split_one(float gradient, std::size_t i, gradient_block& out) {
    auto const bits = bit_cast<std::uint32_t>(gradient);
    auto const magnitude = bits & 0x7fff'ffffU;
    bool const is_finite = magnitude < 0x7f80'0000U;
    out.finite[i] = is_finite ? gradient : 0.0F;
    out.magnitudes[i] = is_finite ? bit_cast<float>(magnitude) : 0.0F;
    out.cells[i] = static_cast<std::uint32_t>(Bins::index(gradient));
    out.largest_key = std::max(out.largest_key, is_finite ? std::uint64_t{magnitude} + 1 : 0);
}

/// Multiplies x[0..n) by `factor` and splits it. n is at most gradient_block_size; x may be out.finite.
template <class Bins, bool Scaled>
inline void split_block(float const* x, std::size_t n, float factor, gradient_block& out) {
    out.largest_key = 0;
    std::size_t i = 0;
#if !defined(__CUDACC__) // nvcc's front end takes the comparison of two vectors for a bool
    using floats = lanes<float>;
    using integers = lanes<std::int32_t>;
    constexpr std::size_t width = lane_count<float>;
    constexpr std::int32_t infinity = 0x7f80'0000;
    constexpr int shift = 23 - static_cast<int>(Bins::sub_bits);
    constexpr std::int32_t before_first = ((Bins::min_exponent + 127) << Bins::sub_bits) - 2;
    constexpr auto regular = static_cast<std::int32_t>(Bins::magnitudes);
    constexpr auto zero = static_cast<std::int32_t>(Bins::zero);
    constexpr auto nan = static_cast<std::int32_t>(Bins::nan);
    integers largest{};
    for (; i + width <= n; i += width) {
        floats values;
        std::memcpy(&values, x + i, sizeof(values));
        if constexpr (Scaled) {
            values *= factor;
        }
        integers const bits = reinterpret_cast<integers>(values);
        integers const magnitude = bits & 0x7fff'ffff;
        integers const not_finite = magnitude >= infinity; // -1 or 0
        integers const finite = bits & ~not_finite;
        integers const finite_magnitude = magnitude & ~not_finite;
        std::memcpy(out.finite + i, &finite, sizeof(finite));
        std::memcpy(out.magnitudes + i, &finite_magnitude, sizeof(finite_magnitude));
        integers const key = (magnitude + 1) & ~not_finite;
        largest = key > largest ? key : largest;
        // As logarithmic_bins::index: the distance from the cell of zero, then the sign.
        integers distance = (magnitude >> shift) - before_first;
        distance = distance > 1 ? distance : integers{} + 1;
        distance = distance < regular + 2 ? distance : integers{} + (regular + 2);
        distance = not_finite ? integers{} + (regular + 3) : distance;
        distance &= magnitude != 0;
        integers const sign = bits >> 31;
        integers cell = zero + ((distance ^ sign) - sign);
        cell = magnitude > infinity ? integers{} + nan : cell;
        std::memcpy(out.cells + i, &cell, sizeof(cell));
    }
    for (std::size_t k = 0; k < width; ++k) {
        out.largest_key = std::max(out.largest_key, static_cast<std::uint64_t>(largest[k]));
    }
#endif
    for (; i < n; ++i) {
        split_one<Bins>(Scaled ? x[i] * factor : x[i], i, out);
    }
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

/// Histogram counters of one layer while it is observed. Four tables in turn, so that equal neighbours don't wait for
/// each other's increment; short layers and fine bins count in the state at once.
template <class Bins>
class cell_counters {
public:
    static constexpr bool fits = Bins::cells <= 2048;

    /// Counts a block, and meanwhile asks for the one after it: n elements of `width` bytes from the address `next` on,
    /// which is never read and may lie outside of any array.
    template <class Cell>
    void add(std::uint32_t const* cells, std::size_t n, std::uintptr_t next, std::size_t width, Cell* state) {
        if constexpr (fits) {
            if (!started_) {
                std::memset(counts_, 0, sizeof(counts_));
                started_ = true;
            }
            std::size_t i = 0;
            for (; i + 16 <= n; i += 16) {
                __builtin_prefetch(reinterpret_cast<void const*>(next + i * width));
                for (std::size_t k = i; k < i + 16; k += 4) {
                    ++counts_[0][cells[k]];
                    ++counts_[1][cells[k + 1]];
                    ++counts_[2][cells[k + 2]];
                    ++counts_[3][cells[k + 3]];
                }
            }
            for (; i < n; ++i) {
                ++counts_[0][cells[i]];
            }
            counted_ += n;
            if (counted_ >= std::size_t{1} << 31) {
                flush(state);
            }
        } else {
            add_directly(cells, n, state);
        }
    }
    template <class Cell>
    static void add_directly(std::uint32_t const* cells, std::size_t n, Cell* state) {
        for (std::size_t i = 0; i < n; ++i) {
            state[cells[i]].deposit(one);
        }
    }
    template <class Cell>
    void flush(Cell* state) {
        if constexpr (fits) {
            if (started_) {
                for (std::size_t k = 0; k < Bins::cells; ++k) {
                    state[k].deposit(std::uint64_t{counts_[0][k]} + counts_[1][k] + counts_[2][k] + counts_[3][k]);
                }
            }
            started_ = false;
            counted_ = 0;
        }
    }

private:
    std::uint32_t counts_[fits ? 4 : 1][fits ? Bins::cells : 1];
    std::size_t counted_ = 0;
    bool started_ = false;
};

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

/// Deposits a gradient times `factor` into a layer's sums and cells.
template <class Bins, class Sums, class Cell>
inline void observe_gradient(gradient_view const& view, float factor, Sums& sums, Cell* cells) {
    gradient_block block;
    cell_counters<Bins> counters;
    std::size_t const width = view.type == gradient_type::float32 ? 4 : 2;
    auto const address = reinterpret_cast<std::uintptr_t>(view.data);
    bool const is_short = view.size < 2 * gradient_block_size;
    for (std::size_t first = 0; first < view.size; first += gradient_block_size) {
        auto const n = std::min(gradient_block_size, view.size - first);
        auto const* const values = floats_of(view, first, n, block.finite);
        if (factor == 1.0F) {
            split_block<Bins, false>(values, n, factor, block);
        } else {
            split_block<Bins, true>(values, n, factor, block);
        }
        sums.deposit_block(block.finite, block.magnitudes, n, block.largest_key);
        if (is_short) {
            counters.add_directly(block.cells, n, cells);
        } else {
            counters.add(block.cells, n, address + (first + gradient_block_size) * width, width, cells);
        }
    }
    counters.flush(cells);
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

/// Deposits updates and the weights beside them, of the same size, into a layer's sums.
template <class Sums>
inline void observe_updates(gradient_view const& updates, gradient_view const& weights, Sums& sums) {
    alignas(64) float buffers[2][gradient_block_size];
    for (std::size_t first = 0; first < updates.size; first += gradient_block_size) {
        auto const n = std::min(gradient_block_size, updates.size - first);
        sums.deposit_block(pair_block<float, float>{floats_of(updates, first, n, buffers[0]),
                                                    floats_of(weights, first, n, buffers[1])},
                           n);
    }
}

} // inline namespace
} // namespace tally::detail
