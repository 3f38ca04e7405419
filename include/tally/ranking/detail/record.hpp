// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What a ranking buffer keeps of a sample: a key, by which samples are sorted, and what goes along with it.
#pragma once

#include <tally/config.hpp>
#include <tally/core/bits.hpp>
#include <tally/core/order_key.hpp>

#include <cstdint>
#include <type_traits>

namespace tally::detail {

template <class Key, class Payload>
struct ranking_record {
    using key_type = Key;
    using payload_type = Payload;
    Key key;
    Payload payload;
    bool valid; ///< else the sample is dropped
};

/// Unsigned integer as wide as a float or double.
template <class T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Keys in the order of the numbers; -0 and +0 are tied. Not for NaN.
template <class T>
TALLY_HD constexpr bits_of<T> rank_key(T x) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "tally: rankings are of float or double");
    return static_cast<bits_of<T>>(order_key(x == T{0} ? T{0} : x));
}

} // namespace tally::detail
