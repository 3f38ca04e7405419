// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A plain sum. Models accumulator. Integer sums are combined by integer addition (bit-equal for every split, modulo
// 2^64); floating-point sums are gathered and added in rank order: repeatable for the same split, bounded for others.
#pragma once

#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/detail/lanes.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally {

/// Sum of T in T. 8 bytes for double. Error of the double sum of n terms: at most n 2^-53 sum|x| (recursive summation,
/// Higham 2002, section 4.2); NaN and infinities follow IEEE 754. `deposit(x, w)` adds w x. A sum of integers takes
/// integers only, as contributions and as weights: fractions would be cut off one by one.
template <class T>
    requires std::is_arithmetic_v<T>
class sum {
    template <class X>
    static constexpr bool fits = std::is_arithmetic_v<X> && (std::is_floating_point_v<T> || std::is_integral_v<X>);

public:
    using value_type = T;

    constexpr sum() = default;
    TALLY_HD constexpr explicit sum(T start) : value_{start} {}

    template <class X>
        requires fits<X> || std::same_as<X, one_t>
    TALLY_HD constexpr void deposit(X x) {
        add(convert(x));
    }
    template <class X, class Weight>
        requires(fits<X> || std::same_as<X, one_t>) && fits<Weight>
    TALLY_HD constexpr void deposit(X x, Weight weight) {
        add(static_cast<wide>(convert(x)) * static_cast<wide>(weight));
    }
    template <class X>
        requires fits<X>
    void deposit_block(X const* x, std::size_t n) {
        add(detail::sum_of<wide>(x, n));
    }
    TALLY_HD constexpr void deposit_block(one_t const*, std::size_t n) { add(static_cast<wide>(n)); }
    template <class X, class Weight>
        requires std::is_arithmetic_v<X> && std::is_floating_point_v<T>
    void deposit_block(X const* x, Weight const* weights, std::size_t n) {
        add(detail::sum_of_products<wide>(x, weights, n));
    }
    template <class Weight>
        requires std::is_floating_point_v<T>
    void deposit_block(one_t const*, Weight const* weights, std::size_t n) {
        deposit_block(weights, n);
    }
    TALLY_HD constexpr void merge(sum const& other) { add(other.value_); }

    template <class Archive>
        requires std::is_integral_v<T>
    TALLY_HD constexpr void travel(Archive& archive) {
        auto word = static_cast<std::uint64_t>(value_);
        archive.sum(word);
        value_ = static_cast<T>(word);
    }

    template <class Archive>
        requires std::same_as<T, float> || std::same_as<T, double>
    TALLY_HD constexpr void parts(Archive& archive) {
        archive.add(value_);
    }

    [[nodiscard]] TALLY_HD constexpr T value() const { return value_; }
    [[nodiscard]] constexpr bool operator==(sum const&) const = default;

private:
    // Integers add in 64 unsigned bits: overflow wraps, as it does between replicas, and is never undefined.
    using wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;

    template <class X>
    TALLY_HD static constexpr T convert(X x) {
        if constexpr (std::same_as<X, one_t>) {
            return T{1};
        } else {
            return static_cast<T>(x);
        }
    }
    template <class X>
    TALLY_HD constexpr void add(X x) {
        value_ = static_cast<T>(static_cast<wide>(value_) + static_cast<wide>(x));
    }

    T value_{};
};

} // namespace tally
