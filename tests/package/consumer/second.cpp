// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

#include <tally/tally.hpp>

#include <cstddef>

std::size_t bytes_in_second_unit();
std::size_t bytes_in_second_unit() { return sizeof(tally::mean<>); }
