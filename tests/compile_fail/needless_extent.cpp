// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the constructor that no table asks for would be ignored.
// expect: a tracker's arguments are run-time extents of its tables; this metric has none of this type
#include <tally/host/tracker.hpp>
#include <tally/metric/confusion_matrix.hpp>

#ifdef TALLY_OK
tally::host::tracker<tally::confusion_matrix<>> tracker{tally::num_classes{7}};
#else
tally::host::tracker<tally::confusion_matrix<10>> tracker{tally::num_classes{7}};
#endif
