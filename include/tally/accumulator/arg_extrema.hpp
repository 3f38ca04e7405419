// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Smallest or largest value with the position where it stands; on ties the lowest position wins, so every split of the
// samples gives the same answer. Models accumulator; 32 bytes, gathered and merged in rank order.
#pragma once

#include <tally/accumulator/extrema.hpp>
#include <tally/config.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/order_key.hpp>

#include <cstdint>

namespace tally {

/// Deposits are located(value, position). NaN is counted and has no position. Weight zero is ignored.
template <detail::extreme Which, class T>
class arg_extremum {
public:
    using value_type = T;
    struct found {
        T value;
        std::uint64_t position;
    };

    TALLY_HD constexpr void deposit(located_value<T> x) {
        if (x.value != x.value) {
            ++nans_;
            return;
        }
        auto const key = order_key(x.value);
        take(Which == detail::extreme::maximum ? key : ~key, x.position, 1);
    }
    template <class Weight>
    TALLY_HD constexpr void deposit(located_value<T> x, Weight weight) {
        if (weight != Weight{}) {
            deposit(x);
        }
    }
    TALLY_HD constexpr void merge(arg_extremum const& other) {
        nans_ += other.nans_;
        if (other.seen_ != 0) {
            take(other.key_, other.position_, other.seen_);
        }
    }

    [[nodiscard]] TALLY_HD constexpr bool empty() const { return seen_ == 0; }
    /// The value, or reason::no_samples.
    [[nodiscard]] TALLY_HD constexpr result<T> value() const {
        if (empty()) {
            return result<T>(reason::no_samples).with_dropped(nans_);
        }
        return result<T>(from_order_key<T>(Which == detail::extreme::maximum ? key_ : ~key_)).with_dropped(nans_);
    }
    /// The position, or reason::no_samples.
    [[nodiscard]] TALLY_HD constexpr result<std::uint64_t> position() const {
        if (empty()) {
            return reason::no_samples;
        }
        return position_;
    }
    [[nodiscard]] TALLY_HD constexpr std::uint64_t nans() const { return nans_; }
    [[nodiscard]] constexpr bool operator==(arg_extremum const&) const = default;

private:
    TALLY_HD constexpr void take(std::uint64_t key, std::uint64_t position, std::uint64_t n) {
        if (seen_ == 0 || key > key_ || (key == key_ && position < position_)) {
            key_ = key;
            position_ = position;
        }
        seen_ += n;
    }

    std::uint64_t key_ = 0;
    std::uint64_t position_ = 0;
    std::uint64_t seen_ = 0;
    std::uint64_t nans_ = 0;
};

template <class T>
using arg_minimum = arg_extremum<detail::extreme::minimum, T>;
template <class T>
using arg_maximum = arg_extremum<detail::extreme::maximum, T>;

} // namespace tally
