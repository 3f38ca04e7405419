// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// log(sum(exp(x))) over all samples without overflow. Models accumulator; gathered and merged in rank order.
// State: the running maximum m and s = sum exp(x - m). Merge: the smaller side is rescaled (streaming form of the
// log-sum-exp identity, Blanchard, Higham, Higham 2021). Partition law: bounded, a few units in the last place.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/contribution.hpp>
#include <tally/core/result.hpp>

#include <cmath>
#include <cstdint>

namespace tally {

/// 32 bytes. All -inf gives -inf; a +inf gives +inf; NaN is counted, not used. Weight w adds log(w) to x; weights must
/// be positive, others are counted as dropped.
class log_sum_exp {
public:
    template <class X>
    TALLY_HD void deposit(X x) {
        auto const value = static_cast<double>(x);
        if (value != value) {
            ++dropped_;
            return;
        }
        ++deposits_;
        join(value, value == -infinity ? 0.0 : 1.0);
    }
    template <class X, class Weight>
    TALLY_HD void deposit(X x, Weight weight) {
        auto const value = static_cast<double>(x);
        if (value != value || !(weight > Weight{})) {
            ++dropped_;
            return;
        }
        ++deposits_;
        join(value, value == -infinity ? 0.0 : static_cast<double>(weight));
    }
    TALLY_HD void merge(log_sum_exp const& other) {
        deposits_ += other.deposits_;
        dropped_ += other.dropped_;
        join(other.maximum_, other.scaled_);
    }

    [[nodiscard]] TALLY_HD result<double> value() const {
        if (deposits_ == 0) {
            return result<double>(reason::no_samples).with_dropped(dropped_);
        }
        auto const total = maximum_ == infinity || maximum_ == -infinity ? maximum_ : maximum_ + std::log(scaled_);
        return result<double>(total).with_dropped(dropped_);
    }
    [[nodiscard]] TALLY_HD constexpr std::uint64_t deposits() const { return deposits_; }
    [[nodiscard]] constexpr bool operator==(log_sum_exp const&) const = default;

private:
    static constexpr double infinity = __builtin_huge_val();

    TALLY_HD void join(double maximum, double scaled) {
        if (maximum == maximum_) {
            scaled_ += scaled;
        } else if (maximum > maximum_) {
            scaled_ = scaled_ * std::exp(maximum_ - maximum) + scaled;
            maximum_ = maximum;
        } else {
            scaled_ += scaled * std::exp(maximum - maximum_);
        }
    }

    double maximum_ = -infinity;
    double scaled_ = 0.0;
    std::uint64_t deposits_ = 0;
    std::uint64_t dropped_ = 0;
};

} // namespace tally
