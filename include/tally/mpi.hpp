// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Umbrella: replicas that are processes of an MPI job. Needs an MPI (the C interface of version 3.1 or newer) to compile
// and link; nothing else in tally does.
#pragma once

#include <tally/comm/hierarchical.hpp>
#include <tally/comm/mpi.hpp>
#include <tally/comm/mpi_error.hpp>
