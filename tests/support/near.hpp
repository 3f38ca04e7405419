// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Comparison by relative error alone. doctest::Approx on its own also allows an absolute error of epsilon, so that any
// two numbers far below 1 are "equal".
#pragma once

#include <doctest/doctest.h>

namespace tally::testing {

/// Equal to `expected` (not 0) within `relative` times the larger of both.
inline doctest::Approx near(double expected, double relative) {
    return doctest::Approx(expected).epsilon(relative).scale(0.0);
}

} // namespace tally::testing
