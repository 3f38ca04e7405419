// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Agreement of labellings needs exactly one class a sample: independent labels have no such table.
#include <tally/host/tracker.hpp>
#include <tally/metric/binary.hpp>
#include <tally/metric/matthews_correlation.hpp>
#include <tally/metric/multilabel.hpp>

// expect: tally: this metric needs one class a sample: use classes<> or binary<>, not multilabel<>

#if defined(TALLY_OK)
using source = tally::binary<>;
#else
using source = tally::multilabel<3>;
#endif

int main() {
    tally::host::tracker<tally::matthews_correlation<source>> tracker;
    (void)tracker;
}
