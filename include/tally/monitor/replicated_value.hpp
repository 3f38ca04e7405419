// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// replicated_value<Acc>: accumulates like Acc inside a replica; between replicas all who have a value have the same one,
// which counts once. Models accumulator. It travels as words in one unsigned maximum, so a replica without the value (a
// layer that it does not hold) sends zeros and is not asked; no gather, whatever Acc is.
#pragma once

#include <tally/config.hpp>
#include <tally/core/accumulator.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/parts.hpp>
#include <tally/core/wire.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tally {

/// Bytes: those of Acc, 8 more if Checked. Acc's identity must be all zero words (or bits, if it does not travel as
/// words), and its size a multiple of 8. Checked: each word also travels as its complement, and a difference between
/// replicas is seen by all of them as conflict(). Unchecked, replicas that differ give, word by word, the greatest bits:
/// only for what stands beside a checked value.
template <class Acc, bool Checked = true>
class replicated_value {
    static_assert(sizeof(Acc) % sizeof(std::uint64_t) == 0,
                  "tally: replicated_value<Acc> takes accumulators made of 64-bit words");

public:
    template <class... X>
        requires requires(Acc& acc, X const&... x) { acc.deposit(x...); }
    TALLY_HD constexpr void deposit(X const&... x) {
        acc_.deposit(x...);
    }
    template <class... X>
        requires requires(Acc& acc, X const&... x) { tally::deposit_block(acc, x...); }
    void deposit_block(X const&... x) {
        tally::deposit_block(acc_, x...);
    }
    TALLY_HD constexpr void merge(replicated_value const& other) {
        acc_.merge(other.acc_);
        mark(other.conflict());
    }

    template <class Archive>
    TALLY_HD constexpr void travel(Archive& archive) {
        auto image = to_words();
        bool present = false;
        for (auto const word : image.word) {
            present = present || word != 0;
        }
        bool differs = conflict();
        for (auto& word : image.word) {
            if constexpr (Checked) {
                // A conflict that is known already (in a snapshot) travels as two words that can't be complements.
                auto complement = conflict() ? ~std::uint64_t{0} : present ? ~word : 0;
                word = conflict() ? ~std::uint64_t{0} : word;
                archive.max(word);
                archive.max(complement);
                differs = differs || ((word | complement) != 0 && word != ~complement);
            } else {
                archive.max(word);
            }
        }
        from_words(image);
        mark(differs);
    }
    /// Inside a replica it merges as Acc does, not by the maximum that travels.
    template <class Archive>
        requires detail::merges_by_parts<Acc>
    TALLY_HD constexpr void parts(Archive& archive) {
        detail::visit_parts(acc_, archive);
    }

    [[nodiscard]] TALLY_HD constexpr Acc const& get() const { return acc_; }
    [[nodiscard]] TALLY_HD constexpr Acc& get() { return acc_; }
    [[nodiscard]] TALLY_HD constexpr decltype(auto) value() const
        requires requires(Acc const& a) { a.value(); }
    {
        return acc_.value();
    }
    /// True if replicas that should hold the same value did not.
    [[nodiscard]] TALLY_HD constexpr bool conflict() const {
        if constexpr (Checked) {
            return flag_.raised != 0;
        } else {
            return false;
        }
    }
    [[nodiscard]] constexpr bool operator==(replicated_value const&) const = default;

private:
    static constexpr bool travels = detail::travels_as_words<Acc>;
    static constexpr lane_sizes lanes = lanes_of<Acc>();
    struct words {
        std::uint64_t word[travels ? lanes.sums + lanes.maxes : sizeof(Acc) / sizeof(std::uint64_t)];
    };
    struct checked_flag {
        std::uint64_t raised = 0;
        constexpr bool operator==(checked_flag const&) const = default;
    };
    struct no_flag {
        constexpr bool operator==(no_flag const&) const = default;
    };

    /// What Acc would send, in a canonical form if it has one; else its bits.
    TALLY_HD constexpr words to_words() {
        if constexpr (travels) {
            words image{};
            word_writer writer{image.word, image.word + lanes.sums};
            acc_.travel(writer);
            return image;
        } else {
            return detail::bit_cast<words>(acc_);
        }
    }
    TALLY_HD constexpr void from_words(words const& image) {
        if constexpr (travels) {
            word_reader reader{image.word, image.word + lanes.sums};
            acc_.travel(reader);
        } else {
            acc_ = detail::bit_cast<Acc>(image);
        }
    }
    TALLY_HD constexpr void mark(bool differs) {
        if constexpr (Checked) {
            flag_.raised |= static_cast<std::uint64_t>(differs);
        }
    }

    Acc acc_{};
    [[no_unique_address]] std::conditional_t<Checked, checked_flag, no_flag> flag_{};
};

} // namespace tally
