// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Sets of numbers with names, for tests that say which kind of data a result was wrong for; and numbers by their bits.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace tally::testing {

/// Pairs of a name and `size` numbers.
template <class T>
using named_data = std::vector<std::pair<std::string, std::vector<T>>>;

/// Adds make(0), make(1), ... make(size - 1).
template <class T, class Make>
void add_data(named_data<T>& sets, std::size_t size, char const* name, Make make) {
    std::vector<T> values(size);
    for (std::size_t i = 0; i < size; ++i) {
        values[i] = make(i);
    }
    sets.emplace_back(name, std::move(values));
}

template <class T, class Bits>
T from_bits(Bits bits) {
    static_assert(sizeof(T) == sizeof(Bits));
    T x;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}

} // namespace tally::testing
