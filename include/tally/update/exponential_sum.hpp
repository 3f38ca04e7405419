// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The sum of exponentials of a row of scores, with every addition in its place, so that engines agree on its bits.
//
// A row is taken in parts of 512 columns. The terms e^(s - m) of a part, m its highest score, are added as a tree that
// halves the part: column c and column c + 256, of these sums c and c + 128, and so on down to neighbours; columns that
// are not there add 0. The scores that equal m are not in the tree but counted: one of them is the 1 that every sum has,
// and what is above 1 keeps its digits. 32 parts are a group: relative to the highest score of all, they are added as a
// tree as well. Groups are joined from left to right. The squares of the terms go the same way.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/exp_log.hpp>
#include <tally/core/multiply_add.hpp>

#include <cstdint>

namespace tally::detail {

/// Columns of a part and parts of a group. A change changes results.
inline constexpr int part_columns = 512;
inline constexpr int group_parts = 32;
inline constexpr std::int32_t group_columns = part_columns * group_parts;

/// For e^x = 2^n p(r) as in exp_constants, r in one step: that is like rounding x once more (double: twice), as the
/// difference of two scores is already. p is twice the mantissa and the power half of what they are there, so that for
/// n = -125 (double: -1021) both and their product are normal numbers; one further down the power is 0.
template <class T>
struct term_constants;
template <>
struct term_constants<float> {
    static constexpr float shifter = exp_constants<float>::shifter - 1.0F;
    static constexpr float ln2 = 0x1.62e430p-1F;
    static constexpr float floor = -87.2F; // n = -126
    // Minimax for the relative error on |r| <= 0.3466, the last one fixed: 9.2e-8. The highest power comes first.
    static constexpr std::size_t terms = 6;
    static constexpr float polynomial[terms] = {0x1.0fa80cp-6F, 0x1.573a8ap-4F, 0x1.555a6cp-2F,
                                                0x1.fffdc4p-1F, 0x1.fffff6p+0F, 2.0F};
};
template <>
struct term_constants<double> {
    static constexpr double shifter = exp_constants<double>::shifter - 1.0;
    static constexpr double ln2 = 0x1.62e42fefa39efp-1;
    static constexpr double floor = -708.4; // n = -1022
    static constexpr std::size_t terms = exp_constants<double>::terms;
    static constexpr double polynomial[terms] = {2 * exp_constants<double>::polynomial[0],
                                                 2 * exp_constants<double>::polynomial[1],
                                                 2 * exp_constants<double>::polynomial[2],
                                                 2 * exp_constants<double>::polynomial[3],
                                                 2 * exp_constants<double>::polynomial[4],
                                                 2 * exp_constants<double>::polynomial[5],
                                                 2 * exp_constants<double>::polynomial[6],
                                                 2 * exp_constants<double>::polynomial[7],
                                                 2 * exp_constants<double>::polynomial[8],
                                                 2 * exp_constants<double>::polynomial[9],
                                                 2.0,
                                                 2.0};
};

/// e^x for x < 0, and 0 for all else: what a score that lies -x below the highest one adds to the tree.
template <class T>
[[nodiscard]] TALLY_HD T term_below(T x) {
    using constants = term_constants<T>;
    using bits = typename exp_constants<T>::bits;
    T const negative = x < T{0} ? x : constants::floor;
#if defined(__CUDA_ARCH__)
    T const clamped = fmax(negative, constants::floor); // one instruction
#else
    T const clamped = constants::floor > negative ? constants::floor : negative;
#endif
    T const shifted = multiply_add(clamped, exp_constants<T>::log2_e, constants::shifter);
    T const r = multiply_add(shifted - constants::shifter, -constants::ln2, clamped);
    T const mantissa = math::detail::polynomial<constants>(r, any_multiply_add{});
    T const power = bit_cast<T>(static_cast<bits>(bit_cast<bits>(shifted) << exp_constants<T>::mantissa_bits));
    return mantissa * power; // exact, so it may be fused with what it is added to
}

/// Whether a highest score can be what terms are relative to.
template <class T>
[[nodiscard]] TALLY_HD bool is_finite_top(T top) {
    return top - top == T{0};
}

/// The exponentials of a part, or of a group, relative to its highest score. Anything where that is not finite.
template <class T>
struct part_sums {
    T top;
    T above_one; ///< sum of e^(s - top), less 1
    T squares;   ///< sum of the squares of these

    /// From the trees and how many scores equal the highest one.
    [[nodiscard]] TALLY_HD static part_sums of_trees(T highest, std::int32_t highest_scores, T terms,
                                                     T squares_of_terms) {
        return {highest, static_cast<T>(highest_scores - 1) + terms, static_cast<T>(highest_scores) + squares_of_terms};
    }
    /// What it adds to a group with the highest score `group_top`: that less 1 if it `leads`, as the first of the parts
    /// with that score does.
    [[nodiscard]] TALLY_HD part_sums within(T group_top, bool leads) const {
        if (leads) {
            return *this;
        }
        T const factor = top == group_top ? T{1} : term_below(top - group_top);
        return {group_top, rounded_product(above_one + T{1}, factor),
                rounded_product(squares, rounded_product(factor, factor))};
    }
};

/// The exponentials of a row so far: those of whole groups.
template <class T>
struct exponentials {
    T top = static_cast<T>(-__builtin_huge_val());
    double above_one = 0.0; ///< sum of e^(s - top), less 1; anything where top is not finite
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
            auto const factor = lower.top == top ? 1.0 : static_cast<double>(term_below(lower.top - top));
            above_one += rounded_product(lower.above_one + 1.0, factor);
            squares += rounded_product(lower.squares, rounded_product(factor, factor));
        }
    }
};

} // namespace tally::detail
