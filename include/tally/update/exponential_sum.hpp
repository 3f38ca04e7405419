// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The sum of exponentials of a row of scores, defined so that no engine's order of additions shows. Scores are taken in
// parts of 512 columns: a term e^(s - highest of the part) is rounded to a grid and added as an integer. Parts are made
// relative to the highest score of their group of 32 and again added as integers; groups are joined from left to right.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/exp_log.hpp>
#include <tally/core/multiply_add.hpp>

#include <cstdint>

namespace tally::detail {

/// Columns of a part and parts of a group. What a warp or a block of a device reads at once; a change changes results.
inline constexpr int part_columns = 512;
inline constexpr int group_parts = 32;
inline constexpr std::int32_t group_columns = part_columns * group_parts;

/// How a term of type T, at most 1, becomes two integers: the bits of `term + high_magic` count units of 2^-44 (double)
/// or 2^-22 (float) from those of `high_magic` on, and the bits of `what that left over + low_magic` count units of
/// 2^-96 or 2^-44. 512 of each fit the integers, also with their signs.
template <class T>
struct term_grid;
template <>
struct term_grid<float> {
    using bits = std::uint32_t;
    using signed_bits = std::int32_t;
    static constexpr float high_magic = 2.0F;
    static constexpr float low_magic = 0x1.8p-21F;
    static constexpr bits high_bias = 0x40000000;
    static constexpr bits low_bias = 0x35400000;
};
template <>
struct term_grid<double> {
    using bits = std::uint64_t;
    using signed_bits = std::int64_t;
    static constexpr double high_magic = 0x1p8;
    static constexpr double low_magic = 0x1.8p-44;
    static constexpr bits high_bias = 0x4070000000000000;
    static constexpr bits low_bias = 0x3d38000000000000;
};

/// What a sum of doubles has besides `high`. A base, so that a sum of floats doesn't have it.
template <bool Present>
struct low_word {
    std::int64_t low = 0;
};
template <>
struct low_word<false> {};

/// A sum of terms of T: `high` units of 2^-44 and, for double, `low` units of 2^-96. At most a group of parts.
template <class T>
struct term_sum : low_word<sizeof(T) == sizeof(double)> {
    static constexpr bool two_words = sizeof(T) == sizeof(double);
    std::int64_t high = 0;

    /// From the wrapped sums of bits of `terms` terms.
    [[nodiscard]] TALLY_HD static term_sum of_bits(typename term_grid<T>::bits high_bits,
                                                   typename term_grid<T>::bits low_bits, std::uint32_t terms) {
        using grid = term_grid<T>;
        using bits = typename grid::bits;
        auto const h = static_cast<std::int64_t>(static_cast<bits>(high_bits - grid::high_bias * bits{terms}));
        auto const l = static_cast<std::int64_t>(
            static_cast<typename grid::signed_bits>(static_cast<bits>(low_bits - grid::low_bias * bits{terms})));
        term_sum sum;
        if constexpr (two_words) {
            sum.high = h;
            sum.low = l;
            sum.carry();
        } else {
            sum.high = h * (std::int64_t{1} << 22) + l;
        }
        return sum;
    }
    TALLY_HD void add(term_sum const& other) {
        high += other.high;
        if constexpr (two_words) {
            this->low += other.low;
            carry();
        }
    }
    /// The sum times `factor`, in [0, 1]; the same if that is 1.
    [[nodiscard]] TALLY_HD term_sum times(double factor) const {
        if (factor == 1.0) {
            return *this;
        }
        double const units = rounded_product(value(), factor) * unit;
        term_sum scaled;
        scaled.high = static_cast<std::int64_t>(units); // towards zero, as everywhere
        if constexpr (two_words) {
            scaled.low = static_cast<std::int64_t>((units - static_cast<double>(scaled.high)) * low_unit);
        }
        return scaled;
    }
    [[nodiscard]] TALLY_HD double value() const { return value_of(high); }
    /// What the sum has over 1, which a sum of which one term is 1 never lacks.
    [[nodiscard]] TALLY_HD double above_one() const { return value_of(high - (std::int64_t{1} << 44)); }

    TALLY_HD void carry() {
        high += this->low >> 52;
        this->low &= (std::int64_t{1} << 52) - 1;
    }

private:
    static constexpr double unit = 0x1p44;
    static constexpr double low_unit = 0x1p52;

    [[nodiscard]] TALLY_HD double value_of(std::int64_t whole) const {
        double const sum = static_cast<double>(whole) * 0x1p-44; // powers of two: exact products
        if constexpr (two_words) {
            return sum + static_cast<double>(this->low) * 0x1p-96;
        }
        return sum;
    }
};

/// The bits of terms added up, before term_sum::of_bits: what a thread does for its scores.
template <class T>
struct term_bits {
    typename term_grid<T>::bits high = 0;
    typename term_grid<T>::bits low = 0;

    /// Adds e^x, x <= 0, and its square to `squares` unless that is null. math::exp without what x > 0 needs.
    TALLY_HD void add_exp(T x, term_bits* squares) {
        using constants = exp_constants<T>;
        T const clamped = constants::floor > x ? constants::floor : x;
        T const shifted = multiply_add(clamped, constants::log2_e, constants::shifter);
        T const n = shifted - constants::shifter;
        T const r = multiply_add(n, -constants::ln2_low, multiply_add(n, -constants::ln2_high, clamped));
        T const mantissa = math::detail::polynomial<constants>(r, any_multiply_add{});
        using bits = typename constants::bits;
        T const power = bit_cast<T>(static_cast<bits>(bit_cast<bits>(shifted) << constants::mantissa_bits));
        add_product(mantissa, power);
        if (squares != nullptr) {
            T const e = mantissa * power;
            squares->add_product(e, e);
        }
    }

private:
    TALLY_HD void add_product(T a, T b) {
        using grid = term_grid<T>;
        T const counted = multiply_add(a, b, grid::high_magic);
        T const rest = multiply_add(a, b, grid::high_magic - counted) + grid::low_magic;
        high += bit_cast<typename grid::bits>(counted);
        low += bit_cast<typename grid::bits>(rest);
    }
};

/// Whether a highest score can be what terms are relative to.
template <class T>
[[nodiscard]] TALLY_HD bool is_finite_top(T top) {
    return top - top == T{0};
}

/// e^(lower - higher): by what a sum relative to `lower` is to be multiplied.
template <class T>
[[nodiscard]] TALLY_HD double rescaling(T lower, T higher) {
    return static_cast<double>(math::exp(lower - higher));
}

/// The exponentials of a row so far: those of whole groups.
template <class T>
struct exponentials {
    T top = static_cast<T>(-__builtin_huge_val());
    double above_one = 0.0; ///< sum of e^(s - top), less 1; 0 if top is not finite
    double squares = 0.0;   ///< sum of the squares of these

    /// Joins the next group, whose sums are relative to its highest score.
    TALLY_HD void join(T next_top, double next_above_one, double next_squares) {
        if (next_top > top) {
            exponentials const before = *this;
            *this = {next_top, next_above_one, next_squares};
            add(before);
        } else {
            add({next_top, next_above_one, next_squares});
        }
    }

private:
    TALLY_HD void add(exponentials const& lower) {
        if (is_finite_top(top) && is_finite_top(lower.top)) {
            double const factor = rescaling(lower.top, top);
            above_one += rounded_product(lower.above_one + 1.0, factor);
            squares += rounded_product(lower.squares, rounded_product(factor, factor));
        }
    }
};

} // namespace tally::detail
