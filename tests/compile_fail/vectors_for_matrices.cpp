// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Metrics of columns and of whole rows need matrices; a vector would be taken for no columns at all.
#include <tally/host/tracker.hpp>
#include <tally/metric/exact_match.hpp>
#include <tally/metric/multilabel.hpp>
#include <tally/metric/precision_recall.hpp>

#include <vector>

// expect: tally: a metric asks for columns, so an input must be a matrix
// expect: tally: a metric compares whole rows: pass predictions\(matrix\(p, columns\)\) and such targets

int main() {
    std::vector<float> const p(4);
    tally::host::tracker<tally::precision<tally::multilabel<2>>> by_column;
    tally::host::tracker<tally::exact_match<>> by_row;
#if defined(TALLY_OK)
    by_column.update(tally::predictions(tally::matrix(p, 2)), tally::targets(tally::matrix(p, 2)));
    by_row.update(tally::predictions(tally::matrix(p, 2)), tally::targets(tally::matrix(p, 2)));
#else
    by_column.update(tally::predictions(p), tally::targets(p));
    by_row.update(tally::predictions(p), tally::targets(p));
#endif
}
