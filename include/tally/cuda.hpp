// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The device engine: everything of tally.hpp, and cuda::tracker. Needs nvcc.
#pragma once

#if !defined(__CUDACC__)
#error "tally/cuda.hpp holds kernels: compile this file with nvcc, or include tally/tally.hpp for the host engine"
#endif

#include <tally/cuda/all_reduce.cuh>
#include <tally/cuda/device.hpp>
#include <tally/cuda/engine.cuh>
#include <tally/cuda/error.hpp>
#include <tally/cuda/tracker.cuh>
#include <tally/cuda/tuning.hpp>
#include <tally/tally.hpp>
