// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What is summed for one monitored layer: gradients, their magnitudes and squares, the largest magnitude; squares of
// updates and of weights. All of it exact. Models accumulator, the cell of a table over the layers.
#pragma once

#include <tally/accumulator/exact_sum.hpp>
#include <tally/config.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/parts.hpp>
#include <tally/core/wire.hpp>
#include <tally/monitor/distribution.hpp>
#include <tally/monitor/largest_magnitude.hpp>

#include <cstddef>
#include <cstdint>

namespace tally {

/// What the sums of a monitor are.
struct monitor_sums {
    using values = exact_sum<float>;           ///< takes x
    using squares = exact_sum<product<float>>; ///< takes (x, x)
};

/// 704 bytes (replicated: 752). Partition law: exact. Each value is rounded once, when it is asked for.
template <distribution D>
class layer_sums {
    template <class Acc>
    using field = distributed<D, Acc, true>;

public:
    /// A gradient; NaN and infinities are left out.
    TALLY_HD constexpr void deposit(float gradient) {
        auto const magnitude = detail::bit_cast<std::uint32_t>(gradient) & 0x7fff'ffffU;
        if (magnitude < 0x7f80'0000U) {
            values_.deposit(gradient);
            magnitudes_.deposit(detail::bit_cast<float>(magnitude));
            squares_.deposit(gradient, gradient);
            largest_.deposit(gradient);
        }
    }
    /// An update of a weight (the step of the optimiser) and the weight itself. NaN stays visible in the sums.
    TALLY_HD constexpr void deposit(value_pair<float, float> update_and_weight) {
        updates_.deposit(update_and_weight.first, update_and_weight.first);
        weights_.deposit(update_and_weight.second, update_and_weight.second);
    }
    TALLY_HD constexpr void merge(layer_sums const& other) {
        join(other, [](auto& mine, auto const& theirs) { mine.merge(theirs); });
    }
    TALLY_HD constexpr void fold(layer_sums const& next) {
        join(next, [](auto& mine, auto const& theirs) { tally::fold(mine, theirs); });
    }
    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        values_.travel(archive);
        magnitudes_.travel(archive);
        squares_.travel(archive);
        updates_.travel(archive);
        weights_.travel(archive);
        largest_.travel(archive);
    }
    template <class Archive>
    TALLY_HD constexpr void parts(Archive& archive) {
        detail::visit_parts(values_, archive);
        detail::visit_parts(magnitudes_, archive);
        detail::visit_parts(squares_, archive);
        detail::visit_parts(updates_, archive);
        detail::visit_parts(weights_, archive);
        detail::visit_parts(largest_, archive);
    }

    /// For engines, which add to the sums as it suits them: finite gradients only.
    [[nodiscard]] constexpr auto& values() { return plain(values_); }
    [[nodiscard]] constexpr auto& magnitudes() { return plain(magnitudes_); }
    [[nodiscard]] constexpr auto& squares() { return plain(squares_); }
    [[nodiscard]] constexpr auto& largest() { return plain(largest_); }
    [[nodiscard]] constexpr auto& updates() { return plain(updates_); }
    [[nodiscard]] constexpr auto& weights() { return plain(weights_); }

    [[nodiscard]] TALLY_HD constexpr double value_sum() const { return number(values_); }
    [[nodiscard]] TALLY_HD constexpr double magnitude_sum() const { return number(magnitudes_); }
    [[nodiscard]] TALLY_HD constexpr double square_sum() const { return number(squares_); }
    [[nodiscard]] TALLY_HD constexpr double update_square_sum() const { return number(updates_); }
    [[nodiscard]] TALLY_HD constexpr double weight_square_sum() const { return number(weights_); }
    [[nodiscard]] TALLY_HD constexpr result<float> largest_value() const { return largest_.value(); }
    /// Replicas were said to hold the same gradients, and do not.
    [[nodiscard]] TALLY_HD constexpr bool conflict() const {
        return conflict_in(values_) || conflict_in(magnitudes_) || conflict_in(squares_) || conflict_in(updates_) ||
               conflict_in(weights_) || conflict_in(largest_);
    }
    [[nodiscard]] constexpr bool operator==(layer_sums const&) const = default;

private:
    template <class Acc>
    TALLY_HD static constexpr double number(Acc const& acc) {
        return static_cast<double>(acc.value());
    }
    template <class Acc>
    TALLY_HD static constexpr bool conflict_in(Acc const& acc) {
        if constexpr (requires { acc.conflict(); }) {
            return acc.conflict();
        } else {
            return false;
        }
    }
    template <class Acc>
    static constexpr auto& plain(Acc& acc) {
        if constexpr (requires { acc.get(); }) {
            return acc.get();
        } else {
            return acc;
        }
    }
    template <class F>
    TALLY_HD constexpr void join(layer_sums const& other, F f) {
        f(values_, other.values_);
        f(magnitudes_, other.magnitudes_);
        f(squares_, other.squares_);
        f(updates_, other.updates_);
        f(weights_, other.weights_);
        f(largest_, other.largest_);
    }

    field<monitor_sums::values> values_;
    field<monitor_sums::values> magnitudes_;
    field<monitor_sums::squares> squares_;
    field<monitor_sums::squares> updates_;
    field<monitor_sums::squares> weights_;
    distributed<D, largest_magnitude, true> largest_;
};

} // namespace tally
