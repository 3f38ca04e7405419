// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Replicas on GPUs: nccl_communicator and how to make one. Needs the headers of CUDA's run-time and of NCCL, and no nvcc.
#pragma once

#include <tally/comm/nccl.hpp>
#include <tally/comm/nccl_error.hpp>
#include <tally/comm/nccl_staged.hpp>
