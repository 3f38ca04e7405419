// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// The host umbrella read by nvcc, as in a program whose training loop is CUDA and whose metrics are on the host.
#include <tally/tally.hpp>
