// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Smallest and largest value. Model accumulator. They travel as order-preserving integers in one unsigned maximum
// (a minimum as the complement), so -0 < +0 and every split gives the same bits. NaN is counted, never compared.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/order_key.hpp>
#include <tally/core/result.hpp>
#include <tally/detail/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tally {

namespace detail {

enum class extreme : bool { minimum, maximum };

/// Signed integers in the order of the floats, so that extremes are found by integer compares.
template <class T>
struct float_image {
    using integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    static constexpr integer magnitude = static_cast<integer>(~(std::uint64_t{1} << (8 * sizeof(T) - 1)));
    static constexpr integer lowest = static_cast<integer>(-magnitude - 1);

    TALLY_HD static constexpr T back(integer image) {
        return detail::bit_cast<T>(static_cast<integer>(image ^ ((image >> (8 * sizeof(T) - 1)) & magnitude)));
    }
};

} // namespace detail

/// Extreme of T. 24 bytes: key, values seen, NaN seen. Weighted deposits ignore values of weight zero.
template <detail::extreme Which, class T>
    requires orderable<T>
class extremum {
public:
    using value_type = T;

    TALLY_HD constexpr void deposit(T x) {
        if (x != x) {
            ++nans_;
            return;
        }
        take(key_of(x), 1);
    }
    template <class Weight>
    TALLY_HD constexpr void deposit(T x, Weight weight) {
        if (weight != Weight{}) {
            deposit(x);
        }
    }
    void deposit_block(T const* x, std::size_t n)
        requires std::is_floating_point_v<T>
    {
#if defined(__CUDACC__) // its front end takes the comparison of two vectors for a bool
        for (std::size_t i = 0; i < n; ++i) {
            deposit(x[i]);
        }
#else
        // In lanes of signed integers in the order of the floats; the identity is an image that only a NaN has.
        using image = detail::float_image<T>;
        using integer = typename image::integer;
        using integers = detail::lanes<integer>;
        constexpr std::size_t width = detail::lane_count<T>;
        constexpr bool largest = Which == detail::extreme::maximum;
        constexpr integer identity = largest ? image::lowest : image::magnitude;
        integers best = integers{} + identity;
        integers nans{};
        std::size_t i = 0;
        for (; i + width <= n; i += width) {
            detail::lanes<T> values;
            std::memcpy(&values, x + i, sizeof(values));
            integers bits;
            std::memcpy(&bits, x + i, sizeof(bits));
            integers const images = bits ^ ((bits >> (8 * sizeof(T) - 1)) & image::magnitude);
            integers const unordered = values != values; // -1 where NaN
            integers const candidates = (images & ~unordered) | (unordered & identity);
            integers const better = largest ? candidates > best : candidates < best;
            best = (candidates & better) | (best & ~better);
            nans -= unordered;
        }
        for (std::size_t k = 0; k < width && i != 0; ++k) {
            nans_ += static_cast<std::uint64_t>(nans[k]);
            seen_ += i / width - static_cast<std::uint64_t>(nans[k]);
            if (best[k] != identity) {
                take(key_of(image::back(best[k])), 0);
            }
        }
        for (; i < n; ++i) {
            deposit(x[i]);
        }
#endif
    }
    TALLY_HD constexpr void merge(extremum const& other) {
        if (other.key_ > key_) {
            key_ = other.key_;
        }
        seen_ += other.seen_;
        nans_ += other.nans_;
    }

    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        archive.max(key_);
        archive.sum(seen_);
        archive.sum(nans_);
    }

    [[nodiscard]] TALLY_HD constexpr bool empty() const { return seen_ == 0; }
    /// The extreme, or reason::no_samples; NaN values are reported as dropped.
    [[nodiscard]] TALLY_HD constexpr result<T> value() const {
        if (empty()) {
            return result<T>(reason::no_samples).with_dropped(nans_);
        }
        auto const key = Which == detail::extreme::maximum ? key_ : ~key_;
        return result<T>(from_order_key<T>(key)).with_dropped(nans_);
    }
    [[nodiscard]] TALLY_HD constexpr std::uint64_t seen() const { return seen_; }
    [[nodiscard]] TALLY_HD constexpr std::uint64_t nans() const { return nans_; }
    [[nodiscard]] constexpr bool operator==(extremum const&) const = default;

private:
    TALLY_HD static constexpr std::uint64_t key_of(T x) {
        return Which == detail::extreme::maximum ? order_key(x) : ~order_key(x);
    }
    TALLY_HD constexpr void take(std::uint64_t key, std::uint64_t n) {
        key_ = key > key_ ? key : key_;
        seen_ += n;
    }

    // 0 is the smallest key; whether it is a value or the identity is told by seen_.
    std::uint64_t key_ = 0;
    std::uint64_t seen_ = 0;
    std::uint64_t nans_ = 0;
};

/// Smallest value.
template <class T>
using minimum = extremum<detail::extreme::minimum, T>;
/// Largest value.
template <class T>
using maximum = extremum<detail::extreme::maximum, T>;

} // namespace tally
