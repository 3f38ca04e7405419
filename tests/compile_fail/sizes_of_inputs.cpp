// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Sizes: which ones an input takes, and that they are integers.
// expect: sizes must be integers: values\(p, n\) with n of type std::size_t, int or the like
// expect: a range takes one size, its number of columns: scores\(range, columns\)
// expect: only a pointer takes sizes here: for a range, write predictions\(matrix\(range, columns\)\)
// expect: a pointer needs rows and columns: scores\(p, rows, columns\)
// expect: a range of ranges is no matrix: use one contiguous buffer, scores\(range, columns\)
#include <tally/core/inputs.hpp>

#include <vector>

#ifdef TALLY_OK
using rows = std::vector<float>;
void use(float const* p, std::vector<float> const& v, rows const& separate) {
    (void)tally::values(p, 2);
    (void)tally::scores(v, 4);
    (void)tally::predictions(tally::matrix(v, 4));
    (void)tally::scores(p, 1, 4);
    (void)tally::scores(separate, 4);
}
#else
using rows = std::vector<std::vector<float>>;
void use(float const* p, std::vector<float> const& v, rows const& separate) {
    (void)tally::values(p, 2.9);
    (void)tally::scores(v, 3, 4);
    (void)tally::predictions(v, 4);
    (void)tally::scores(p, 4);
    (void)tally::scores(separate, 4);
}
#endif
