// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// From the samples of a ranking buffer to the sums that its values are made of, on the host: sort, then one pass over
// the groups of equal keys.
#pragma once

#include <tally/config.hpp>
#include <tally/core/weighting.hpp>
#include <tally/ranking/detail/label_arithmetic.hpp>
#include <tally/ranking/detail/record.hpp>
#include <tally/ranking/detail/uint128.hpp>
#include <tally/ranking/ranked_labels.hpp>
#include <tally/ranking/ranked_pairs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::detail {

/// Twice the mean rank of the sorted places [begin, end) of n, counted from the mean of all: |result| < n.
TALLY_HD constexpr std::int64_t centred_rank(std::uint64_t begin, std::uint64_t end, std::uint64_t n) {
    return static_cast<std::int64_t>(begin + end) - static_cast<std::int64_t>(n);
}

/// Calls f(begin, end) for each run of equal keys.
template <class Sorted, class F>
void for_each_group(Sorted const& sorted, F f) {
    for (std::size_t begin = 0; begin < sorted.size();) {
        auto end = begin + 1;
        while (end < sorted.size() && sorted[end].key == sorted[begin].key) {
            ++end;
        }
        f(begin, end);
        begin = end;
    }
}

template <class Key, class Value>
struct keyed {
    Key key;
    Value value;
};

template <class Key, class Value>
void sort_by_key(std::vector<keyed<Key, Value>>& samples) {
    std::sort(samples.begin(), samples.end(), [](auto const& a, auto const& b) { return a.key < b.key; });
}

/// Greatest weights of both classes.
template <class Arithmetic, class Key>
largest_weights largest_of(std::vector<keyed<Key, typename Arithmetic::payload_type>> const& samples) {
    largest_weights largest;
    for (auto const& each : samples) {
        auto& of_class = Arithmetic::is_positive(each.value) ? largest.positives : largest.negatives;
        of_class = std::max(of_class, Arithmetic::weight_bits(each.value) + 1);
    }
    return largest;
}

/// O(n log n).
template <class Weighting, class Key>
label_summary<Weighting> summarise(std::vector<keyed<Key, typename label_arithmetic<Weighting>::payload_type>> samples,
                                   label_summary<Weighting> const&) {
    using arithmetic_type = label_arithmetic<Weighting>;
    label_summary<Weighting> summary;
    summary.largest = largest_of<arithmetic_type>(samples);
    arithmetic_type const arithmetic{summary.largest};
    sort_by_key(samples);

    using prefix = typename arithmetic_type::prefix;
    std::vector<prefix> sums(samples.size() + 1);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        sums[i + 1] = sums[i] + arithmetic.prefix_of(samples[i].value);
    }
    auto const up_to = [&](std::size_t i) { return arithmetic.amounts(sums[i], i); };
    summary.all = up_to(samples.size());
    for_each_group(samples, [&](std::size_t begin, std::size_t end) {
        summary.sum = summary.sum + arithmetic.terms(up_to(begin), up_to(end), summary.all);
    });
    return summary;
}

/// O(n log n).
template <class Key>
pair_summary summarise(std::vector<keyed<Key, Key>> samples, pair_summary const&) {
    auto const n = samples.size();
    pair_summary summary;
    auto const add_square = [](uint128& sum, std::int64_t rank, std::size_t times) {
        auto const square = static_cast<std::uint64_t>(rank * rank);
        sum += uint128::product(square, times);
    };
    sort_by_key(samples);
    std::vector<keyed<Key, std::int64_t>> by_target(n);
    for_each_group(samples, [&](std::size_t begin, std::size_t end) {
        auto const rank = centred_rank(begin, end, n);
        for (auto i = begin; i < end; ++i) {
            by_target[i] = {samples[i].value, rank};
        }
        add_square(summary.predictions, rank, end - begin);
    });
    sort_by_key(by_target);
    for_each_group(by_target, [&](std::size_t begin, std::size_t end) {
        auto const rank = centred_rank(begin, end, n);
        std::int64_t ranks_of_predictions = 0; // below 2^62 in size
        for (auto i = begin; i < end; ++i) {
            ranks_of_predictions += by_target[i].value;
        }
        summary.products += uint128::signed_product(rank, ranks_of_predictions);
        add_square(summary.targets, rank, end - begin);
    });
    return summary;
}

} // namespace tally::detail
