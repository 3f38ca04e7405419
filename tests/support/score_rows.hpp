// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of scores on which engines must agree bit by bit: around the borders of vectors, parts and groups of columns, with
// infinities, NaN, ties and exponentials of every size. Made without the library's distributions, which differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace tally::testing {

template <class T>
struct score_rows {
    std::size_t columns;
    std::size_t rows;
    std::vector<T> scores;
    std::vector<std::int32_t> targets;
};

/// Fourteen kinds of rows; targets are classes but for one. Factors of what is added are powers of two: nothing is rounded
/// otherwise if a compiler fuses.
template <class T>
score_rows<T> make_score_rows(std::size_t columns) {
    constexpr std::size_t kinds = 14;
    constexpr T infinity = std::numeric_limits<T>::infinity();
    score_rows<T> m{columns, kinds, std::vector<T>(kinds * columns), std::vector<std::int32_t>(kinds)};
    std::mt19937_64 random(columns);
    auto const uniform = [&] { return static_cast<T>(random() >> 11) * static_cast<T>(0x1p-53); }; // [0, 1]
    for (std::size_t r = 0; r < kinds; ++r) {
        T* const row = m.scores.data() + r * columns;
        for (std::size_t c = 0; c < columns; ++c) {
            T const u = uniform();
            switch (r) {
            case 0: row[c] = 8 * (u - T{0.5}); break;
            case 1: row[c] = 100 * u; break;
            case 2: row[c] = u * T{0x1p-10} - 1000; break;
            case 3: row[c] = T{1.25}; break;                                 // all equal
            case 4: row[c] = static_cast<T>(static_cast<int>(4 * u)); break; // ties
            case 5: row[c] = -infinity; break;
            case 6: row[c] = u < T{0.75} ? -infinity : 5 * u; break; // masked
            case 7: row[c] = c == columns / 2 ? infinity : u; break;
            case 8: row[c] = c == columns / 3 ? std::numeric_limits<T>::quiet_NaN() : u; break;
            case 9: row[c] = c == columns - 1 ? T{20} : -20 * u; break; // a peak at the end
            case 10: row[c] = u + static_cast<T>(c) * T{0x1p-6}; break; // rising
            case 11: row[c] = u - static_cast<T>(c) * T{0x1p-6}; break; // falling
            case 12: row[c] = (u < T{0.5} ? 1 : -1) * std::numeric_limits<T>::max() * T{0.5}; break;
            default: row[c] = c == 0 ? T{0} : -16 - 4 * u; break; // confident
            }
        }
        m.targets[r] = static_cast<std::int32_t>(r == 11 ? columns : random() % columns);
    }
    return m;
}

inline constexpr std::size_t column_counts[] = {1,   2,   3,   10,   17,   32,   33,   48,    49,    100,   511,
                                                512, 513, 700, 1000, 1024, 1025, 4097, 16384, 16385, 33000, 50001};

} // namespace tally::testing
