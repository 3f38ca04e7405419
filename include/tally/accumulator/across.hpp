// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// across<Op, Acc>: accumulates like Acc inside a replica and combines by Op between replicas. This is where a user
// chooses the operation of a state: across<op::max, sum<double>> is a sum of seconds of which the slowest replica counts.
// Models accumulator. Replicas without a deposit contribute nothing, whatever Op is. A NaN in one replica makes op::min
// and op::max NaN.
#pragma once

#include <tally/config.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/order_key.hpp>
#include <tally/core/result.hpp>
#include <tally/op/ops.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally {

namespace detail {

/// Accumulators that stand for one number that can be read and set: sum and count.
template <class Acc>
concept scalar_accumulator = accumulator<Acc> && requires(Acc const& a) {
    requires std::is_arithmetic_v<std::remove_cvref_t<decltype(a.value())>>;
    Acc{a.value()};
};

template <class Op>
inline constexpr bool is_extreme_op = std::same_as<Op, op::min> || std::same_as<Op, op::max>;

template <class Op, class Acc>
inline constexpr bool op_fits =
    is_extreme_op<Op>           ? scalar_accumulator<Acc>
    : std::same_as<Op, op::sum> ? travels_as_words<Acc> || scalar_accumulator<Acc>
    : std::same_as<Op, op::replicated> || std::same_as<Op, op::first> || std::same_as<Op, op::ordered>
        ? true
        : op::detail::user_defined<Op, Acc>;

} // namespace detail

template <class Op, accumulator Acc>
class across {
    static_assert(!std::same_as<Op, op::mean>,
                  "tally: op::mean does not fit a state: averages are formed by finalize from a sum and a count");
    static_assert(!detail::is_extreme_op<Op> || detail::scalar_accumulator<Acc>,
                  "tally: op::min and op::max in across<Op, Acc> fit only accumulators of one number (sum, count)");
    static_assert(!std::same_as<Op, op::replicated> || std::equality_comparable<Acc>,
                  "tally: op::replicated in across<Op, Acc> compares replicas: give Acc an operator==");
    static_assert(
        std::same_as<Op, op::mean> || detail::is_extreme_op<Op> || detail::op_fits<Op, Acc>,
        "tally: the op in across<Op, Acc> does not fit Acc: write `static void merge(Acc&, Acc const&)` in it");

public:
    using accumulator_type = Acc;
    using operation = Op;

    template <class X>
        requires accepts<Acc, X>
    TALLY_HD constexpr void deposit(X const& x) {
        accumulator_.deposit(x);
        ++deposits_;
    }
    template <class X, class Weight>
        requires accepts_weighted<Acc, X, Weight>
    TALLY_HD constexpr void deposit(X const& x, Weight const& weight) {
        accumulator_.deposit(x, weight);
        ++deposits_;
    }
    template <class X>
        requires accepts<Acc, X>
    constexpr void deposit_block(X const* x, std::size_t n) {
        tally::deposit_block(accumulator_, x, n);
        deposits_ += n;
    }
    template <class X, class Weight>
        requires accepts_weighted<Acc, X, Weight>
    constexpr void deposit_block(X const* x, Weight const* weights, std::size_t n) {
        tally::deposit_block(accumulator_, x, weights, n);
        deposits_ += n;
    }

    /// Joins a partial result of the same replica: the accumulator's own merge.
    TALLY_HD constexpr void merge(across const& other) {
        accumulator_.merge(other.accumulator_);
        deposits_ += other.deposits_;
        conflict_ |= other.conflict_;
    }

    /// Joins the next replica by Op.
    TALLY_HD constexpr void fold(across const& next) {
        conflict_ |= next.conflict_;
        if (next.deposits_ == 0) {
            return;
        }
        if (deposits_ == 0) {
            accumulator_ = next.accumulator_;
        } else if constexpr (std::same_as<Op, op::replicated>) {
            conflict_ |= static_cast<std::uint64_t>(!same(accumulator_, next.accumulator_));
        } else if constexpr (detail::is_extreme_op<Op>) {
            if (key_of(next.accumulator_) > key_of(accumulator_)) {
                accumulator_ = next.accumulator_;
            }
        } else if constexpr (op::detail::user_defined<Op, Acc>) {
            Op::merge(accumulator_, next.accumulator_);
        } else if constexpr (!std::same_as<Op, op::first>) {
            tally::fold(accumulator_, next.accumulator_);
        }
        deposits_ += next.deposits_;
    }

    /// Words only where Op has a lane of its own; everything else is gathered and folded in rank order.
    template <class Archive>
        requires(detail::is_extreme_op<Op> && detail::scalar_accumulator<Acc>) ||
                (std::same_as<Op, op::sum> && detail::travels_as_words<Acc>)
    TALLY_HD constexpr void travel(Archive& archive) {
        if constexpr (std::same_as<Op, op::sum>) {
            accumulator_.travel(archive);
            archive.sum(deposits_);
        } else {
            using number = std::remove_cvref_t<decltype(accumulator_.value())>;
            std::uint64_t key = deposits_ == 0 ? 0 : key_of(accumulator_);
            archive.max(key);
            archive.sum(deposits_);
            if (deposits_ != 0) {
                accumulator_ = Acc{detail::from_reduction_key<largest, number>(key)};
            }
        }
    }

    [[nodiscard]] TALLY_HD constexpr Acc const& get() const { return accumulator_; }
    [[nodiscard]] TALLY_HD constexpr decltype(auto) value() const
        requires requires(Acc const& a) { a.value(); }
    {
        return accumulator_.value();
    }
    /// Deposits of all replicas together.
    [[nodiscard]] TALLY_HD constexpr std::uint64_t deposits() const { return deposits_; }
    /// True if replicas declared to hold the same value did not.
    [[nodiscard]] TALLY_HD constexpr bool conflict() const { return conflict_ != 0; }
    [[nodiscard]] constexpr bool operator==(across const&) const = default;

private:
    static constexpr bool largest = std::same_as<Op, op::max>;

    TALLY_HD static constexpr std::uint64_t key_of(Acc const& a) { return detail::reduction_key<largest>(a.value()); }
    /// Equal by value or by bits: replicas that hold the same NaN do not differ.
    TALLY_HD static constexpr bool same(Acc const& a, Acc const& b) {
        struct image {
            unsigned char bytes[sizeof(Acc)];
            constexpr bool operator==(image const&) const = default;
        };
        return a == b || detail::bit_cast<image>(a) == detail::bit_cast<image>(b);
    }

    Acc accumulator_{};
    std::uint64_t deposits_ = 0;
    std::uint64_t conflict_ = 0;
};

} // namespace tally
