// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Fields are found by structured bindings, of which there are 24.
// expect: a state may have up to 24 fields; group some of them in one accumulator
#include <tally/core/fields.hpp>

struct twenty_four {
    int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23;
#ifndef TALLY_OK
    int a24;
#endif
};

tally::field_types<twenty_four> fields;
