// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A value or the reason why there is none. Metrics return it instead of a silent 0, an epsilon or an exception.
// Converting to double gives NaN where there is no value. Samples that a policy left out are counted beside the value.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/errors.hpp>

#include <concepts>
#include <cstdint>
#include <string>

namespace tally {

/// Why a result has no value.
enum class reason : std::uint8_t {
    none,             ///< there is a value
    no_samples,       ///< never updated, or every sample was masked or dropped
    zero_denominator, ///< the definition divides by zero, for example weights that sum to zero
    single_class,     ///< a ranking metric saw only one class
    absent_class,     ///< a class that has no sample and was never predicted
    too_few_samples,  ///< fewer samples than degrees of freedom
    no_variance,      ///< a correlation of constant data
    replicas_differ   ///< replicas were declared to hold the same value, and do not
};

/// The reason in words, for messages and reports.
constexpr char const* to_string(reason why) {
    switch (why) {
    case reason::none: return "has a value";
    case reason::no_samples: return "no samples";
    case reason::zero_denominator: return "zero denominator";
    case reason::single_class: return "only one class was seen";
    case reason::absent_class: return "absent class";
    case reason::too_few_samples: return "too few samples";
    case reason::no_variance: return "no variance";
    case reason::replicas_differ: return "replicas differ";
    }
    return "unknown reason";
}

/// A number, or why there is none. Trivially copyable; no call allocates except the exception of value().
template <class T = double>
class result {
public:
    TALLY_HD constexpr result(T value) : value_{value}, why_{reason::none} {} // NOLINT(google-explicit-constructor)
    TALLY_HD constexpr result(tally::reason why) : value_{}, why_{why} {}     // NOLINT(google-explicit-constructor)

    [[nodiscard]] TALLY_HD constexpr bool has_value() const { return why_ == tally::reason::none; }
    [[nodiscard]] TALLY_HD constexpr explicit operator bool() const { return has_value(); }
    [[nodiscard]] TALLY_HD constexpr tally::reason why() const { return why_; }

    /// The value. Throws no_value_error, which names the reason, if there is none.
    [[nodiscard]] T value() const {
        if (!has_value()) {
            throw no_value_error(std::string("this result has no value: ") + to_string(why_));
        }
        return value_;
    }
    [[nodiscard]] TALLY_HD constexpr T value_or(T fallback) const { return has_value() ? value_ : fallback; }

    /// The value as double, or NaN.
    [[nodiscard]] TALLY_HD constexpr double as_double() const {
        return has_value() ? static_cast<double>(value_) : detail::not_a_number;
    }
    TALLY_HD constexpr operator double() const { return as_double(); } // NOLINT(google-explicit-constructor)
    /// As a bool by way of double a result would lie (0 is a value, NaN is none): ask has_value(), or in a condition.
    template <std::same_as<bool> Bool>
    operator Bool() const = delete;

    /// Samples that a policy left out (NaN, labels out of range); never silently.
    [[nodiscard]] TALLY_HD constexpr std::uint64_t dropped() const { return dropped_; }
    [[nodiscard]] TALLY_HD constexpr result with_dropped(std::uint64_t dropped) const {
        result copy = *this;
        copy.dropped_ = dropped;
        return copy;
    }

private:
    T value_;
    std::uint64_t dropped_ = 0;
    tally::reason why_;
};

} // namespace tally
