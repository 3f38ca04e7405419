// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Version of the library and its only attribute macro.
// TALLY_HD marks functions that a device engine may call as well; with a plain C++ compiler it is empty.
#pragma once

#if !defined(__CUDACC__) && __cplusplus < 202002L
#error "tally needs C++20: compile with -std=c++20"
#endif

#if defined(__CUDACC__)
#define TALLY_HD __host__ __device__
#else
#define TALLY_HD
#endif

namespace tally {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

} // namespace tally
