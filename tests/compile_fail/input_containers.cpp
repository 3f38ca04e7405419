// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// What is no input: packed bits, elements that are no numbers, a flat range without the width of its rows.
// expect: an input must be a contiguous range \(not std::vector<bool>\), a pointer and sizes, an mdspan or a DLPack tensor
// expect: elements of this type are no numbers: specialise tally::widening for them
// expect: a matrix needs its number of columns: scores\(range, columns\)
#include <tally/core/inputs.hpp>

#include <array>
#include <string>
#include <vector>

#ifdef TALLY_OK
using flags = std::vector<unsigned char>;
using words = std::vector<float>;
#define COLUMNS , 2
#else
using flags = std::vector<bool>;
using words = std::vector<std::string>;
#define COLUMNS
#endif

void use(flags const& kept, words const& said, std::array<float, 6> const& logits) {
    (void)tally::mask(kept);
    (void)tally::values(said);
    (void)tally::scores(logits COLUMNS);
}
