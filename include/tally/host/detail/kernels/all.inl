// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything that is compiled once per instruction set; see kernels.hpp, which includes this into a namespace that
// defines `level`. No include guards and no includes here or in the files below.

#include <tally/host/detail/kernels/simd.inl>

#include <tally/host/detail/kernels/exp.inl>

#include <tally/host/detail/kernels/short_rows.inl>

#include <tally/host/detail/kernels/long_row.inl>

#include <tally/host/detail/kernels/row_kernel.inl>

#include <tally/host/detail/kernels/softmax_kernel.inl>
