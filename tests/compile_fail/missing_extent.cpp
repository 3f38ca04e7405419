// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// A metric of dynamic classes whose number nobody told.
// expect: a run-time extent is missing: give it to the constructor, for example tracker\{tally::num_classes\{n\}\}
#include <tally/host/tracker.hpp>
#include <tally/metric/confusion_matrix.hpp>

#ifdef TALLY_OK
tally::host::tracker<tally::confusion_matrix<>> tracker{tally::num_classes{7}};
#else
tally::host::tracker<tally::confusion_matrix<>> tracker;
#endif
