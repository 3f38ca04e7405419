// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A sum in fixed point: every number is rounded to a multiple of a unit that you choose, the multiples are added as
// integers. Models accumulator; travels as words, combined by integer addition. Partition law: exact, the same bits for any
// order, batches, replicas and engine. For tables, where an exact_sum in every cell would take too much memory.
#pragma once

#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/decomposed.hpp>
#include <tally/core/digit_rounding.hpp>
#include <tally/core/widen.hpp>
#include <tally/detail/fixed_block.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally {

/// The unit is 2^Lsb: fixed_sum<-20> counts in steps of about one millionth. 16 bytes, three words on the way.
///   error      at most 2^(Lsb - 1) for each deposit; none for multiples of the unit
///   range      |sum| < 2^(62 + Lsb): for fixed_sum<-20>, 4.4e12
///   saturated  deposits that were left out because they are not finite or not below 2^(62 + Lsb) in size; and one more
///              whenever a sum has left the range and was cut to its end: then value() is a bound at best
/// A product x w is rounded once (two doubles: after their product in double).
template <int Lsb>
    requires(Lsb >= -500 && Lsb <= 500)
class fixed_sum {
    template <class X>
    static constexpr bool fits = element<X> && !std::same_as<X, long double>;

public:
    static constexpr int unit_exponent = Lsb;

    template <class X>
        requires fits<X>
    TALLY_HD constexpr void deposit(X const& x) {
        add(detail::decompose(x));
    }
    TALLY_HD constexpr void deposit(one_t) { deposit(1); }
    template <class X, class W>
        requires fits<X> && fits<W>
    TALLY_HD constexpr void deposit(X const& x, W const& weight) {
        auto const a = detail::decompose(x);
        auto const b = detail::decompose(weight);
        if constexpr (detail::decomposed_bits<X> + detail::decomposed_bits<W> <= 64) {
            add(detail::multiply(a, b));
        } else {
            add(detail::decompose(static_cast<double>(x) * static_cast<double>(weight)));
        }
    }
    template <class W>
        requires fits<W>
    TALLY_HD constexpr void deposit(one_t, W const& weight) {
        deposit(weight);
    }
    /// Vectorised for float and double; the same bits as one by one.
    template <class X>
        requires fits<X>
    void deposit_block(X const* x, std::size_t n) {
        detail::deposit_multiples<Lsb>(*this, x, n);
    }
    TALLY_HD constexpr void merge(fixed_sum const& other) {
        add_units(static_cast<std::int64_t>(other.units_));
        saturated_ += other.saturated_;
    }

    /// The upper half travels as well: with it, the reader sees if the sum of all replicas has left the range.
    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        auto upper = static_cast<std::uint64_t>(static_cast<std::int64_t>(units_) >> 32);
        archive.sum(units_);
        archive.sum(upper);
        archive.sum(saturated_);
        // The sum is 2^32 upper + rest, where 0 <= rest < 2^32 replicas.
        auto const rest = units_ - (upper << 32);
        auto const high = static_cast<std::int64_t>(upper) + static_cast<std::int64_t>(rest >> 32);
        if (high < -(limit >> 32) || high >= (limit >> 32)) {
            saturate(high < 0);
        }
    }
    /// For atomic additions by many threads, which don't notice if they leave the range.
    template <class Archive>
    TALLY_HD constexpr void parts(Archive& archive) {
        archive.sum(units_);
        archive.sum(saturated_);
    }

    /// The sum rounded to the nearest double.
    [[nodiscard]] TALLY_HD constexpr double value() const {
        bool const negative = static_cast<std::int64_t>(units_) < 0;
        auto const magnitude = negative ? std::uint64_t{0} - units_ : units_;
        if (magnitude == 0) {
            return 0.0;
        }
        auto const zeros = __builtin_clzll(magnitude);
        return detail::round_to<double>({magnitude << zeros, Lsb + 63 - zeros, false}, negative);
    }
    /// The sum in units of 2^Lsb.
    [[nodiscard]] TALLY_HD constexpr std::int64_t units() const { return static_cast<std::int64_t>(units_); }
    [[nodiscard]] TALLY_HD constexpr std::uint64_t saturated() const { return saturated_; }
    [[nodiscard]] constexpr bool operator==(fixed_sum const&) const = default;

    /// For engines: adds a whole number of units, below 2^62 in size.
    TALLY_HD constexpr void add_units(std::int64_t n) {
        auto const sum = static_cast<std::int64_t>(units_ + static_cast<std::uint64_t>(n)); // both below 2^62
        units_ = static_cast<std::uint64_t>(sum);
        if (sum <= -limit || sum >= limit) {
            saturate(sum < 0);
        }
    }

private:
    static constexpr std::int64_t limit = std::int64_t{1} << 62;

    TALLY_HD constexpr void saturate(bool negative) {
        units_ = static_cast<std::uint64_t>(negative ? 1 - limit : limit - 1);
        ++saturated_;
    }
    TALLY_HD constexpr void add(detail::decomposed const& x) {
        auto const multiple = detail::round_to_multiple(x, Lsb);
        saturated_ += multiple.fits ? 0 : 1;
        add_units(multiple.units);
    }

    std::uint64_t units_ = 0;
    std::uint64_t saturated_ = 0;
};

} // namespace tally
