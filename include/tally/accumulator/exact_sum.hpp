// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The exact sum of floating-point numbers: the same bits for any order, any batches and any number of replicas, on any
// engine. Models accumulator; travels as words, combined by integer addition. Partition law: exact.
// After Kulisch (long accumulator); digits of 32 bits that carry late after Neal, "Fast exact summation", 2015.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/core/digit_rounding.hpp>
#include <tally/core/digits.hpp>
#include <tally/core/exact_range.hpp>
#include <tally/detail/exact_block.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally {

namespace detail {

/// Digits so that at least 2^31 of the largest T fit before the sum counts as infinite, with room for 1,024 such sums.
template <class T>
inline constexpr std::size_t digits_for = [] {
    int const below_top = exact_range<T>::highest - exact_range<T>::lowest - 21; // 52 bits of the last digit less 31
    return below_top <= 32 ? std::size_t{2} : static_cast<std::size_t>((below_top + 31) / 32) + 1;
}();

} // namespace detail

/// T: float, double, half_bits, bfloat16_bits, an fp8 type with an exact_range, or product<T> of two numbers of at most
/// float's width (then deposit(x, w) and deposit(product{x, y}) add the product unrounded).
///   value()                  the exact sum, rounded once, to double; to any precision: rounded_to<float>()
///   a == b                   the same sum and the same special values
/// NaN and infinities are counted and give what IEEE 754 gives for their sum; -0 counts as 0, so a sum of zeros is +0.
/// A sum beyond 2^31 times the largest T becomes infinite. State in bytes: half 40, float and bfloat16 96, product<float>
/// 168, double 552. Costs: docs/sums.md. The library never rounds on the way, so a metric built on it depends on the
/// samples only.
template <class T>
class exact_sum {
    using range = exact_range<T>;
    using digits_type = detail::digits<detail::digits_for<T>>;
    static_assert(
        detail::exact_number<T> || detail::is_product_v<T>,
        "tally: exact_sum<T> sums floats, doubles, small floats and product<T> of numbers of at most 26 bits");

public:
    using value_type = T;
    /// The sum that takes weights as well: what a weighted metric keeps in place of this one.
    using weighted_type = std::conditional_t<detail::is_product_v<T> || !detail::is_product_v<product<T>>, exact_sum,
                                             exact_sum<product<T>>>;

    constexpr exact_sum() = default;
    /// Starts at a number that value() may have returned. (Others are cut to a multiple of 2^exact_range<T>::lowest.)
    TALLY_HD constexpr explicit exact_sum(double start) { add<53>(detail::decompose(start)); }

    template <class X>
        requires detail::in_exact_range<T, X>
    TALLY_HD constexpr void deposit(X x) {
        add<detail::decomposed_bits<X>>(detail::decompose(x));
    }
    TALLY_HD constexpr void deposit(one_t) { add<1>({1, 0, false, detail::number_kind::finite}); }
    template <class X, class W>
        requires detail::product_in_exact_range<T, X, W>
    TALLY_HD constexpr void deposit(X x, W weight) {
        add<detail::decomposed_bits<X> + detail::decomposed_bits<W>>(
            detail::multiply(detail::decompose(x), detail::decompose(weight)));
    }
    template <class W>
        requires detail::in_exact_range<T, W>
    TALLY_HD constexpr void deposit(one_t, W weight) {
        deposit(weight);
    }
    template <class X>
        requires detail::product_in_exact_range<T, X, X>
    TALLY_HD constexpr void deposit(product<X> const& x) {
        deposit(x.first, x.second);
    }

    /// Vectorised for float and double; the same bits as one by one.
    template <class X>
        requires detail::in_exact_range<T, X>
    void deposit_block(X const* x, std::size_t n) {
        detail::deposit_exactly(*this, x, n);
        settle();
    }
    template <class X, class W>
        requires detail::product_in_exact_range<T, X, W>
    void deposit_block(X const* x, W const* weights, std::size_t n) {
        detail::deposit_exactly(*this, x, weights, n);
        settle();
    }
    template <class W>
        requires detail::in_exact_range<T, W>
    void deposit_block(one_t const*, W const* weights, std::size_t n) {
        deposit_block(weights, n);
    }

    TALLY_HD constexpr void merge(exact_sum const& other) {
        digits_.add(other.digits_);
        nans_ += other.nans_;
        positive_infinities_ += other.positive_infinities_;
        negative_infinities_ += other.negative_infinities_;
        settle();
    }
    /// Takes canonical form: what travels, is compared and is stored. The number stays the same.
    TALLY_HD constexpr void normalise() {
        digits_.normalise();
        settle();
    }

    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        normalise();
        visit(archive);
        normalise();
    }
    /// The words as they are, for atomic additions by many threads. What is read is normalised. An archive that adds to
    /// words more than 2^30 times hands on carries between digits: see digits::travel.
    template <class Archive>
    TALLY_HD constexpr void parts(Archive& archive) {
        visit(archive);
        normalise();
    }

    /// The sum rounded to the nearest Float, ties to even; overflow gives infinity.
    template <std::floating_point Float>
    [[nodiscard]] TALLY_HD constexpr Float rounded_to() const {
        exact_sum canonical = *this;
        canonical.normalise();
        bool const up = canonical.positive_infinities_ != 0;
        bool const down = canonical.negative_infinities_ != 0;
        if (canonical.nans_ != 0 || (up && down)) {
            return static_cast<Float>(detail::not_a_number);
        }
        if (up || down) {
            return up ? static_cast<Float>(__builtin_huge_val()) : -static_cast<Float>(__builtin_huge_val());
        }
        return detail::round_digits<Float>(canonical.digits_, range::lowest);
    }
    [[nodiscard]] TALLY_HD constexpr double value() const { return rounded_to<double>(); }

    [[nodiscard]] TALLY_HD constexpr std::uint64_t nans() const { return nans_; }
    /// Infinite deposits, and sums that left the range.
    [[nodiscard]] TALLY_HD constexpr std::uint64_t infinities() const {
        return positive_infinities_ + negative_infinities_;
    }
    [[nodiscard]] TALLY_HD constexpr bool operator==(exact_sum const& other) const {
        exact_sum a = *this;
        exact_sum b = other;
        a.normalise();
        b.normalise();
        return a.digits_ == b.digits_ && a.nans_ == b.nans_ && a.positive_infinities_ == b.positive_infinities_ &&
               a.negative_infinities_ == b.negative_infinities_;
    }

    /// For what is computed from exact sums: the sum's digits in canonical form, in units of 2^exact_range<T>::lowest.
    /// They stand for it where nothing has been NaN or infinite.
    [[nodiscard]] TALLY_HD constexpr digits_type canonical_digits() const {
        digits_type canonical = digits_;
        canonical.normalise();
        return canonical;
    }

    /// For engines: adds a number that is a multiple of 2^lowest, with a significand of at most Bits bits.
    template <int Bits>
    TALLY_HD constexpr void add(detail::decomposed const& x) {
        if (x.kind != detail::number_kind::finite) {
            add_special(x);
            return;
        }
        int const shift = x.exponent - range::lowest;
        if (shift >= 0) {
            digits_.template add<Bits>(x.significand, static_cast<unsigned>(shift), x.negative);
        } else if (shift > -64) {
            digits_.template add<Bits>(x.significand >> -shift, 0, x.negative);
        }
    }
    /// For engines: adds values that are not finite.
    TALLY_HD constexpr void add(detail::special_values const& counted) {
        nans_ += counted.nans;
        positive_infinities_ += counted.positive_infinities;
        negative_infinities_ += counted.negative_infinities;
    }

private:
    /// Bound of the last digit of a canonical form: 1,024 replicas at the bound can be added without losing the sign.
    static constexpr std::int64_t top_limit = std::int64_t{1} << 52;
    static_assert(range::highest - range::lowest - 32 * static_cast<int>(digits_type::size - 1) + 31 <= 52);

    TALLY_HD constexpr void add_special(detail::decomposed const& x) {
        if (x.kind == detail::number_kind::nan) {
            ++nans_;
        } else if (x.negative) {
            ++negative_infinities_;
        } else {
            ++positive_infinities_;
        }
    }
    [[nodiscard]] TALLY_HD constexpr bool top_is_low_enough() const {
        return digits_.top() >= -top_limit && digits_.top() < top_limit;
    }
    /// A sum out of range becomes an infinity.
    TALLY_HD constexpr void settle() {
        if (top_is_low_enough()) {
            return;
        }
        digits_.normalise(); // carries that wait may bring it back
        if (!top_is_low_enough()) {
            add_special({0, 0, digits_.top() < 0, detail::number_kind::infinity});
            digits_ = digits_type{};
        }
    }
    template <class Archive>
    TALLY_HD constexpr void visit(Archive& archive) {
        digits_.travel(archive);
        archive.sum(nans_);
        archive.sum(positive_infinities_);
        archive.sum(negative_infinities_);
    }

    digits_type digits_;
    std::uint64_t nans_ = 0;
    std::uint64_t positive_infinities_ = 0;
    std::uint64_t negative_infinities_ = 0;
};

} // namespace tally
